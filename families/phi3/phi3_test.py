"""Fields of config.json that the tiny checkpoint leaves at one value, against the reference implementation."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tools.builder.testing import cases
from tools.builder.testing.variants import max_error, opened


@pytest.mark.parametrize(
    "changes",
    [
        {"rope_scaling": ..., "partial_rotary_factor": ..., "sliding_window": ..., "num_key_value_heads": ...},
        {"tie_word_embeddings": False, "rope_theta": 100.0, "max_position_embeddings": 128},
    ],
)
def test_EachOptionAgreesWithTheReference(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert max_error(Path(__file__).parent, changes, tmp_path) <= 1e-4


@pytest.mark.parametrize("tokens", [16, 17, 23])
def test_ATextBeyondTheOriginalContextTurnsByTheLongFactors(tmp_path: Path, tokens: int) -> None:
    changes = {"original_max_position_embeddings": 16, "max_position_embeddings": 128}
    oracle, engines = opened(Path(__file__).parent, changes, tmp_path)
    ids = cases.random_ids(5, (1, tokens), 512)
    for subject in engines["decoder"].values():
        got = cases.DecoderRun(subject, [0]).step(ids)
        assert cases.error(got, oracle.logits(ids)) <= 1e-4
        beside_a_short_one = np.concatenate([ids, np.zeros_like(ids)])
        run = cases.DecoderRun(subject, [0, tokens - 3])
        assert cases.error(run.step(beside_a_short_one)[:1], got) <= 1e-5
