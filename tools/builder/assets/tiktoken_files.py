"""Byte-pair vocabularies by rank: tiktoken's `*.tiktoken`, and Mistral's `tekken.json`, as tokenizers.

A rank is a token's id and its priority in merging. Neither library lists merges; every cut of a token into two others
is one, in the order of ranks, as in transformers' TikTokenConverter and MistralConverter.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tiktoken
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

from tools.builder.assets.byte_letters import byte_letters, spelled
from tools.builder.assets.conversion import prove
from tools.builder.assets.reading import AssetError, field, read_object

_CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN = _CL100K.replace(r"\p{N}{1,3}", r"\p{N}")
PATTERNS: Mapping[str, str] = {
    "cl100k_base.tiktoken": _CL100K,
    "qwen.tiktoken": _QWEN,
    "tokenizer.model": _CL100K,  # Llama 3 and its kin
}
"""How text is split, by the name of the file: a `.tiktoken` file does not say."""

_MAX_TOKENS = 1 << 22
_TEKKEN_2024 = (
    "<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]",
    "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]",
)  # fmt: skip
"""Special tokens of a tekken.json that does not list them, as mistral-common has them."""


@dataclass(frozen=True)
class Ranks:
    """A vocabulary by rank. The id of a token is `first` and its rank; `special` are the tokens before and after."""

    path: Path
    tokens: Sequence[bytes]
    pattern: str
    first: int
    special: Mapping[str, int]

    def tokenizer(self) -> Tokenizer:
        """The tokenizer, proved against tiktoken on the corpus. Raises AssetError."""
        letters = byte_letters()
        ids = {token: rank for rank, token in enumerate(self.tokens)}
        vocabulary = {spelled(token, letters): self.first + rank for token, rank in ids.items()}
        tokenizer = Tokenizer(
            models.BPE(vocabulary | dict(self.special), _merges(ids, letters), fuse_unk=False, ignore_merges=True)
        )
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(self.pattern), behavior="isolated", invert=False),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ])  # fmt: skip
        tokenizer.decoder = decoders.ByteLevel()
        original = tiktoken.Encoding("x", pat_str=self.pattern, mergeable_ranks=ids, special_tokens={})

        def encode(text: str) -> list[int]:
            return [self.first + rank for rank in original.encode_ordinary(text)]

        prove(tokenizer, encode, self.path, "tiktoken")
        special = sorted(self.special, key=self.special.__getitem__)
        tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in special])
        return tokenizer


def read_tiktoken(path: Path, special: Mapping[int, str]) -> Ranks:
    """A `.tiktoken` file: a line for each token, its bytes in base64 and its rank. `special` are the tokens by id that
    the checkpoint's other files add. Raises AssetError naming the line that is none."""
    if path.name not in PATTERNS:
        known = ", ".join(PATTERNS)
        raise AssetError(f"{path}: how text is split before this vocabulary applies is not known; it is for {known}")
    tokens: list[bytes] = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        words = line.split()
        if not words:
            continue
        try:
            token, rank = base64.b64decode(words[0], validate=True), int(words[1])
        except (binascii.Error, ValueError, IndexError):
            raise AssetError(f"{path}: line {number} is {line[:40]!r}, not a token in base64 and its rank") from None
        if rank != len(tokens) or not token or len(words) != 2:
            raise AssetError(f"{path}: line {number} has the rank {rank}; ranks count from 0, one for each token")
        tokens.append(token)
    _check(path, tokens)
    return Ranks(path, tokens, PATTERNS[path.name], 0, {t: id for id, t in special.items() if id >= len(tokens)})


def read_tekken(path: Path) -> Ranks:
    """A `tekken.json`: special tokens first, `<SPECIAL_n>` where they have no name. Raises AssetError."""
    body = read_object(path)
    config = field(path, body, "config", dict, {})
    pattern = field(path, config, "pattern", str, "")
    entries = field(path, body, "vocab", list, [])
    usual = [{"rank": rank, "token_str": token} for rank, token in enumerate(_TEKKEN_2024)]
    named = field(path, body, "special_tokens", list, usual)
    if not pattern or not entries or not named:
        raise AssetError(f"{path} must have config.pattern and vocab, and special_tokens that are not empty")
    special = sorted((_number(path, entry, "rank"), str(entry.get("token_str"))) for entry in named)
    if [rank for rank, _ in special] != list(range(len(special))):
        raise AssetError(f"{path}: the ranks of special_tokens do not count from 0")
    first = field(path, config, "default_num_special_tokens", int, len(special))
    size = field(path, config, "default_vocab_size", int, first + len(entries))
    if not len(special) <= first <= size <= first + len(entries):
        raise AssetError(
            f"{path}: {len(special)} special tokens of {first}, and {len(entries)} others, do not make "
            f"a vocabulary of {size}"
        )
    ids = {token: rank for rank, token in special}
    ids |= {f"<SPECIAL_{rank}>": rank for rank in range(len(special), first)}
    tokens = [_bytes(path, entry, rank) for rank, entry in enumerate(entries[: size - first])]
    _check(path, tokens)
    return Ranks(path, tokens, pattern, first, ids)


def _number(path: Path, entry: Any, key: str) -> int:
    if not isinstance(entry, dict):
        raise AssetError(f"{path}: {entry!r:.60} describes no token")
    return field(path, entry, key, int, -1)


def _bytes(path: Path, entry: Any, rank: int) -> bytes:
    if _number(path, entry, "rank") != rank:
        raise AssetError(f"{path}: the token {entry!r:.60} has another rank than its place, {rank}")
    try:
        return base64.b64decode(field(path, entry, "token_bytes", str, ""), validate=True)
    except binascii.Error:
        raise AssetError(f"{path}: token_bytes of rank {rank} is not base64") from None


def _check(path: Path, tokens: Sequence[bytes]) -> None:
    if len(tokens) > _MAX_TOKENS:
        raise AssetError(f"{path} holds {len(tokens)} tokens; a vocabulary may have {_MAX_TOKENS}")
    known = set(tokens)
    if len(known) != len(tokens):
        raise AssetError(f"{path} holds the same token twice")
    if lost := [byte for byte in range(256) if bytes([byte]) not in known]:
        raise AssetError(f"{path} has no token for the byte {lost[0]:#04x}, so that not every text has ids")


def _merges(ids: Mapping[bytes, int], letters: list[str]) -> list[tuple[str, str]]:
    merges: list[tuple[str, str]] = []
    for token in ids:  # ascending ranks
        cuts = [(token[:at], token[at:]) for at in range(1, len(token))]
        known = sorted((ids[left], ids[right], left, right) for left, right in cuts if left in ids and right in ids)
        merges += [(spelled(left, letters), spelled(right, letters)) for _, _, left, right in known]
    return merges
