"""Fields of config.json that the tiny checkpoint leaves at one value, against the reference implementation."""

from pathlib import Path
from typing import Any

import pytest

from tools.builder.testing.variants import max_error


@pytest.mark.parametrize(
    "changes",
    [
        {"attention_bias": True, "num_key_value_heads": ..., "tie_word_embeddings": True},
        {"rope_theta": ..., "rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 1000.0}},
    ],
)
def test_EachOptionAgreesWithTheReference(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert max_error(Path(__file__).parent, changes, tmp_path) <= 1e-4
