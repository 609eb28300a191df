"""The effective tokenizer is, byte for byte, the one that transformers makes of the same files."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import AutoTokenizer

from tools.builder.assets.reading import AssetError
from tools.builder.assets.tokenizer import effective_tokenizer, read_tokenizer, token_id

CORPUS = [
    "the cat sat on the mat",
    "Ünïcode Café naïve",
    "日本語 text",
    "def f(x):\n    return x + 1",
    "it's 12345 o'clock",
] * 5
WORDPIECE = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "cat",
    "Cat",
    "##s",
    "cafe",
    "café",
    "日",
    "本",
    "a",
    "##a",
    "##b",
]


def _write(folder: Path, **files: Any) -> Path:
    for name, content in files.items():
        (folder / (name.replace("__", ".") if "__" in name else f"{name}.json")).write_text(
            content if isinstance(content, str) else json.dumps(content), encoding="utf-8"
        )
    return folder


def _byte_level() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        CORPUS,
        trainers.BpeTrainer(
            vocab_size=400,
            special_tokens=["<|endoftext|>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    return tokenizer


def _metaspace() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{i:02X}>" for i in range(256))]
    tokenizer.train_from_iterator(
        CORPUS, trainers.BpeTrainer(vocab_size=400, special_tokens=tokens, show_progress=False)
    )
    content = json.loads(tokenizer.to_str())
    content["added_tokens"] = content["added_tokens"][:3]
    return Tokenizer.from_str(json.dumps(content))


def _wordpiece(**normalizer: Any) -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece({word: i for i, word in enumerate(WORDPIECE)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(**normalizer)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.enable_truncation(8)
    tokenizer.enable_padding(length=8)
    return tokenizer


def _check(folder: Path) -> Tokenizer:
    reference = AutoTokenizer.from_pretrained(folder).backend_tokenizer
    reference.no_truncation()
    reference.no_padding()
    mine = effective_tokenizer(folder)
    assert json.loads(mine.to_str()) == json.loads(reference.to_str())
    return mine


ADDED: dict[str, Any] = {"lstrip": True, "rstrip": False, "normalized": False, "single_word": False}
BERT: dict[str, Any] = {"model_type": "bert", "vocab_size": len(WORDPIECE)}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"do_lower_case": False},
        {"do_lower_case": True, "strip_accents": False},
        {"strip_accents": True, "do_lower_case": False},
        {"tokenize_chinese_chars": False},
        {"tokenizer_class": "BertTokenizerFast", "extra_special_tokens": ["<query>"]},
        {"additional_special_tokens": ["<a>", "<b>"]},
        {"cls_token": "[SEP]", "sep_token": "[CLS]"},
        {"added_tokens_decoder": {"5": {"content": "cat", "special": False, **ADDED, "single_word": True}}},
        {"mask_token": {"__type": "AddedToken", "content": "[MASK]", **ADDED}},
    ],
)  # fmt: skip
def test_bert_options_override_the_file(tmp_path: Path, options: dict[str, Any]) -> None:
    _wordpiece(lowercase=True).save(str(tmp_path / "tokenizer.json"))
    _check(_write(tmp_path, config=BERT, tokenizer_config=options))


def test_options_that_lower_case_change_the_ids(tmp_path: Path) -> None:
    _wordpiece(lowercase=True).save(str(tmp_path / "tokenizer.json"))
    cased = _check(_write(tmp_path, config=BERT, tokenizer_config={"do_lower_case": False}))
    assert cased.encode("Cat", add_special_tokens=False).ids == [WORDPIECE.index("Cat")]


def test_truncation_and_padding_are_left_to_the_task(tmp_path: Path) -> None:
    _wordpiece().save(str(tmp_path / "tokenizer.json"))
    mine = effective_tokenizer(_write(tmp_path, config=BERT))
    assert mine.truncation is None and mine.padding is None


def test_bert_from_vocab_txt(tmp_path: Path) -> None:
    _check(
        _write(tmp_path, config=BERT, tokenizer_config={"do_lower_case": True}, vocab__txt="\n".join(WORDPIECE) + "\n")
    )


def test_bert_with_the_older_special_tokens_map(tmp_path: Path) -> None:
    _wordpiece().save(str(tmp_path / "tokenizer.json"))
    added = {"content": "<x>", "lstrip": False, "rstrip": True, "normalized": False, "single_word": False}
    _check(
        _write(
            tmp_path, config=BERT, tokenizer_config={}, special_tokens_map={"mask_token": added, "cls_token": "[CLS]"}
        )
    )


@pytest.mark.parametrize(
    ("config", "options"),
    [
        ({"model_type": "gpt2"}, {}), ({"model_type": "gpt2"}, {"add_prefix_space": True, "pad_token": "<pad>"}),
        ({"model_type": "gpt2"}, {"add_bos_token": True}), ({"model_type": "qwen3"}, {}), ({"model_type": "qwen3"},
        {"eos_token": "<|im_end|>", "additional_special_tokens": ["<|im_start|>", "<|im_end|>"]}), ({"model_type":
        "qwen3"}, {"tokenizer_class": "PreTrainedTokenizerFast"}), ({"model_type": "qwen2"}, {"tokenizer_class":
        "Qwen2Tokenizer"}), ({"model_type": "llama"}, {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token":
        "<|endoftext|>"}), ({"model_type": "llama"}, {"tokenizer_class": "LlamaTokenizer", "bos_token": "<|begin|>"}),
    ],
)  # fmt: skip
def test_byte_level_tokenizers(tmp_path: Path, config: dict[str, Any], options: dict[str, Any]) -> None:
    _byte_level().save(str(tmp_path / "tokenizer.json"))
    _check(_write(tmp_path, config=config, tokenizer_config=options))


@pytest.mark.parametrize("options", [{}, {"add_bos_token": True}, {"add_bos_token": True, "add_eos_token": True}])
def test_gpt2_from_vocab_and_merges(tmp_path: Path, options: dict[str, Any]) -> None:
    _byte_level().model.save(str(tmp_path))
    _check(_write(tmp_path, config={"model_type": "gpt2"}, tokenizer_config=options))


@pytest.mark.parametrize("options", [{}, {"add_prefix_space": False}, {"legacy": True}, {"add_bos_token": True}])
def test_llama_with_metaspace(tmp_path: Path, options: dict[str, Any]) -> None:
    _metaspace().save(str(tmp_path / "tokenizer.json"))
    _check(
        _write(
            tmp_path, config={"model_type": "llama"}, tokenizer_config={"tokenizer_class": "LlamaTokenizer", **options}
        )
    )


def _unigram() -> Tokenizer:
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "▁", "▁the", "▁cat", "s", "a", "b", "▁sat", "é"]
    tokenizer = Tokenizer(models.Unigram([(piece, -float(i)) for i, piece in enumerate(pieces)], unk_id=3))
    charsmap = _charsmap()
    tokenizer.normalizer = normalizers.Sequence([normalizers.Precompiled(charsmap), normalizers.Strip()])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return tokenizer


def _charsmap() -> bytes:
    """The compiled character map of a small SentencePiece model."""
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["a b"] * 3), model_writer=out, vocab_size=6, minloglevel=2, num_threads=1
    )
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(out.getvalue())
    return bytes(proto.normalizer_spec.precompiled_charsmap)


@pytest.mark.parametrize(
    ("model_type", "options"),
    [
        ("xlm-roberta", {}),
        ("xlm-roberta", {"tokenizer_class": "XLMRobertaTokenizerFast", "add_prefix_space": False}),
        ("t5", {"unk_token": "<unk>"}),
        ("t5", {"extra_special_tokens": [f"<extra_id_{i}>" for i in range(100)], "tokenizer_class": "T5Tokenizer"}),
    ],
)
def test_unigram_classes(tmp_path: Path, model_type: str, options: dict[str, Any]) -> None:
    _unigram().save(str(tmp_path / "tokenizer.json"))
    _check(_write(tmp_path, config={"model_type": model_type}, tokenizer_config=options))


@pytest.mark.parametrize("options", [{}, {"add_prefix_space": True}, {"trim_offsets": False, "mask_token": "<end>"}])
def test_roberta(tmp_path: Path, options: dict[str, Any]) -> None:
    _byte_level().save(str(tmp_path / "tokenizer.json"))
    _check(_write(tmp_path, config={"model_type": "roberta"}, tokenizer_config=options))


@pytest.mark.parametrize("model_type", ["gemma", "gemma3_text"])
@pytest.mark.parametrize("options", [{}, {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<unk>"}])
def test_gemma(tmp_path: Path, model_type: str, options: dict[str, Any]) -> None:
    _metaspace().save(str(tmp_path / "tokenizer.json"))
    options = {"tokenizer_class": "GemmaTokenizer", **options}
    _check(_write(tmp_path, config={"model_type": model_type}, tokenizer_config=options))


@pytest.mark.parametrize("model_type", ["granite", "mistral", "mixtral", "olmo2", "phi3"])
@pytest.mark.parametrize("declared", ["LlamaTokenizer", "GPT2Tokenizer", None])
def test_some_model_types_take_the_file_as_it_is(tmp_path: Path, model_type: str, declared: str | None) -> None:
    _metaspace().save(str(tmp_path / "tokenizer.json"))
    options = {"bos_token": "<s>"} | ({"tokenizer_class": declared} if declared else {})
    _check(_write(tmp_path, config={"model_type": model_type}, tokenizer_config=options))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"tokenizer_class": "WhisperTokenizer"}, "tokenizer_class 'WhisperTokenizer' is not supported"),
        ({"auto_map": {"AutoTokenizer": ["tok.Tok", None]}}, "'auto_map' names the checkpoint's own code"),
        ({"split_special_tokens": True}, "'split_special_tokens' is true"),
        ({"do_lower_case": "yes"}, "'do_lower_case' is 'yes', not of type bool"),
        ({"strip_accents": 1}, "'strip_accents' is 1"),
        ({"cls_token": "[NONE]"}, None),
    ],
)
def test_refuses_what_cannot_be_represented(tmp_path: Path, options: dict[str, Any], reason: str | None) -> None:
    _wordpiece().save(str(tmp_path / "tokenizer.json"))
    folder = _write(tmp_path, config=BERT, tokenizer_config=options)
    if reason is None:
        _check(folder)  # transformers adds the token that the vocabulary lacks
        return
    with pytest.raises(AssetError, match=reason) as caught:
        effective_tokenizer(folder)
    assert "tokenizer_config.json" in str(caught.value)


def test_refuses_a_folder_without_vocabulary(tmp_path: Path) -> None:
    with pytest.raises(AssetError, match="neither tokenizer.json nor vocab.txt"):
        effective_tokenizer(_write(tmp_path, config=BERT))


def test_refuses_a_broken_tokenizer_json(tmp_path: Path) -> None:
    with pytest.raises(AssetError, match="tokenizer.json is not valid JSON"):
        effective_tokenizer(_write(tmp_path, config=BERT, tokenizer__json="{"))


@pytest.mark.parametrize(
    "options",
    [
        {"added_tokens_decoder": {"x": {"content": "a"}}},
        {"added_tokens_decoder": {"1": {"colour": "red"}}},
        {"added_tokens_decoder": []},
        {"extra_special_tokens": 5},
        {"cls_token": {"lstrip": True}},
    ],
)
def test_refuses_malformed_options(tmp_path: Path, options: dict[str, Any]) -> None:
    _wordpiece().save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(AssetError, match=f"{tmp_path}: the files of the tokenizer are malformed"):
        effective_tokenizer(_write(tmp_path, config=BERT, tokenizer_config=options))


@pytest.mark.parametrize("model", [{}, {"vocab": {"a": "b"}}, {"vocab": {"a": -1}}, {"vocab": ["a"]}, []])
def test_refuses_a_malformed_vocabulary(tmp_path: Path, model: Any) -> None:
    folder = _write(tmp_path, config=BERT, tokenizer={"model": model, "added_tokens": []})
    with pytest.raises(AssetError, match=str(tmp_path)):
        effective_tokenizer(folder)


def test_finds_the_ids_of_special_tokens(tmp_path: Path) -> None:
    _wordpiece().save(str(tmp_path / "tokenizer.json"))
    folder = _write(tmp_path, config=BERT, tokenizer_config={"pad_token": "[PAD]"})
    mine = effective_tokenizer(folder)
    assert token_id(mine, folder, "pad_token") == 0
    assert token_id(mine, folder, "eos_token") is None


def test_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    _byte_level().save(str(tmp_path / "tokenizer.json"))
    folder = _write(tmp_path, config={"model_type": "gpt2"})
    copy = shutil.copytree(folder, tmp_path / "copy")
    assert effective_tokenizer(folder).to_str() == effective_tokenizer(copy).to_str()


@pytest.mark.parametrize("name", ["LlamaTokenizer", "GemmaTokenizer", "Qwen2Tokenizer", "GPT2Tokenizer", None])
@pytest.mark.parametrize("model_type", ["llama", "gemma3_text", "qwen2", "mistral"])
@pytest.mark.parametrize(
    "named",
    [
        {},
        {"bos_token": None},
        {"bos_token": "a"},
        {"eos_token": {"content": "b", "special": True, "__type": "AddedToken"}},
        {"image_token": "a", "extra_special_tokens": {"audio_token": "b"}, "add_bos_token": True},
        {"bos_token": "a", "added_tokens_decoder": {"1": {"content": "<s>", "special": True}}},
    ],
    ids=str,
)
def test_special_tokens_are_those_that_the_reference_gives_to_templates(
    tmp_path: Path, name: str | None, model_type: str, named: dict[str, Any]
) -> None:
    vocabulary = ["<unk>", "<s>", "</s>", "<pad>", "<bos>", "<eos>", "<mask>", "<|endoftext|>", "a", "b", "e"]
    Tokenizer(models.BPE({token: i for i, token in enumerate(vocabulary)}, [])).save(str(tmp_path / "tokenizer.json"))
    config = named if name is None else {**named, "tokenizer_class": name}
    older = {"special_tokens_map": {"unk_token": "e"}} if "eos_token" in named else {}
    _write(tmp_path, tokenizer_config=config, config={"model_type": model_type}, **older)
    want = AutoTokenizer.from_pretrained(tmp_path).special_tokens_map
    assert read_tokenizer(tmp_path)[1] == {key: value for key, value in want.items() if isinstance(value, str)}


def test_refuses_a_special_token_without_text(tmp_path: Path) -> None:
    _byte_level().save(str(tmp_path / "tokenizer.json"))
    _write(tmp_path, tokenizer_config={"bos_token": 5, "tokenizer_class": "GPT2Tokenizer"})
    with pytest.raises(AssetError, match="special token 5 is neither text nor an object"):
        read_tokenizer(tmp_path)
