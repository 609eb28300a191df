"""Every rope variant against the reference library: frequencies and what multiplies cos and sin."""

from typing import Any

import numpy as np
import pytest
import transformers
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from tools.builder.rope import Rope

BASE: dict[str, Any] = {
    "num_hidden_layers": 1,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "max_position_embeddings": 4096,
    "rope_theta": 50000.0,
}
LONG = {
    "short_factor": [1.0 + i / 8 for i in range(8)],
    "long_factor": [2.0 + i for i in range(8)],
    "original_max_position_embeddings": 512,
}
VARIANTS: list[dict[str, Any]] = [
    {"rope_type": "linear", "factor": 4.0},
    {"rope_type": "dynamic", "factor": 2.0},
    {"type": "dynamic", "factor": 4},
    {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 128,
    },
    {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024},
    {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024, "truncate": False},
    {"rope_type": "yarn", "factor": 16.0, "beta_fast": 8, "beta_slow": 2, "attention_factor": 0.75},
    {"rope_type": "yarn", "factor": 40, "mscale": 1.0, "mscale_all_dim": 0.5, "original_max_position_embeddings": 4096},
    {"rope_type": "longrope", **LONG},
    {"rope_type": "longrope", "factor": 2.0, **LONG},
    {"rope_type": "longrope", "attention_factor": 1.25, **LONG},
]


@pytest.mark.parametrize("dialect", ["rope_scaling", "rope_parameters"])
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: "-".join(map(str, list(v.values())[:3])))
def test_FrequenciesAndScaleAreTheReferences(variant: dict[str, Any], dialect: str) -> None:
    raw = {**BASE, dialect: dict(variant)}
    kind = str(variant.get("rope_type", variant.get("type")))
    config = transformers.LlamaConfig(**{**BASE, dialect: dict(variant)})
    rope = Rope.read(raw)
    for length in [512, 4000] if kind == "longrope" else [None]:
        want, scale = ROPE_INIT_FUNCTIONS[kind](config, "cpu", seq_len=length)
        got = rope.frequencies(16, short=length == 512)
        np.testing.assert_allclose(got, want.numpy(), rtol=3e-7)
        assert rope.attention_scale == pytest.approx(scale, rel=1e-12)
