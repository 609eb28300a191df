"""A SentencePiece model, as a tokenizer, gives SentencePiece's ids and the tokenizer that transformers makes of it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st
from sentencepiece import sentencepiece_model_pb2
from transformers import AutoTokenizer

from tools.builder.assets.conversion import CORPUS
from tools.builder.assets.reading import AssetError
from tools.builder.assets.sentencepiece_files import read_sentencepiece
from tools.builder.assets.tokenizer import effective_tokenizer

SPACES = ("  two before", "a  b   c", "\ttab", " ", "   ", "end  ", "▁x ▁▁y")


def trained(path: Path, **options: Any) -> Path:
    """A small model of the corpus, written to `path`."""
    out = io.BytesIO()
    given: dict[str, Any] = {
        "vocab_size": 700,
        "character_coverage": 0.98,
        "num_threads": 1,
        "minloglevel": 2,
        **options,
    }
    given.setdefault("byte_fallback", True)
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter([*CORPUS] * 3), model_writer=out, **given)
    path.write_bytes(out.getvalue())
    return path


OPTIONS: list[dict[str, Any]] = [
    {"model_type": "bpe"},
    {"model_type": "bpe", "normalization_rule_name": "identity", "remove_extra_whitespaces": False},
    {"model_type": "bpe", "add_dummy_prefix": False, "user_defined_symbols": ["<tool>", "<t"]},
    {"model_type": "unigram"},
    {"model_type": "unigram", "normalization_rule_name": "nmt_nfkc_cf", "byte_fallback": False, "vocab_size": 400},
]


def same(folder: Path) -> None:
    """Compares the whole tokenizer with the one that transformers makes of the folder."""
    want = AutoTokenizer.from_pretrained(folder).backend_tokenizer
    left, right = (json.loads(of.to_str()) for of in (effective_tokenizer(folder), want))
    for body in (left, right):  # the library itself reads back a score with another last digit than it wrote
        if body["model"]["type"] == "Unigram":
            body["model"]["vocab"] = [(piece, round(score, 9)) for piece, score in body["model"]["vocab"]]
    assert left == right


@pytest.mark.parametrize("options", OPTIONS)
def test_GivesSentencePiecesIdsAndText(tmp_path: Path, options: dict[str, Any]) -> None:
    model = read_sentencepiece(trained(tmp_path / "tokenizer.model", **options))
    tokenizer = model.tokenizer()
    model.prove(tokenizer)
    original = sentencepiece.SentencePieceProcessor(model_file=str(model.path))
    for text in SPACES:
        assert tokenizer.encode(text, add_special_tokens=False).ids == original.encode(text), text
    for text in ("Viktor quer, 49", "a b"):
        ids = original.encode(text)
        assert tokenizer.decode(ids) == original.decode(ids)


@pytest.mark.parametrize("options", OPTIONS)
def test_IsTheReferenceLibrarysTokenizer(tmp_path: Path, options: dict[str, Any]) -> None:
    trained(tmp_path / "tokenizer.model", **options)
    (tmp_path / "config.json").write_text('{"model_type": "mistral"}')
    config = {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "add_eos_token": False, "bos_token": "<s>"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    same(tmp_path)


@pytest.mark.parametrize("name", ["LlamaTokenizer", "GemmaTokenizer"])
def test_IsTheDeclaredClassOfTheReferenceLibrary(tmp_path: Path, name: str) -> None:
    # Merges by id are merges by score where scores fall as ids rise, which trained models' do.
    trained(tmp_path / "tokenizer.model", model_type="bpe", normalization_rule_name="identity",
            remove_extra_whitespaces=False, add_dummy_prefix=name == "LlamaTokenizer")  # fmt: skip
    model_type = "llama" if name == "LlamaTokenizer" else "gemma"
    (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type}))
    config = {"tokenizer_class": name, "bos_token": "<s>", "eos_token": "</s>", "add_bos_token": True}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    same(tmp_path)


@pytest.mark.parametrize("file", ["spiece.model", "sentencepiece.bpe.model"])
def test_UnigramClassesTakeTheModel(tmp_path: Path, file: str) -> None:
    trained(tmp_path / file, model_type="unigram", byte_fallback=False, vocab_size=400, pad_id=-1)
    name, model_type = ("T5Tokenizer", "t5") if file == "spiece.model" else ("XLMRobertaTokenizer", "xlm-roberta")
    if name == "T5Tokenizer":
        trained(tmp_path / file, model_type="unigram", byte_fallback=False, vocab_size=400, pad_id=0, eos_id=1,
                unk_id=2, bos_id=-1)  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type}))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name}))
    same(tmp_path)


def test_AWrongConversionFailsNamingTheText(tmp_path: Path) -> None:
    model = read_sentencepiece(trained(tmp_path / "tokenizer.model", model_type="bpe"))
    other = read_sentencepiece(trained(tmp_path / "other.model", model_type="bpe", vocab_size=690))
    with pytest.raises(AssetError, match=r"cannot be converted: from token \d+ of .*the converted .* SentencePiece"):
        model.prove(other.tokenizer())


def test_AModelWhoseIdsTokenizersCannotGiveIsRefused(tmp_path: Path) -> None:
    trained(tmp_path / "tokenizer.model", model_type="bpe", add_dummy_prefix=False, user_defined_symbols=["  "])
    (tmp_path / "config.json").write_text('{"model_type": "mistral"}')
    with pytest.raises(AssetError, match="tokenizer.model cannot be converted: from token .* of 'def f"):
        effective_tokenizer(tmp_path)


def _changed(path: Path, **fields: Any) -> Path:
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(path.read_bytes())
    for key, value in fields.items():
        setattr(proto.trainer_spec, key, value)
    path.write_bytes(proto.SerializeToString())
    return path


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"model_type": 3}, r"the model is of type 3; read are unigram \(1\) and BPE \(2\)"),
        ({"unk_id": 70000}, "token 70000 of 700 stands for what is unknown"),
        ({"unk_id": -1}, "token -1 of 700"),
        ({"treat_whitespace_as_suffix": True}, "treat_whitespace_as_suffix is set"),
    ],
)
def test_RefusesWhatItCannotExpress(tmp_path: Path, fields: dict[str, Any], reason: str) -> None:
    path = _changed(trained(tmp_path / "tokenizer.model", model_type="bpe"), **fields)
    with pytest.raises(AssetError, match=reason):
        read_sentencepiece(path)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(content=st.binary(max_size=200))
def test_RefusesWhatIsNoModel(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("x") / "tokenizer.model"
    path.write_bytes(content)
    with pytest.raises(AssetError, match="tokenizer.model"):
        read_sentencepiece(path)
