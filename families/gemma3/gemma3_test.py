"""Fields of config.json that the tiny checkpoint leaves at one value, against the reference implementation."""

from pathlib import Path
from typing import Any

import pytest

from tools.builder.testing.variants import max_error


@pytest.mark.parametrize(
    "changes",
    [
        {"final_logit_softcapping": None, "sliding_window_pattern": ..., "attention_bias": True, "rope_scaling": None},
        {
            "sliding_window_pattern": ...,
            "layer_types": ["full_attention", "sliding_attention"] * 2,
            "rope_theta": ...,
            "rope_local_base_freq": ...,
            "rope_scaling": ...,
            "rope_parameters": {
                "full_attention": {"rope_type": "linear", "factor": 2.0, "rope_theta": 5000.0},
                "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
            },
            "tie_word_embeddings": False,
        },
    ],
)
def test_EachOptionAgreesWithTheReference(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert max_error(Path(__file__).parent, changes, tmp_path) <= 1e-4
