from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tools.builder.checkpoint import Checkpoint
from tools.builder.config import ConfigError
from tools.builder.decoders import attention, begin, each_layer, embed, experts, gated_mlp, head_size, logits
from tools.builder.graph import Graph, Value
from tools.builder.layers import DecoderInputs
from tools.builder.rope import Rope
from tools.builder.testing.safetensors_files import checkpoint_folder, zeros
from tools.builder.weights import Ledger, WeightError, Weights


def test_AHeadIsAsStatedElseAShareOfTheHiddenSize() -> None:
    assert head_size(64, 4) == 16
    assert head_size(64, 5, 24) == 24
    for heads in (5, 0):
        with pytest.raises(ConfigError, match=f"hidden_size 64 does not divide into num_attention_heads {heads}"):
            head_size(64, heads)


@dataclass(frozen=True)
class Shape:
    hidden_size: int = 12
    num_hidden_layers: int = 2
    num_attention_heads: int = 3
    num_key_value_heads: int | None = None
    head_dim: int | None = None
    max_position_embeddings: int = 5
    rope: Rope = field(default_factory=Rope)


def test_ADecoderBeginsWithInputsCacheAndTable() -> None:
    g = Graph("g")
    _, cache, rope = begin(g, Shape())
    assert (cache.layers, cache.heads, cache.head_dim) == (2, 3, 4)
    assert [value.shape for value in rope] == [(5, 2), (5, 2)]
    assert [port.name for port in g.inputs][0] == "input_ids"
    _, cache, _ = begin(Graph("g"), Shape(num_key_value_heads=1, head_dim=6))
    assert (cache.heads, cache.head_dim) == (1, 6)


def frame(folder: Path) -> tuple[Graph, DecoderInputs, Weights]:
    g = Graph("g")
    tensors = zeros(model__embed_tokens__weight=(10, 8), model__norm__weight=(8,))
    for name, shape in {"q_proj": (8, 8), "k_proj": (4, 8), "v_proj": (4, 8), "o_proj": (8, 8)}.items():
        tensors |= zeros(**{f"model__layers__0__attn__{name}__weight": shape})
        tensors |= zeros(**{f"model__layers__0__attn__{name}__bias": shape[:1]}) if name != "o_proj" else {}
    for name, shape in {"gate_proj": (12, 8), "up_proj": (12, 8), "down_proj": (8, 12)}.items():
        tensors |= zeros(**{f"model__layers__0__mlp__{name}__weight": shape})
    return g, DecoderInputs.declare(g), Weights(g, Ledger(Checkpoint.open(checkpoint_folder(folder, {}, tensors))))


def recorded(g: Graph) -> list[str]:
    return [node.op for node in g.nodes]


def test_TheFrameRecordsEachLayerUnderItsName(tmp_path: Path) -> None:
    g, t, w = frame(tmp_path)
    x, head = embed(t, w, None)
    layers: list[int] = []
    for i, layer in each_layer(g, w, 1):
        layers.append(i)
        x = x + gated_mlp(x, layer["mlp"])
    g.output("logits", logits(x, t, w["model.norm.weight"], head, 1e-6))
    assert layers == [0]
    assert {node.scope for node in g.nodes} == {"", "layers.0"}
    assert [str(d) for d in g.outputs[0].value.shape] == ["batch", "kept", "10"]


def heads(g: Graph, t: DecoderInputs, w: Weights, rope: bool, **options: object) -> Value:
    cache = g.kv_cache(layers=1, heads=2, head_dim=2)
    x, _ = embed(t, w, None)
    table = Rope().table(g, 2, 5) if rope else None
    return attention(t, cache[0], x, w["model.layers.0.attn"], 4, table, **options)  # type: ignore[arg-type]


def test_AttentionWithBiasButNoneOnItsOutput(tmp_path: Path) -> None:
    g, t, w = frame(tmp_path)
    y = heads(g, t, w, True, bias=True, out_bias=False, window=3)
    assert [str(d) for d in y.shape] == ["batch", "tokens", "8"]
    (node,) = [node for node in g.nodes if node.op == "cached_attention"]
    assert node.attrs == {"cache": "kv", "layer": 0, "scale": 2**-0.5, "window": 3}
    assert recorded(g).count("rope") == 2
    with pytest.raises(WeightError, match="o_proj.bias"):
        heads(*frame(tmp_path), True, bias=True)


def test_AttentionWithoutARopeTurnsNothing(tmp_path: Path) -> None:
    g, t, w = frame(tmp_path)
    heads(g, t, w, False, scale=0.5)
    assert "rope" not in recorded(g)
    assert [n.attrs["scale"] for n in g.nodes if n.op == "cached_attention"] == [0.5]


@pytest.mark.parametrize("stacked", [False, True])
def test_ExpertsAreReadOneByOneOrStacked(tmp_path: Path, stacked: bool) -> None:
    shapes = {"w1": (5, 4), "w3": (5, 4), "w2": (4, 5)}
    single = {f"experts__{i}__{name}__weight": shape for i in range(3) for name, shape in shapes.items()}
    tensors = zeros(**({"experts__gate_up_proj": (3, 10, 4), "experts__down_proj": (3, 4, 5)} if stacked else single))
    ledger = Ledger(Checkpoint.open(checkpoint_folder(tmp_path, {}, tensors)))
    found = experts(Weights(Graph("g"), ledger)["experts"], 3, ("w1", "w3", "w2"))
    assert [str(w.value.type) for w in found] == ["f32[3,5,4]", "f32[3,5,4]", "f32[3,4,5]"]
    ledger.check()
