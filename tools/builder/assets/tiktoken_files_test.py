"""Vocabularies by rank give tiktoken's ids, and the tokenizer that transformers makes of the same file."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from transformers.convert_slow_tokenizer import TikTokenConverter
from transformers.integrations.mistral.tokenizer import MistralConverter

from tools.builder.assets.conversion import CORPUS
from tools.builder.assets.reading import AssetError
from tools.builder.assets.tiktoken_files import PATTERNS, read_tekken, read_tiktoken
from tools.builder.assets.tokenizer import effective_tokenizer

BYTES = [bytes([byte]) for byte in range(256)]
PAIRS = [b"th", b"he", b" t", b" th", b" the", b"er", b"in", b"  ", "é".encode(), "日".encode(), b"12", b"the"]
TOKENS = BYTES + PAIRS


def ranks_file(path: Path, tokens: Sequence[bytes] = TOKENS) -> Path:
    """A `.tiktoken` file."""
    lines = [f"{base64.b64encode(token).decode()} {rank}\n" for rank, token in enumerate(tokens)]
    path.write_text("".join(lines))
    return path


def tekken_file(path: Path, **changes: Any) -> Path:
    """A tekken.json of the tokens with four special ones, six reserved, and padding behind the vocabulary."""
    padding = [b"zzz", b"yyy"]
    body: dict[str, Any] = {
        "config": {
            "pattern": PATTERNS["qwen.tiktoken"],
            "default_vocab_size": 10 + len(TOKENS),
            "default_num_special_tokens": 10,
        },
        "vocab": [
            {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
            for rank, token in enumerate([*TOKENS, *padding])
        ],
        "special_tokens": [
            {"rank": rank, "token_str": token, "is_control": True}
            for rank, token in enumerate(("<unk>", "<s>", "</s>", "[INST]"))
        ],
    }
    path.write_text(json.dumps(body | changes))
    return path


@pytest.mark.parametrize("name", PATTERNS)
def test_GivesTiktokensIds(tmp_path: Path, name: str) -> None:
    tokenizer = read_tiktoken(ranks_file(tmp_path / name), {}).tokenizer()
    ranks = {token: rank for rank, token in enumerate(TOKENS)}
    original = tiktoken.Encoding("x", pat_str=PATTERNS[name], mergeable_ranks=ranks, special_tokens={})
    for text in (*CORPUS, "  the 1234 thé日\n\n \t the"):
        ids = tokenizer.encode(text).ids
        assert ids == original.encode_ordinary(text)
        assert tokenizer.decode(ids) == text


def test_IsWhatTransformersConverts(tmp_path: Path) -> None:
    path = ranks_file(tmp_path / "cl100k_base.tiktoken")
    special = {len(TOKENS): "<|end|>", len(TOKENS) + 1: "<|x|>"}
    mine = read_tiktoken(path, special).tokenizer()
    converter = TikTokenConverter(str(path), extra_special_tokens=list(special.values()))  # type: ignore[no-untyped-call]
    want = converter.converted()
    left, right = json.loads(mine.to_str()), json.loads(want.to_str())
    for token in special.values():  # which stand in the vocabulary too, so that their ids are theirs
        del left["model"]["vocab"][token]
    parts = ("added_tokens", "decoder", "model", "normalizer", "pre_tokenizer")
    assert {part: left[part] for part in parts} == {part: right[part] for part in parts}
    for text in CORPUS:
        assert mine.encode(text + "<|end|>").ids == want.encode(text + "<|end|>").ids


def test_ALlama3FolderIsRead(tmp_path: Path) -> None:
    ranks_file(tmp_path / "tokenizer.model")
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    token = {"content": "<|begin|>", "special": True}
    config = {"added_tokens_decoder": {str(len(TOKENS)): token}, "bos_token": "<|begin|>", "add_bos_token": True}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    tokenizer = effective_tokenizer(tmp_path)
    assert tokenizer.encode("the").ids == [len(TOKENS), TOKENS.index(b"the")]


def test_TekkenIsWhatTransformersConverts(tmp_path: Path) -> None:
    path = tekken_file(tmp_path / "tekken.json")
    mine = read_tekken(path).tokenizer()
    want = MistralConverter(str(path)).converted()
    left, right = json.loads(mine.to_str()), json.loads(want.to_str())
    assert left["model"] == right["model"]
    assert left["pre_tokenizer"] == right["pre_tokenizer"]
    assert [(token["id"], token["content"]) for token in left["added_tokens"]] == [
        (token["id"], token["content"]) for token in right["added_tokens"]
    ]
    assert mine.encode("<s>the[INST]").ids == [1, 10 + TOKENS.index(b"the"), 3]


def test_TekkenOf2024HasTheSpecialTokensOfItsLibrary(tmp_path: Path) -> None:
    body = json.loads(tekken_file(tmp_path / "tekken.json").read_text())
    del body["special_tokens"]
    body["config"] |= {"default_num_special_tokens": 24, "default_vocab_size": 24 + len(TOKENS)}
    (tmp_path / "tekken.json").write_text(json.dumps(body))
    tokenizer = effective_tokenizer(tmp_path)
    assert [tokenizer.token_to_id(token) for token in ("</s>", "[TOOL_CONTENT]", "<SPECIAL_20>")] == [2, 19, 20]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("other.tiktoken", "", "how text is split before this vocabulary applies is not known; it is for cl100k_base"),
        ("qwen.tiktoken", "!! 0\n", "line 1 is b'!! 0', not a token in base64 and its rank"),
        ("qwen.tiktoken", "YQ==\n", "line 1 is b'YQ==', not a token"),
        ("qwen.tiktoken", "YQ== x\n", "line 1 is .*, not a token"),
        ("qwen.tiktoken", "YQ== 1\n", "line 1 has the rank 1; ranks count from 0"),
        ("qwen.tiktoken", "YQ== 0\n", "has no token for the byte 0x00"),
        ("qwen.tiktoken", "YQ== 0\nYQ== 1\n", "holds the same token twice"),
    ],
)
def test_RefusesADamagedRanksFile(tmp_path: Path, name: str, content: str, reason: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(AssetError, match=reason) as caught:
        read_tiktoken(tmp_path / name, {})
    assert name in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"config": {}}, "must have config.pattern and vocab"),
        ({"config": []}, "field 'config' is .*, not of type dict"),
        ({"vocab": [1]}, "1 describes no token|do not make a vocabulary"),
        ({"special_tokens": [{"rank": 4, "token_str": "x"}]}, "the ranks of special_tokens do not count from 0"),
        ({"config": {"pattern": "a", "default_num_special_tokens": 1}}, "4 special tokens of 1, and .* do not make"),
        ({"config": {"pattern": "a", "default_vocab_size": 10**9}}, "do not make a vocabulary of 1000000000"),
    ],
)
def test_RefusesADamagedTekken(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(AssetError, match=reason):
        read_tekken(tekken_file(tmp_path / "tekken.json", **changes))
