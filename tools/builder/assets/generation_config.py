"""The sampling defaults of a decoder, from generation_config.json.

A bundle carries how tokens are drawn (`CARRIED`). What else the file may say falls into four kinds: what a request asks
for itself (`IN_REQUESTS`), which is left out with a warning; what has no effect here; what has one with sampling alone;
and what changes every text and is not supported, which is refused unless its value changes nothing. A field that the
reference library does not know is one that it ignores, and so is it here, with a warning. Fields and their meaning:
transformers 5.24, `GenerationConfig`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tools.builder.assets.reading import AssetError, shown

_LOG = logging.getLogger("mconnect.builder")
_MOST = 2**31 - 1

Check = Callable[[Any], bool]
Rule = tuple[Check, str]
"""Whether a value is possible, and what it must be in words."""


def _number(check: Check, words: str) -> Rule:
    def possible(value: Any) -> bool:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        # A request's numbers are f32 or f64 in the runtime; what is 0 or infinite in f32 is no number there.
        return is_number and abs(value) <= float(np.finfo(np.float32).max) and check(value)

    return possible, words


def _integer(least: int) -> Rule:
    def possible(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and least <= value <= _MOST

    return possible, f"an integer from {least} to {_MOST}"


_ABOVE_ZERO = _number(lambda value: bool(np.float32(value) > 0), "a number above 0 that f32 holds")
_FINITE = _number(lambda value: True, "a finite number")
_SHARE = _number(lambda value: 0 <= value <= 1, "a number from 0 to 1")
_BOOL: Rule = (lambda value: isinstance(value, bool), "true or false")
_TEXTS: Rule = (
    lambda value: isinstance(value, str) or (isinstance(value, list) and all(isinstance(item, str) for item in value)),
    "a text or a list of texts",
)
_STOPPING: Rule = (lambda value: isinstance(value, bool) or value == "never", 'true, false or "never"')
_LENGTH: Rule = (lambda value: isinstance(value, int) and not isinstance(value, bool), "an integer")
_ANY: Rule = (lambda value: True, "")

CARRIED: Mapping[str, Rule] = {
    "do_sample": _BOOL, "temperature": _ABOVE_ZERO, "top_k": _integer(0), "top_p": _SHARE, "min_p": _SHARE,
    "repetition_penalty": _ABOVE_ZERO,
}  # fmt: skip
IN_REQUESTS: Mapping[str, tuple[Rule, tuple[Any, ...], str]] = {  # rule, values without effect, the request's option
    "num_beams": (_integer(1), (1,), "num_beams"),
    "length_penalty": (_FINITE, (1,), "length_penalty"),
    "early_stopping": (_STOPPING, (False,), "early_stopping"),
    "num_return_sequences": (_integer(1), (1,), "n"),
    "min_length": (_integer(0), (0,), "min_new_tokens"),
    "min_new_tokens": (_integer(0), (0,), "min_new_tokens"),
    "max_time": (_ABOVE_ZERO, (), "timeout"),
    "stop_strings": (_TEXTS, ("", []), "stop"),
}  # fmt: skip
OF_BEAM_SEARCH = frozenset({"length_penalty", "early_stopping"})  # say nothing without `num_beams`
WITHOUT_EFFECT: Mapping[str, Rule] = {
    **dict.fromkeys(("max_length", "max_new_tokens"), _LENGTH),  # requests have a default of their own
    **dict.fromkeys((
        "_from_model_config", "assistant_confidence_threshold", "assistant_early_exit", "assistant_ensemble_weight",
        "assistant_lookbehind", "bos_token_id", "cache_config", "cache_implementation", "compile_config",
        "continuous_batching_config", "decoder_start_token_id", "disable_compile", "eos_token_id",
        "forced_bos_token_id", "is_assistant", "low_memory", "max_cache_len", "max_matching_ngram_size",
        "num_assistant_tokens", "num_assistant_tokens_schedule", "output_attentions", "output_hidden_states",
        "output_logits", "output_scores", "pad_token_id", "prefill_chunk_size", "prompt_lookup_num_tokens",
        "remove_invalid_values", "renormalize_logits", "return_dict_in_generate", "speculation_type",
        "target_lookbehind", "transformers_version", "trust_remote_code", "use_cache", "use_mtp",
    ), _ANY),
}  # fmt: skip
"""On the text that a request without options gets. Token ids are read elsewhere; a first token is forced on models with
an encoder alone; drafts of an assistant change how fast a text comes and not what it is."""
IGNORED_WITH_BEAMS: Mapping[str, Rule] = {
    "diversity_penalty": _FINITE, "num_beam_groups": _integer(1), "forced_eos_token_id": _ANY,
}  # fmt: skip
"""Groups of beams are none without beams, which a bundle does not carry; a last token is forced where `max_length` cuts
a text off, which counts for nothing here."""
OF_SAMPLING: Mapping[str, tuple[Rule, tuple[Any, ...]]] = {  # rule, values without effect
    "epsilon_cutoff": (_SHARE, (0,)), "eta_cutoff": (_SHARE, (0,)), "top_h": (_SHARE, (1,)),
    "typical_p": (_SHARE, (1,)),
}  # fmt: skip
UNSUPPORTED: Mapping[str, tuple[Any, ...]] = {  # values without effect
    "bad_words_ids": ([],), "begin_suppress_tokens": ([],), "constraints": ([],), "dola_layers": (),
    "encoder_no_repeat_ngram_size": (0,), "encoder_repetition_penalty": (1,), "exponential_decay_length_penalty": (),
    "force_words_ids": ([],), "guidance_scale": (1,), "no_repeat_ngram_size": (0,), "penalty_alpha": (0,),
    "sequence_bias": ([], {}), "suppress_tokens": ([],), "token_healing": (False,), "watermarking_config": (),
}  # fmt: skip


def generation_defaults(path: Path, generation: Mapping[str, Any]) -> dict[str, Any]:
    """The asset's `defaults`. Warns of what is left out. Raises AssetError naming the field for a value that is
    impossible and for one that changes the text and is not supported. A field that is null says nothing."""
    given = _as_the_reference_reads_it({key: value for key, value in generation.items() if value is not None})
    defaults: dict[str, Any] = {}
    for key, value in given.items():
        if key in CARRIED:
            _check(path, key, value, CARRIED[key])
            name = "greedy" if key == "do_sample" else key
            defaults[name] = not value if key == "do_sample" else value if key == "top_k" else float(value)
        elif key in IN_REQUESTS:
            rule, neutral, option = IN_REQUESTS[key]
            _check(path, key, value, rule)
            idle = key in OF_BEAM_SEARCH and given.get("num_beams", 1) == 1
            if not _is_one_of(value, neutral) and not idle:
                flag = "" if option == "early_stopping" else f" (--{option.replace('_', '-')})"
                _warn(path, key, value, f"it is not a default of the bundle; give each request {option}{flag}")
        elif key in OF_SAMPLING:
            rule, neutral = OF_SAMPLING[key]
            _check(path, key, value, rule)
            if not _is_one_of(value, neutral) and given.get("do_sample"):
                raise _unsupported(path, key, value, neutral)
        elif key in IGNORED_WITH_BEAMS:
            _check(path, key, value, IGNORED_WITH_BEAMS[key])
            _warn(path, key, value, "it has no effect without beam search or a maximal length, and is left out")
        elif key in WITHOUT_EFFECT:
            _check(path, key, value, WITHOUT_EFFECT[key])
        elif key not in UNSUPPORTED:
            _warn(path, key, value, "the reference library does not know this field, so it is left out")
        elif not _is_one_of(value, UNSUPPORTED[key]):
            raise _unsupported(path, key, value, UNSUPPORTED[key])
    return defaults


def _as_the_reference_reads_it(generation: dict[str, Any]) -> dict[str, Any]:
    """Without the zeros that transformers never looks at, or that have a plain meaning there.

    A temperature of 0 beside greedy decoding is without effect (with sampling it is refused); a top_p of 0 keeps the
    most probable token alone.
    """
    if generation.get("temperature") == 0 and not generation.get("do_sample"):
        del generation["temperature"]
    if generation.get("top_p") == 0 and not isinstance(generation["top_p"], bool):
        del generation["top_p"]
        generation["top_k"] = 1
    return generation


def _is_one_of(value: Any, neutral: tuple[Any, ...]) -> bool:
    return any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in neutral)


def _check(path: Path, key: str, value: Any, rule: Rule) -> None:
    possible, words = rule
    if not possible(value):
        raise AssetError(f"{path}: field {key!r} is {shown(value)}; it must be {words}")


def _unsupported(path: Path, key: str, value: Any, neutral: tuple[Any, ...]) -> AssetError:
    instead = f", or set it to {neutral[0]!r}" if neutral else ""
    return AssetError(
        f"{path}: field {key!r} is {shown(value)}, which changes the text and is not supported; remove it{instead}"
    )


def _warn(path: Path, key: str, value: Any, consequence: str) -> None:
    _LOG.warning("%s: field %r is %s: %s", path, key, shown(value), consequence)
