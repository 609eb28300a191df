"""Fields of config.json that the tiny checkpoint leaves at one value, against the reference implementation."""

from pathlib import Path
from typing import Any

import pytest

from tools.builder.testing.variants import max_error


@pytest.mark.parametrize(
    "changes",
    [
        {"norm_topk_prob": ..., "mlp_only_layers": ..., "decoder_sparse_step": 2, "attention_bias": True},
        {"head_dim": ..., "use_sliding_window": True, "sliding_window": 7, "tie_word_embeddings": True},
    ],
)
def test_EachOptionAgreesWithTheReference(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert max_error(Path(__file__).parent, changes, tmp_path) <= 1e-4
