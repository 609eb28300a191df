"""`assets/text-generation.json`: end tokens, context length and sampling defaults of a decoder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from tools.builder.assets.generation_config import generation_defaults
from tools.builder.assets.reading import AssetError, field, read_object
from tools.builder.assets.tokenizer import token_id

_MOST_TOKEN_ID = 2**31 - 1
_CONTEXT_FIELDS = ("max_position_embeddings", "n_positions")


def text_generation(folder: Path, tokenizer: Tokenizer) -> dict[str, Any]:
    """The asset for the checkpoint in `folder`. Raises AssetError naming the field that it cannot express.

    End tokens are the union of config.json's, generation_config.json's and the tokenizer's. Padding is the first token
    stated by generation_config.json, config.json or the tokenizer, else an end token, else 0: masked positions may hold
    any token.
    """
    config_path, generation_path = folder / "config.json", folder / "generation_config.json"
    config, generation = read_object(config_path), read_object(generation_path, optional=True)
    files = ((generation_path, generation), (config_path, config))
    ends: list[int] = []
    for path, values in files:
        ends += _ids(path, values, "eos_token_id", tokenizer)
    ends += _some(token_id(tokenizer, folder, "eos_token"))
    return {
        "bos_token_id": _first(folder, files, "bos_token", tokenizer),
        "defaults": generation_defaults(generation_path, generation),
        "eos_token_ids": sorted(set(ends)),
        "max_tokens": _context(config_path, config),
        "pad_token_id": next(iter([*_some(_first(folder, files, "pad_token", tokenizer)), *sorted(set(ends)), 0])),
    }


def _some(value: int | None) -> list[int]:
    return [] if value is None else [value]


def _first(
    folder: Path, files: tuple[tuple[Path, dict[str, Any]], ...], token: str, tokenizer: Tokenizer
) -> int | None:
    for path, values in files:
        if ids := _ids(path, values, f"{token}_id", tokenizer):
            return ids[0]
    return token_id(tokenizer, folder, token)


def _ids(path: Path, values: Mapping[str, Any], key: str, tokenizer: Tokenizer) -> list[int]:
    """The token ids of a field that is an id, a list of ids, null or absent."""
    value = values.get(key)
    ids = [] if value is None else value if isinstance(value, list) else [value]
    for id in ids:
        if not isinstance(id, int) or isinstance(id, bool):
            raise AssetError(f"{path}: field {key!r} is {value!r}, not a token id or a list of them")
        if not 0 <= id <= _MOST_TOKEN_ID:
            raise AssetError(f"{path}: field {key!r} has the token id {id}, outside 0 to {_MOST_TOKEN_ID}")
    return list(ids)


def _context(path: Path, config: Mapping[str, Any]) -> int:
    for key in _CONTEXT_FIELDS:
        if (length := field(path, config, key, int, 0)) > 0:
            return length
    raise AssetError(f"{path} states no context length: {' or '.join(_CONTEXT_FIELDS)} must be positive")
