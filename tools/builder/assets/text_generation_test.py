"""text-generation.json says what the checkpoint's configs and tokenizer say, or the build fails naming the field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models

from tools.builder.assets.reading import AssetError
from tools.builder.assets.text_generation import text_generation

WORDS = ["<s>", "</s>", "<pad>", "<end>", "a"]


def _asset(folder: Path, config: Any = None, generation: Any = None, tokenizer: Any = None) -> dict[str, Any]:
    given = {
        "config.json": config or {"max_position_embeddings": 32},
        "generation_config.json": generation,
        "tokenizer_config.json": tokenizer,
    }
    for name, content in given.items():
        if content is not None:
            (folder / name).write_text(json.dumps(content))
    return text_generation(
        folder, Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="a"))
    )


def test_end_tokens_are_the_union_of_all_files(tmp_path: Path) -> None:
    asset = _asset(tmp_path, {"n_positions": 32, "eos_token_id": 1}, {"eos_token_id": [3, 1]}, {"eos_token": "a"})
    assert asset["eos_token_ids"] == [1, 3, 4]


def test_context_length_by_either_name(tmp_path: Path) -> None:
    assert _asset(tmp_path, {"n_positions": 99})["max_tokens"] == 99
    assert _asset(tmp_path, {"max_position_embeddings": 98})["max_tokens"] == 98


def test_defaults_hold_only_what_the_file_states(tmp_path: Path) -> None:
    assert _asset(tmp_path)["defaults"] == {}
    assert _asset(tmp_path, generation={"top_k": 20})["defaults"] == {"top_k": 20}


def test_generation_config_goes_before_config_and_tokenizer(tmp_path: Path) -> None:
    asset = _asset(
        tmp_path, {"n_positions": 9, "bos_token_id": 0, "pad_token_id": 2}, {"bos_token_id": 3}, {"bos_token": "a"}
    )
    assert (asset["bos_token_id"], asset["pad_token_id"]) == (3, 2)


def test_padding_falls_back_to_an_end_token(tmp_path: Path) -> None:
    assert _asset(tmp_path, {"n_positions": 9, "eos_token_id": 1})["pad_token_id"] == 1


def test_nothing_stated_gives_null_and_empty(tmp_path: Path) -> None:
    asset = _asset(tmp_path)
    assert (asset["bos_token_id"], asset["eos_token_ids"], asset["pad_token_id"]) == (None, [], 0)


@pytest.mark.parametrize(
    ("config", "generation", "reason"),
    [
        ({}, None, "states no context length"),
        ({"n_positions": "9"}, None, "'n_positions' is '9', not of type int"),
        ({"n_positions": 9, "eos_token_id": "x"}, None, "'eos_token_id' is 'x'"),
        ({"n_positions": 9, "eos_token_id": -1}, None, "'eos_token_id' has the token id -1, outside 0 to 2147483647"),
        ({"n_positions": 9, "eos_token_id": [1, 2**40]}, None, "'eos_token_id' has the token id 1099511627776"),
        ({"n_positions": 9, "eos_token_id": [[1]]}, None, "'eos_token_id' is .*, not a token id"),
        (None, {"top_k": -1}, "'top_k' is -1; it must be an integer from 0"),
    ],
)
def test_refuses_what_it_cannot_express(tmp_path: Path, config: Any, generation: Any, reason: str) -> None:
    with pytest.raises(AssetError, match=reason):
        _asset(tmp_path, config or None if config != {} else {"x": 1}, generation)
