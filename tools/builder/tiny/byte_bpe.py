"""A small byte-level BPE tokenizer (Sennrich et al., 2016; Radford et al., 2019) as `tokenizer.json`, in three
dialects.

`gpt2`: GPT-2's own splitting. `qwen2`: NFC, digits one by one. `llama3`: digits in threes, words looked up whole
before merges, a begin-of-text token before every text.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from typing import Any

DIALECTS = ("gpt2", "qwen2", "llama3")
_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_TAIL = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_SPLIT = {
    "qwen2": _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + _TAIL,
    "llama3": _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}" + _TAIL,
}
SPECIAL = {
    "gpt2": ["<|endoftext|>"],
    "qwen2": ["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
    "llama3": ["<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"],
}
_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}


def make(dialect: str, vocab_size: int, text: str) -> dict[str, Any]:
    """`tokenizer.json` with at most `vocab_size` entries: 256 bytes, merges learnt from `text`, the dialect's special
    tokens.

    Raises `ValueError` where `vocab_size` has no room for bytes and special tokens.
    """
    special = SPECIAL[dialect]
    room = vocab_size - 256 - len(special)
    if room < 0:
        raise ValueError(f"vocab_size is {vocab_size}; {dialect} needs at least {256 + len(special)}")
    merges = _learn(text, room)
    alphabet = byte_alphabet()
    tokens = [alphabet[b] for b in range(256)] + [a + b for a, b in merges]
    added = [
        {"id": len(tokens) + i, "content": name, "special": True}
        | dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        for i, name in enumerate(special)
    ]
    split = {"type": "Split", "pattern": {"Regex": _SPLIT.get(dialect)}, "behavior": "Isolated", "invert": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": {"type": "NFC"} if dialect == "qwen2" else None,
        "pre_tokenizer": (
            _BYTE_LEVEL | {"use_regex": True, "trim_offsets": True}
            if dialect == "gpt2"
            else {"type": "Sequence", "pretokenizers": [split, _BYTE_LEVEL]}
        ),
        "post_processor": _prepend(special[0], len(tokens)) if dialect == "llama3" else _BYTE_LEVEL,
        "decoder": _BYTE_LEVEL | {"use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": "",
            "end_of_word_suffix": "",
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": dialect == "llama3",
            "vocab": {token: id for id, token in enumerate(tokens)},
            "merges": [list(pair) for pair in merges],
        },
    }


def byte_alphabet() -> list[str]:
    """GPT-2's printable character for each byte."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [b for b in range(256) if b not in printable]
    return [chr(b) if b in printable else chr(256 + others.index(b)) for b in range(256)]


def _learn(text: str, count: int) -> list[tuple[str, str]]:
    """Up to `count` merges; the most frequent pair first, the alphabetically first of equals."""
    alphabet = byte_alphabet()
    found = Counter(re.findall(r" ?[^\W\d_]+|\d| ?[^\s\w]+|\s+", text))
    words = {tuple(alphabet[b] for b in word.encode()): n for word, n in sorted(found.items())}
    merges: list[tuple[str, str]] = []
    known = set(alphabet)
    while len(merges) < count:
        pairs: Counter[tuple[str, str]] = Counter()
        for word, n in words.items():
            for pair in itertools.pairwise(word):
                pairs[pair] += n
        fresh = {pair: n for pair, n in pairs.items() if pair[0] + pair[1] not in known}
        if not fresh:
            break
        best = min(fresh, key=lambda pair: (-fresh[pair], pair))
        merges.append(best)
        known.add(best[0] + best[1])
        merged: dict[tuple[str, ...], int] = {}
        for word, n in words.items():
            merged[_merge(word, best)] = merged.get(_merge(word, best), 0) + n
        words = merged
    return merges


def _merge(word: tuple[str, ...], pair: tuple[str, str]) -> tuple[str, ...]:
    out: list[str] = []
    for symbol in word:
        if out and (out[-1], symbol) == pair:
            out[-1] += symbol
        else:
            out.append(symbol)
    return tuple(out)


def _prepend(token: str, id: int) -> dict[str, Any]:
    first = {"SpecialToken": {"id": token, "type_id": 0}}
    a, b = ({"Sequence": {"id": name, "type_id": i}} for i, name in enumerate("AB"))
    template = {
        "type": "TemplateProcessing",
        "single": [first, a],
        "pair": [first, a, {"SpecialToken": {"id": token, "type_id": 1}}, b],
        "special_tokens": {token: {"id": token, "ids": [id], "tokens": [token]}},
    }
    return {"type": "Sequence", "processors": [_BYTE_LEVEL, template]}
