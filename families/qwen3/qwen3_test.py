"""Fields of config.json that the tiny checkpoint leaves at one value, against the reference implementation."""

from pathlib import Path
from typing import Any

import pytest

from tools.builder.testing.variants import max_error


@pytest.mark.parametrize(
    "changes",
    [
        {"tie_word_embeddings": False, "attention_bias": True, "num_key_value_heads": 4},
        {"layer_types": ["full_attention"] * 3},
        {"use_sliding_window": True, "sliding_window": 7, "max_window_layers": 1},
    ],
)
def test_EachOptionAgreesWithTheReference(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert max_error(Path(__file__).parent, changes, tmp_path) <= 1e-4
