"""`assets/text-generation.json`: end tokens, context length and sampling defaults of a decoder."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from tools.builder.assets.reading import AssetError, field, read_object
from tools.builder.assets.tokenizer import token_id

_MOST_TOKEN_ID = 2**31 - 1
_CONTEXT_FIELDS = ("max_position_embeddings", "n_positions")
_NO_EFFECT = frozenset({  # on what a request without options generates here
    "_from_model_config", "bos_token_id", "cache_implementation", "decoder_start_token_id", "eos_token_id",
    "max_length", "max_new_tokens", "output_attentions", "output_hidden_states", "output_scores", "pad_token_id",
    "return_dict_in_generate", "transformers_version", "trust_remote_code", "use_cache",
})  # fmt: skip
_NEUTRAL: Mapping[str, tuple[Any, ...]] = {  # values with which a field changes nothing; any other is refused
    "diversity_penalty": (0, None), "early_stopping": (False, None), "encoder_no_repeat_ngram_size": (0, None),
    "epsilon_cutoff": (0, None), "eta_cutoff": (0, None), "forced_bos_token_id": (None,),
    "forced_eos_token_id": (None,), "length_penalty": (1, None), "min_length": (0, None), "min_new_tokens": (0, None),
    "no_repeat_ngram_size": (0, None), "num_beam_groups": (1, None), "num_beams": (1, None),
    "num_return_sequences": (1, None),
    "renormalize_logits": (False, None), "stop_strings": (None, []), "suppress_tokens": (None, []),
    "begin_suppress_tokens": (None, []), "bad_words_ids": (None, []), "typical_p": (1, None),
}  # fmt: skip
_RANGES: Mapping[str, tuple[type, float, float]] = {  # type, least, most
    "temperature": (float, 0, math.inf), "top_k": (int, 0, math.inf), "top_p": (float, 0, 1), "min_p": (float, 0, 1),
    "repetition_penalty": (float, 0, math.inf),
}  # fmt: skip


_ABOVE_ZERO = frozenset({"temperature", "repetition_penalty"})


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
        "defaults": _defaults(generation_path, generation),
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


def _as_the_reference_reads_it(generation: Mapping[str, Any]) -> Mapping[str, Any]:
    """Without the zeros that transformers never looks at, or that have a plain meaning there.

    A temperature of 0 beside greedy decoding is without effect (with sampling it is refused); a top_p of 0 keeps the
    most probable token alone.
    """
    read = dict(generation)
    if read.get("temperature") == 0 and not read.get("do_sample"):
        del read["temperature"]
    if read.get("top_p") == 0 and not isinstance(read["top_p"], bool):
        del read["top_p"]
        read["top_k"] = 1
    return read


def _defaults(path: Path, generation: Mapping[str, Any]) -> dict[str, Any]:
    defaults: dict[str, Any] = {}
    generation = _as_the_reference_reads_it(generation)
    for key, value in generation.items():
        if key in _NO_EFFECT or (key in _NEUTRAL and value in _NEUTRAL[key]) or value is None:
            continue
        if key == "do_sample":
            defaults["greedy"] = not field(path, generation, key, bool, False)
        elif key in _RANGES:
            kind, least, most = _RANGES[key]
            number = field(path, generation, key, kind, kind())
            if not least <= number <= most or not math.isfinite(number):
                raise AssetError(f"{path}: field {key!r} is {number}, outside {least} to {most}")
            if number == 0 and key in _ABOVE_ZERO:
                raise AssetError(f"{path}: field {key!r} is 0, but must be above 0")
            defaults[key] = number
        elif key in _NEUTRAL:
            raise AssetError(
                f"{path}: field {key!r} is {value!r}, which is not supported; "
                f"remove it, or set it to {_NEUTRAL[key][0]!r}"
            )
        else:
            raise AssetError(f"{path}: field {key!r} is not known; remove it if it has no effect on what is generated")
    return defaults
