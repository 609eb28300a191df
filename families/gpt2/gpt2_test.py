"""Fields of config.json that the tiny checkpoint leaves at one value, against the reference implementation."""

from pathlib import Path
from typing import Any

import pytest

from tools.builder.testing.variants import max_error


@pytest.mark.parametrize(
    "changes",
    [
        {"scale_attn_by_inverse_layer_idx": True, "activation_function": "gelu", "n_inner": 100},
        {"scale_attn_weights": False, "activation_function": "relu", "tie_word_embeddings": False},
    ],
)
def test_EachOptionAgreesWithTheReference(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert max_error(Path(__file__).parent, changes, tmp_path) <= 1e-4
