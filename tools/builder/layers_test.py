from pathlib import Path

import pytest

from tools.builder.checkpoint import Checkpoint
from tools.builder.dims import Dim
from tools.builder.graph import Graph, GraphError
from tools.builder.layers import DecoderInputs, activation, layer_norm, linear, merge_heads, split_heads
from tools.builder.testing.safetensors_files import checkpoint_folder, zeros
from tools.builder.weights import Ledger, Weights


def test_HeadsSplitAndMerge() -> None:
    g = Graph("g")
    x = g.input("x", "f32", ("batch", "tokens", 12))
    heads = split_heads(x, 3)
    assert heads.shape == (Dim.of("batch"), 3, Dim.of("tokens"), 4)
    assert merge_heads(heads).shape == x.shape
    with pytest.raises(GraphError, match="12 does not divide into 5 heads"):
        split_heads(x, 5)
    for impossible in (0, -3):
        with pytest.raises(GraphError, match=f"12 does not divide into {impossible} heads"):
            split_heads(x, impossible)


def test_DecoderInputsFollowTheConvention() -> None:
    g = Graph("g")
    DecoderInputs.declare(g)
    assert [f"{p.name} {p.value.type}" for p in g.inputs] == [
        "input_ids i64[batch,tokens]",
        "attention_mask i64[batch,past+tokens]",
        "position_ids i64[batch,tokens]",
        "beam_idx i32[batch]",
        "logits_to_keep i64[1]",
    ]


def weights(g: Graph, folder: Path) -> Weights:
    tensors = zeros(fc__weight=(3, 4), fc__bias=(3,), new__weight=(4,), new__bias=(4,), old__gamma=(4,), old__beta=(4,))
    return Weights(g, Ledger(Checkpoint.open(checkpoint_folder(folder, {}, tensors))))


def test_LinearTakesTheBiasWhereTheArchitectureHasOne(tmp_path: Path) -> None:
    g = Graph("g")
    w, x = weights(g, tmp_path), g.input("x", "f32", ("batch", 4))
    linear(x, w["fc"], bias=False)
    assert [p.name for p in g.weights] == ["fc.weight"]
    assert linear(x, w["fc"]).shape[-1] == 3
    assert [p.name for p in g.weights] == ["fc.weight", "fc.bias"]


@pytest.mark.parametrize("scope, names", [("new", ["new.weight", "new.bias"]), ("old", ["old.gamma", "old.beta"])])
def test_LayerNormKnowsItsOldNames(tmp_path: Path, scope: str, names: list[str]) -> None:
    g = Graph("g")
    layer_norm(g.input("x", "f32", ("batch", 4)), weights(g, tmp_path)[scope], 1e-5)
    assert [p.name for p in g.weights] == names


def test_ActivationsByTheNameInTheConfig() -> None:
    g = Graph("g")
    x = g.input("x", "f32", (1,))
    for name in ("gelu", "gelu_new", "gelu_pytorch_tanh", "relu", "silu", "swish", "tanh"):
        activation(x, name)
    assert [(n.op, n.attrs.get("approximate")) for n in g.nodes] == [
        ("gelu", "none"),
        ("gelu", "tanh"),
        ("gelu", "tanh"),
        ("relu", None),
        ("silu", None),
        ("silu", None),
        ("tanh", None),
    ]
