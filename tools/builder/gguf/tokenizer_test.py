"""The tokenizer of a GGUF file is, but for what is said there, the one that transformers makes of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer
from transformers.convert_slow_tokenizer import bytes_to_unicode
from transformers.integrations.gguf import gguf_tokenizer_mapping as reference
from transformers.tokenization_utils_tokenizers import PreTrainedTokenizerFast

from tools.builder.checkpoint import CheckpointError
from tools.builder.gguf.tokenizer import _BY_DIGITS, _SPLITS, tokenizer_files

PATH = Path("x.gguf")
TEXTS = (
    "The river rises in the hills", "  two  spaces", "it's 12345 o'clock\n\n\tend ", "Ünïcode Café e\u0301",
    "日本語のテキスト。 한국어 עברית", "<s>plain</s><tool>", "HELLOWorld hELLO", "1,234.5 + 6 = ?", "",
)  # fmt: skip
WORDS = ("▁", "t", "h", "e", "▁t", "he", "▁the", "r", "i", "v", "ri", "ver", "▁ri", "1", "2", "▁▁")


def byte_level(pre: str, **changes: Any) -> dict[str, Any]:
    """Metadata of a byte-level vocabulary with a few merges and every kind of special token.

    It holds <|endoftext|>, as gemma's holds <bos>, since transformers' classes add their usual tokens where they lack.
    """
    letters = sorted(bytes_to_unicode().values())  # type: ignore[no-untyped-call]
    merges = ["Ġ Ġ", "Ġ t", "h e", "Ġt he", "1 2", "o r"]
    tokens = [
        *letters,
        *(merge.replace(" ", "") for merge in merges),
        "<|endoftext|>",
        "<s>",
        "</s>",
        "<tool>",
        "ｂａｄ",
    ]
    types = [1] * (len(tokens) - 5) + [3, 3, 3, 4, 3]
    at = {token: index for index, token in enumerate(tokens)}
    return {
        "general.architecture": "qwen2",
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": pre,
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": types,
        "tokenizer.ggml.merges": merges,
        "tokenizer.ggml.bos_token_id": at["<s>"],
        "tokenizer.ggml.eos_token_id": at["</s>"],
        "tokenizer.ggml.add_bos_token": True,
    } | {f"tokenizer.{key}": value for key, value in changes.items()}


def sentencepiece(architecture: str, **changes: Any) -> dict[str, Any]:
    """Metadata of a SentencePiece vocabulary without merges: scores fall as ids rise."""
    tokens = ["<pad>", "</s>", "<s>", "<unk>", "<tool>", *(f"<0x{byte:02X}>" for byte in range(256)), *WORDS]
    special = ["<bos>", "<eos>", "<mask>"] if architecture.startswith("gemma") else []
    if architecture.startswith("gemma"):
        tokens[-1] = "  "
    tokens += special
    return {
        "general.architecture": architecture,
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.scores": [0.0] * 261 + [-float(index) for index in range(len(WORDS) + len(special))],
        "tokenizer.ggml.token_type": [3, 3, 3, 2, 4] + [6] * 256 + [1] * len(WORDS) + [3] * len(special),
        "tokenizer.ggml.bos_token_id": 2,
        "tokenizer.ggml.eos_token_id": 1,
        "tokenizer.ggml.unknown_token_id": 3,
        "tokenizer.ggml.padding_token_id": 0,
    } | {f"tokenizer.{key}": value for key, value in changes.items()}


def of_reference(metadata: Mapping[str, Any]) -> Tokenizer:
    """What transformers makes of the same metadata."""
    short = {key.removeprefix("tokenizer."): value for key, value in metadata.items()}
    fields = reference.GGUF_TOKENIZER_MAPPING["tokenizer"]
    given = {name: short[key] for key, name in fields.items() if key in short}
    backend, _ = reference.convert_gguf_tokenizer(metadata["general.architecture"], given)
    tokens = metadata["tokenizer.ggml.tokens"]
    named = {
        name: tokens[short[f"ggml.{key}"]]
        for name, key in reference._SPECIAL_TOKENS.items()
        if f"ggml.{key}" in short
    }  # fmt: skip
    adds = {"add_bos_token": short.get("ggml.add_bos_token", given["tokenizer_type"] == "llama")}
    wrapped = PreTrainedTokenizerFast(tokenizer_object=backend, **named, **adds)  # type: ignore[no-untyped-call]
    return wrapped.backend_tokenizer


def same(metadata: Mapping[str, Any], *, without: tuple[str, ...] = ()) -> Tokenizer:
    """Compares whole tokenizers but for the parts named, and the ids of texts."""
    mine, _ = tokenizer_files(PATH, metadata)
    want = of_reference(metadata)
    left, right = json.loads(mine.to_str()), json.loads(want.to_str())
    for part in left.keys() - set(without):
        assert left[part] == right[part], part
    for text in TEXTS:
        assert mine.encode(text).ids == want.encode(text).ids, text
    return mine


@pytest.mark.parametrize("pre", sorted(_SPLITS.keys() & reference.GGUF_PRE_TOKENIZER_SPLITS.keys() - {"qwen2"}))
def test_ByteLevelVocabulariesAreTheReferences(pre: str) -> None:
    same(byte_level(pre))


@pytest.mark.parametrize("pre", ["gpt-2", "phi-2", "olmo"])
def test_Gpt2sSplitIsTheByteLevels(pre: str) -> None:
    same(byte_level(pre))


def test_QwensNormalizerIsRestored() -> None:
    metadata = byte_level("qwen2")
    mine, _ = tokenizer_files(PATH, metadata)
    assert mine.normalizer.normalize_str("e\u0301") == "é"
    del metadata["tokenizer.ggml.pre"]
    left, right = (json.loads(of.to_str()) for of in (mine, of_reference(byte_level("qwen2"))))
    assert {part for part in left if left[part] != right[part]} == {"normalizer"}


@pytest.mark.parametrize("pre", _BY_DIGITS)
def test_DigitsStandAloneWhereTheModelsOwnTokenizerPartsThem(pre: str) -> None:
    assert tokenizer_files(PATH, byte_level(pre))[0].encode("12", add_special_tokens=False).tokens == ["1", "2"]
    assert tokenizer_files(PATH, byte_level("gpt-2"))[0].encode("12", add_special_tokens=False).tokens == ["12"]


@pytest.mark.parametrize("architecture", ["llama", "phi3", "gemma3"])
@pytest.mark.parametrize("changes", [{}, {"ggml.add_bos_token": False}])
def test_SentencePieceVocabulariesAreTheReferences(architecture: str, changes: dict[str, Any]) -> None:
    same(sentencepiece(architecture, **changes))


def test_NoSpaceIsPrependedWhereTheFileSaysSo() -> None:
    metadata = sentencepiece("llama", **{"ggml.add_space_prefix": False})
    tokenizer, _ = tokenizer_files(PATH, metadata)
    assert tokenizer.encode("the", add_special_tokens=False).tokens == ["t", "he"]
    assert tokenizer.decode([tokenizer.token_to_id("▁the") or 0]) == " the"


def test_NamedTokensAndTemplateStandInTheConfig() -> None:
    _, options = tokenizer_files(PATH, byte_level("qwen2", chat_template="{{ messages }}"))
    assert options == {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "chat_template": "{{ messages }}",
    }


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"ggml.model": "bert"}, "tokenizer.ggml.model is 'bert', which is not read; read are gpt2 and llama"),
        ({"ggml.tokens": None}, "x.gguf holds no vocabulary"),
        ({"ggml.tokens": ["a", 1]}, "x.gguf holds no vocabulary"),
        ({"ggml.tokens": ["a", "a"]}, "tokenizer.ggml.tokens holds 'a' twice"),
        ({"ggml.pre": None}, r"how text is split \(tokenizer.ggml.pre\) is not stated; read are"),
        ({"ggml.pre": "viking"}, "is 'viking', which is not read"),
        ({"ggml.merges": ["a"]}, r"tokenizer.ggml.merges\[0\] is 'a', not two tokens"),
        ({"ggml.merges": ["a zz"]}, "the merges do not fit the vocabulary"),
        ({"ggml.merges": None}, "neither tokenizer.ggml.merges nor a score for each token"),
        ({"ggml.eos_token_id": 9999}, "tokenizer.ggml.eos_token_id is 9999, and the vocabulary has 267 tokens"),
        ({"ggml.eos_token_id": "x"}, "tokenizer.ggml.eos_token_id is not of type int"),
        ({"ggml.add_bos_token": 1}, "tokenizer.ggml.add_bos_token is not of type bool"),
    ],
)
def test_RefusesWhatIsNoVocabulary(changes: dict[str, Any], reason: str) -> None:
    metadata = byte_level("qwen2", **changes)
    with pytest.raises(CheckpointError, match=reason):
        tokenizer_files(PATH, {key: value for key, value in metadata.items() if value is not None})
