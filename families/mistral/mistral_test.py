"""Fields of config.json that the tiny checkpoint leaves at one value, against the reference implementation."""

from pathlib import Path
from typing import Any

import pytest

from tools.builder.testing.variants import max_error


@pytest.mark.parametrize(
    "changes",
    [
        {"sliding_window": None, "head_dim": 24, "num_key_value_heads": 4, "tie_word_embeddings": True},
        {"sliding_window": ..., "rope_scaling": {"rope_type": "linear", "factor": 2.0}},
        {"sliding_window": 1},
    ],
)
def test_EachOptionAgreesWithTheReference(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert max_error(Path(__file__).parent, changes, tmp_path) <= 1e-4
