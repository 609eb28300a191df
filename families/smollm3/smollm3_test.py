"""Fields of config.json that the tiny checkpoint leaves at one value, against the reference implementation."""

from pathlib import Path
from typing import Any

import pytest

from tools.builder.testing.variants import max_error


@pytest.mark.parametrize(
    "changes",
    [
        {"use_sliding_window": False, "no_rope_layers": [0, 1, 1, 1], "attention_bias": True, "mlp_bias": True},
        {"layer_types": ["sliding_attention", "full_attention"] * 2, "rope_theta": ..., "tie_word_embeddings": False},
    ],
)
def test_EachOptionAgreesWithTheReference(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert max_error(Path(__file__).parent, changes, tmp_path) <= 1e-4
