"""A small uncased WordPiece tokenizer (Devlin et al., 2018) as `tokenizer.json`."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import Any

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def make(vocab_size: int, text: str) -> dict[str, Any]:
    """`tokenizer.json` with at most `vocab_size` entries: special tokens, characters alone and as continuations, then
    words.

    Raises `ValueError` where `vocab_size` has no room for the characters of `text`.
    """
    plain = "".join(c for c in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(c) != "Mn")
    characters = sorted({c for c in plain if not c.isspace()})
    tokens = [*SPECIAL, *characters, *("##" + c for c in characters if c.isalnum())]
    if len(tokens) > vocab_size:
        raise ValueError(f"vocab_size is {vocab_size}; the characters of the text need {len(tokens)}")
    words = Counter(re.findall(r"[a-z]{2,}", plain))
    ranked = sorted(words, key=lambda word: (-words[word], word))
    endings = Counter(word[i:] for word in words for i in (len(word) - 2, len(word) - 3) if i > 0)
    suffixes = ["##" + ending for ending, n in sorted(endings.items(), key=lambda e: (-e[1], e[0])) if n > 2]
    tokens = list(dict.fromkeys(tokens + suffixes + ranked))[:vocab_size]
    ids = {token: id for id, token in enumerate(tokens)}
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    cls, sep = ({"SpecialToken": {"id": name, "type_id": 0}} for name in ("[CLS]", "[SEP]"))
    a, b = ({"Sequence": {"id": name, "type_id": i}} for i, name in enumerate("AB"))
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": ids[name], "content": name, "special": True} | flags for name in SPECIAL],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [cls, a, sep],
            "pair": [cls, a, sep, b, {"SpecialToken": {"id": "[SEP]", "type_id": 1}}],
            "special_tokens": {n: {"id": n, "ids": [ids[n]], "tokens": [n]} for n in ("[CLS]", "[SEP]")},
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": ids,
        },
    }
