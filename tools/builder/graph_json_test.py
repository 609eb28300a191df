import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.builder import ops
from tools.builder.graph import Graph, GraphError, Value


def decoder() -> Graph:
    g = Graph("decoder")
    ids = g.input("input_ids", "i64", ("batch", "tokens"))
    mask = g.input("attention_mask", "i64", ("batch", "past+tokens"))
    beam_idx = g.input("beam_idx", "i32", ("batch",))
    cache = g.kv_cache(layers=1, heads=2, head_dim=4)
    x = ops.embedding(ids, g.weight("é.weight", (10, 16)))
    with g.scope("layers.0"):
        q = ops.permute(ops.reshape(x, ("batch", "tokens", 4, 4)), (0, 2, 1, 3))
        kv = ops.slice(q, 1, 0, 2)
        y = ops.cached_attention(q, kv, kv, cache[0], attention_mask=mask, beam_idx=beam_idx, scale=0.1)
    g.output(
        "y", ops.linear(ops.reshape(ops.permute(y, (0, 2, 1, 3)), ("batch", "tokens", 16)), g.weight("w", (3, 16)))
    )
    return g


def test_ReadsBackWhatItWrote() -> None:
    text = decoder().to_json()
    again = Graph.from_json(text)
    assert again.to_json() == text
    assert [n.op for n in again.nodes] == [n.op for n in decoder().nodes]


def test_AReadGraphCanBeContinued() -> None:
    g = Graph.from_json(decoder().to_json())
    g.output("more", ops.silu(g.outputs[0].value))
    assert Graph.from_json(g.to_json()).to_json() == g.to_json()


_UNARY = ("silu", "relu", "tanh", "gelu", "softmax", "split", "reshape", "permute", "double", "square", "pair")


def step(kind: str, x: Value) -> Value:
    size = x.shape[-1]
    assert isinstance(size, int)
    if kind == "split":
        return ops.slice(x, -1, 0, max(1, size // 2))
    if kind == "reshape":
        return ops.reshape(x, (*x.shape[:-1], 1, size))
    if kind == "permute":
        return ops.permute(x, (*range(1, len(x.shape) - 1), 0, len(x.shape) - 1))
    if kind == "double":
        return ops.concat([x, x], -1)
    if kind == "square":
        return ops.matmul(x, x, transpose_b=True) if isinstance(x.shape[-2], int) else x * x
    return x + 0.5 if kind == "pair" else getattr(ops, kind)(x)


@given(st.lists(st.sampled_from(_UNARY), max_size=8), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_AnyRecordedGraphReadsBack(kinds: list[str], size: int) -> None:
    g = Graph("any")
    x = g.input("x", "f32", ("batch", 3, size))
    for kind in kinds:
        x = step(kind, x)
    g.output("y", x)
    assert Graph.from_json(g.to_json()).to_json() == g.to_json()


def damage(path: str, value: Any) -> str:
    body = json.loads(decoder().to_json())
    *parents, last = path.split("/")
    at = body
    for key in parents:
        at = at[int(key)] if isinstance(at, list) else at[key]
    at[int(last) if isinstance(at, list) else last] = value
    return json.dumps(body)


@pytest.mark.parametrize(
    "text, reason",
    [
        ("", "not JSON"),
        ("[" * 100000, "not JSON"),
        ("[]", "the graph has list"),
        ("{}", "must have exactly"),
        (damage("format", 2), "reads format 1"),
        (damage("format", True), "format of the graph is True"),
        (damage("extra", 1), "must have exactly"),
        (damage("nodes/0/op", "unknown"), "no such op"),
        (damage("nodes/0/inputs/0", "v99"), "uses 'v99', which nothing before it defines"),
        (damage("nodes/0/inputs/0", ["v0"]), "which nothing before it defines"),
        (damage("nodes/0/outputs/0/id", "v0"), "defines v0 twice"),
        (damage("nodes/0/outputs/0/id", "v77"), "uses 'v4'"),
        (damage("nodes/0/outputs/0/shape", ["batch", "tokens", 17]), r"states f32\[batch,tokens,17\]; its inputs give"),
        (damage("nodes/0/outputs", []), "its inputs give"),
        (damage("nodes/1/attrs/shape", ["batch", -1]), "negative"),
        (damage("nodes/1/attrs/shape", 3), "attribute shape"),
        (damage("nodes/1/attrs/more", 3), "unexpected keyword"),
        (damage("nodes/4/attrs/cache", "other"), "no cache 'other'"),
        (damage("nodes/4/attrs/layer", 1), "layers 0 to 0, not 1"),
        (damage("caches/0/heads", 3), "holds 3 heads of 4"),
        (damage("caches/0/layers", -1), "must be positive"),
        (damage("inputs/0/dtype", "int"), "dtype 'int'"),
        (damage("inputs/0/shape", ["no dimension"]), "dimension"),
        (damage("inputs/1/name", "input_ids"), "names input_ids twice"),
        (damage("outputs/0/value", "v98"), "uses 'v98'"),
        (damage("outputs/0/value", None), "value of an output is None"),
        (damage("weights/0/id", "v100"), "uses 'v3'"),
    ],
)
def test_RefusesADamagedGraph(text: str, reason: str) -> None:
    with pytest.raises(GraphError, match=reason):
        Graph.from_json(text)


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_DamageIsAnErrorAndNothingElse(data: st.DataObject) -> None:
    text = decoder().to_json()
    place = data.draw(st.integers(0, len(text) - 1))
    broken = text[:place] + data.draw(st.sampled_from(['"', "[", "null", "1", "-", "x", ""])) + text[place + 1 :]
    with contextlib.suppress(GraphError):
        Graph.from_json(broken).to_json()
