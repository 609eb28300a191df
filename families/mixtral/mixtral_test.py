"""Fields of config.json that the tiny checkpoint leaves at one value, against the reference implementation."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from tools.builder.checkpoint import Checkpoint
from tools.builder.resolve import Family
from tools.builder.testing import cases
from tools.builder.testing.subjects import Oracle, ReferenceLowering
from tools.builder.testing.variants import max_error
from tools.builder.tiny.make_tiny import make_tiny
from tools.builder.weights import arrays


@pytest.mark.parametrize(
    "changes",
    [
        {"sliding_window": 7, "num_experts_per_tok": 1, "tie_word_embeddings": True},
        {"num_experts_per_tok": 5, "head_dim": 24, "rope_theta": ...},
    ],
)
def test_EachOptionAgreesWithTheReference(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert max_error(Path(__file__).parent, changes, tmp_path) <= 1e-4


def test_ExpertsOneByOneAreTheSameModel(tmp_path: Path) -> None:
    """Checkpoints made before transformers 5 hold each expert's matrices apart; the reference library reads both."""
    family, stacked, single = Family.open(Path(__file__).parent / "family.json"), tmp_path / "a", tmp_path / "b"
    make_tiny(family, json.loads((Path(__file__).parent / "tiny.json").read_text()), stacked)
    shutil.copytree(stacked, single)
    tensors: dict[str, Any] = {}
    for name, array in safetensors.numpy.load_file(stacked / "model.safetensors").items():
        old = name.replace(".mlp.", ".block_sparse_moe.")
        if name.endswith("gate_up_proj"):
            for i, expert in enumerate(array):
                w1, w3 = np.split(expert, 2)
                tensors |= {
                    old.replace("gate_up_proj", f"{i}.{part}.weight"): m for part, m in (("w1", w1), ("w3", w3))
                }
        elif name.endswith("experts.down_proj"):
            tensors |= {old.replace("down_proj", f"{i}.w2.weight"): expert for i, expert in enumerate(array)}
        else:
            tensors[old] = array
    contiguous = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    safetensors.numpy.save_file(contiguous, single / "model.safetensors", metadata={"format": "pt"})

    ids = cases.random_ids(6, (2, 9), 512)
    want = Oracle(single, "MixtralForCausalLM").logits(ids)
    assert cases.error(Oracle(stacked, "MixtralForCausalLM").logits(ids), want) == 0
    for folder in (stacked, single):
        checkpoint = Checkpoint.open(folder)
        (graph,) = family.record(checkpoint).values()
        subject = ReferenceLowering(graph, arrays(graph, checkpoint))
        assert cases.error(cases.DecoderRun(subject, [0, 0]).step(ids), want) <= 1e-4
