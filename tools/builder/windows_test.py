from typing import Any

import pytest

from tools.builder.config import ConfigError
from tools.builder.windows import FULL, SLIDING, Windows

QWEN: dict[str, Any] = {
    "sliding_window": 4096,
    "use_sliding_window": False,
    "max_window_layers": 28,
    "layer_types": None,
}
GEMMA: dict[str, Any] = {"sliding_window": 4096, "sliding_window_pattern": 6, "layer_types": None}
MISTRAL: dict[str, Any] = {"sliding_window": 4096}


@pytest.mark.parametrize(
    "dialect, raw, want",
    [
        (MISTRAL, {}, (4096, 4096, 4096)),
        (MISTRAL, {"sliding_window": None}, (None, None, None)),
        (MISTRAL, {"sliding_window": 8, "use_sliding_window": False, "max_window_layers": 1}, (8, 8, 8)),
        (MISTRAL, {"sliding_window": 8, "layer_types": [SLIDING] * 3}, (8, 8, 8)),
        (QWEN, {}, (None, None, None)),
        (QWEN, {"sliding_window": 8, "max_window_layers": 1}, (None, None, None)),
        (QWEN, {"sliding_window": 8, "use_sliding_window": True}, (None, None, None)),
        (QWEN, {"sliding_window": 8, "use_sliding_window": True, "max_window_layers": 1}, (None, 8, 8)),
        (QWEN, {"use_sliding_window": True, "layer_types": [SLIDING, FULL, SLIDING]}, (4096, None, 4096)),
        (QWEN, {"layer_types": None}, (None, None, None)),
        (GEMMA, {}, (4096, 4096, 4096)),
        (GEMMA, {"sliding_window": 5, "sliding_window_pattern": 2}, (5, None, 5)),
        (GEMMA, {"sliding_window": 5, "layer_types": [FULL, SLIDING, FULL]}, (None, 5, None)),
    ],
)  # fmt: skip
def test_ReadsEveryDialect(dialect: dict[str, Any], raw: dict[str, Any], want: tuple[int | None, ...]) -> None:
    assert Windows.read({"num_hidden_layers": 3, **raw}, **dialect).sizes == want


@pytest.mark.parametrize(
    "dialect, raw, reason",
    [
        (MISTRAL, {"sliding_window": 0}, "sliding_window is 0; it must be an integer of at least 1"),
        (MISTRAL, {"sliding_window": 4.5}, "sliding_window is 4.5"),
        (MISTRAL, {"layer_types": [FULL] * 3}, "layer_types is .* its other fields make them"),
        (QWEN, {"use_sliding_window": 1}, "use_sliding_window is 1; it must be true or false"),
        (QWEN, {"layer_types": [SLIDING] * 3}, "layer_types has 'sliding_attention' and use_sliding_window is false"),
        (QWEN, {"layer_types": [FULL] * 2}, "must be a list of num_hidden_layers 3"),
        (QWEN, {"layer_types": "full"}, "layer_types is 'full'"),
        (QWEN, {"layer_types": [FULL, "chunked_attention", FULL]}, r"layer_types\[1\] is 'chunked_attention'"),
        (QWEN, {"use_sliding_window": True, "max_window_layers": -1}, "max_window_layers is -1"),
        (GEMMA, {"sliding_window_pattern": 0}, "sliding_window_pattern is 0"),
        (GEMMA, {"sliding_window": None, "layer_types": [SLIDING] * 3}, "and sliding_window is null"),
        (GEMMA, {"num_hidden_layers": None}, "num_hidden_layers is None"),
    ],
)
def test_WhatItCannotInterpretIsNamed(dialect: dict[str, Any], raw: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        Windows.read({"num_hidden_layers": 3, **raw}, **dialect)
