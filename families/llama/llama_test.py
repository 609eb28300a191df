"""Fields of config.json that the tiny checkpoint leaves at one value, against the reference implementation."""

from pathlib import Path
from typing import Any

import pytest

from tools.builder.testing.variants import max_error


@pytest.mark.parametrize(
    "changes",
    [
        {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True, "head_dim": 24},
        {"rope_scaling": {"type": "linear", "factor": 4.0}, "num_key_value_heads": 1},
        {"rope_scaling": ..., "rope_theta": ..., "num_key_value_heads": ...},
        {"rope_scaling": ..., "rope_theta": ..., "rope_parameters": {"rope_type": "default", "rope_theta": 1000.0}},
    ],
)
def test_EachOptionAgreesWithTheReference(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert max_error(Path(__file__).parent, changes, tmp_path) <= 1e-4
