"""Fields of config.json that the tiny checkpoint leaves at one value, against the reference implementation."""

from pathlib import Path
from typing import Any

import pytest

from tools.builder.testing.variants import max_error

YARN = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}


@pytest.mark.parametrize(
    "changes",
    [
        {"use_sliding_window": ..., "tie_word_embeddings": False, "num_key_value_heads": 4},
        {"layer_types": ["full_attention", "sliding_attention"] * 2, "rope_scaling": YARN},
        {"rope_theta": ..., "rope_parameters": {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 1000.0}},
    ],
)
def test_EachOptionAgreesWithTheReference(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert max_error(Path(__file__).parent, changes, tmp_path) <= 1e-4
