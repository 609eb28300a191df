"""Fields of config.json that the tiny checkpoint leaves at one value, against the reference implementation."""

from pathlib import Path
from typing import Any

import pytest

from tools.builder.testing.variants import max_error


@pytest.mark.parametrize(
    "changes",
    [
        {"embedding_multiplier": ..., "residual_multiplier": 1, "attention_multiplier": ..., "logits_scaling": ...},
        {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": False, "num_key_value_heads": ...},
    ],
)
def test_EachOptionAgreesWithTheReference(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert max_error(Path(__file__).parent, changes, tmp_path) <= 1e-4
