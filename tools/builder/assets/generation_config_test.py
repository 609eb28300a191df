"""A generation_config.json is carried, left out with a warning, or refused by the field's name; real ones are taken."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

import pytest
import transformers

from tools.builder.assets import generation_config as kinds
from tools.builder.assets.generation_config import generation_defaults
from tools.builder.assets.reading import AssetError

PATH = Path("generation_config.json")
REAL: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "Qwen2.5-0.5B-Instruct": (
        {
            "bos_token_id": 151643, "pad_token_id": 151643, "do_sample": True, "eos_token_id": [151645, 151643],
            "repetition_penalty": 1.1, "temperature": 0.7, "top_p": 0.8, "top_k": 20, "transformers_version": "4.37.0",
        },
        {"greedy": False, "repetition_penalty": 1.1, "temperature": 0.7, "top_p": 0.8, "top_k": 20},
    ),
    "Llama-3.2-1B-Instruct": (
        {
            "bos_token_id": 128000, "do_sample": True, "eos_token_id": [128001, 128008, 128009], "temperature": 0.6,
            "top_p": 0.9, "transformers_version": "4.45.0.dev0",
        },
        {"greedy": False, "temperature": 0.6, "top_p": 0.9},
    ),
    "gemma-3-270m-it": (
        {
            "bos_token_id": 2, "cache_implementation": "hybrid", "do_sample": True, "eos_token_id": [1, 106],
            "pad_token_id": 0, "top_k": 64, "top_p": 0.95, "transformers_version": "4.55.0.dev0",
        },
        {"greedy": False, "top_k": 64, "top_p": 0.95},
    ),
    "Phi-3-mini-4k-instruct": (
        {
            "_from_model_config": True, "bos_token_id": 1, "eos_token_id": [32000, 32001, 32007],
            "pad_token_id": 32000, "transformers_version": "4.39.3",
        },
        {},
    ),
    "Qwen-1_8B-Chat": (
        {
            "chat_format": "chatml", "eos_token_id": 151643, "pad_token_id": 151643, "max_window_size": 6144,
            "max_new_tokens": 512, "do_sample": True, "top_k": 0, "top_p": 0.8, "repetition_penalty": 1.1,
            "transformers_version": "4.31.0",
        },
        {"greedy": False, "top_k": 0, "top_p": 0.8, "repetition_penalty": 1.1},
    ),
    "like BART's for summaries": (
        {
            "_from_model_config": True, "bos_token_id": 0, "decoder_start_token_id": 2, "early_stopping": True,
            "eos_token_id": 2, "forced_bos_token_id": 0, "forced_eos_token_id": 2, "length_penalty": 2.0,
            "max_length": 142, "min_length": 56, "num_beams": 4, "pad_token_id": 1, "no_repeat_ngram_size": 0,
        },
        {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REAL)
def test_real_files_are_taken(name: str) -> None:
    given, want = REAL[name]
    assert generation_defaults(PATH, given) == want


def _messages(given: dict[str, Any], caplog: pytest.LogCaptureFixture) -> list[str]:
    with caplog.at_level(logging.WARNING, "mconnect"):
        generation_defaults(PATH, given)
    return [record.getMessage() for record in caplog.records]


def test_what_a_request_asks_for_itself_is_left_out_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    said = _messages({"num_beams": 4, "length_penalty": 2.0, "min_new_tokens": 3, "stop_strings": "x"}, caplog)
    assert said[0] == (
        "generation_config.json: field 'num_beams' is 4: it is not a default of the bundle; "
        "give each request num_beams (--num-beams)"
    )
    assert ["(--length-penalty)" in said[1], "(--min-new-tokens)" in said[2], "(--stop)" in said[3]] == [True] * 3


@pytest.mark.parametrize(
    "given",
    [
        {"length_penalty": 2.0, "early_stopping": True},
        {"num_beams": 1, "early_stopping": "never", "num_return_sequences": 1, "stop_strings": []},
        {"temperature": 0.0, "do_sample": False, "typical_p": 0.5, "no_repeat_ngram_size": 0, "guidance_scale": 1.0},
        {"max_length": 20, "max_new_tokens": 10**30, "use_cache": False, "suppress_tokens": None},
    ],
)
def test_what_changes_nothing_is_left_out_silently(given: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    assert _messages(given, caplog) == []


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"novel_option": [1] * 99}, r"'novel_option' is .*\.\.\.: the reference library does not know this field"),
        ({"num_beam_groups": 2}, "'num_beam_groups' is 2: it has no effect without beam search"),
        ({"forced_eos_token_id": 2}, "'forced_eos_token_id' is 2: it has no effect"),
    ],
)
def test_what_has_no_effect_here_is_left_out_with_a_warning(
    given: dict[str, Any], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    (said,) = _messages(given, caplog)
    assert re.search(reason, said)


def test_numbers_are_carried_as_what_they_are() -> None:
    defaults = generation_defaults(PATH, {"temperature": 1, "top_k": 5, "top_p": 1, "do_sample": True})
    assert defaults == {"temperature": 1.0, "top_k": 5, "top_p": 1.0, "greedy": False}
    assert [type(defaults[key]) for key in ("temperature", "top_k", "top_p")] == [float, int, float]


def test_zeros_mean_what_they_mean_to_the_reference() -> None:
    assert generation_defaults(PATH, {"temperature": 0.0, "do_sample": False}) == {"greedy": True}
    assert generation_defaults(PATH, {"top_p": 0.0, "top_k": 50}) == {"top_k": 1}


NAN, INFINITY = float("nan"), float("inf")
IMPOSSIBLE: dict[str, list[Any]] = {
    "do_sample": [1, "true", NAN],
    "temperature": [-1, "1", True, NAN, INFINITY, 1e300, 1e-300, [1], 10**400],
    "top_k": [1e20, 10**20, -1, 0.5, 50.0, "50", True, NAN],
    "top_p": [1.5, -0.1, "1", True, NAN],
    "min_p": [2, -1, NAN, "0"],
    "repetition_penalty": [0, -1, 1e39, 1e-60, "1", NAN],
    "num_beams": [0, -1, "4", 4.0, True],
    "length_penalty": ["1", INFINITY, NAN, True],
    "early_stopping": [1, "always"],
    "num_return_sequences": [0, 1.5],
    "min_length": [-1, "0"],
    "min_new_tokens": [-1, 0.5],
    "max_time": [0, -1, "1"],
    "max_length": ["20", 1e20, True],
    "max_new_tokens": ["20", 20.0],
    "stop_strings": [1, [1]],
    "typical_p": [2, "1"],
    "diversity_penalty": ["1", NAN],
}


@pytest.mark.parametrize("key", IMPOSSIBLE)
def test_an_impossible_value_is_refused_by_the_fields_name(key: str) -> None:
    for value in IMPOSSIBLE[key]:
        with pytest.raises(AssetError, match=f"generation_config.json: field '{key}' is .*; it must be "):
            generation_defaults(PATH, {key: value})


def test_a_temperature_of_0_is_refused_where_it_is_used() -> None:
    with pytest.raises(AssetError, match="field 'temperature' is 0; it must be a number above 0"):
        generation_defaults(PATH, {"temperature": 0, "do_sample": True})


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (
            {"no_repeat_ngram_size": 3},
            "'no_repeat_ngram_size' is 3, which changes the text .*remove it, or set it to 0",
        ),
        ({"suppress_tokens": [5]}, r"'suppress_tokens' is \[5\], which changes the text"),
        ({"watermarking_config": {}}, "'watermarking_config' is {}, which changes .*; remove it$"),
        ({"token_healing": True}, "'token_healing' is True, which changes .* set it to False"),
        ({"no_repeat_ngram_size": False}, "'no_repeat_ngram_size' is False"),
        ({"typical_p": 0.9, "do_sample": True}, "'typical_p' is 0.9, which changes the text and is not supported"),
    ],
)
def test_what_changes_the_text_and_is_not_supported_is_refused(given: dict[str, Any], reason: str) -> None:
    with pytest.raises(AssetError, match=reason):
        generation_defaults(PATH, given)


def test_every_field_of_the_reference_library_is_of_one_kind() -> None:
    fields = list(vars(transformers.GenerationConfig()))  # type: ignore[no-untyped-call]
    tables = (
        kinds.CARRIED, kinds.IN_REQUESTS, kinds.WITHOUT_EFFECT, kinds.IGNORED_WITH_BEAMS, kinds.OF_SAMPLING,
        kinds.UNSUPPORTED,
    )  # fmt: skip
    assert {field: sum(field in table for table in tables) for field in fields} == dict.fromkeys(fields, 1)
