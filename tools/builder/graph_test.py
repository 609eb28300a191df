import hashlib
from pathlib import Path

import numpy as np
import pytest

from tools.builder import ops
from tools.builder.graph import Cache, Graph, GraphError


def small() -> Graph:
    g = Graph("encoder")
    ids = g.input("input_ids", "i64", ("batch", "tokens"))
    with g.scope("embed"), g.scope("words"):
        x = ops.embedding(ids, g.weight("e.weight", (10, 4)))
    g.output("y", x * 2.0)
    return g


def test_RecordsValuesInOrder() -> None:
    g = small()
    assert [p.value.id for p in [*g.inputs, *g.weights]] == ["v0", "v1", "v3"]
    assert [(n.op, n.scope, [v.id for v in n.inputs if v]) for n in g.nodes] == [
        ("embedding", "embed.words", ["v0", "v1"]),
        ("mul", "", ["v2", "v3"]),
    ]
    assert g.outputs[0].value.shape == (*g.inputs[0].value.shape, 4)


def test_JsonIsCanonical() -> None:
    text = small().to_json()
    assert text == small().to_json()
    assert text.endswith("]}\n") and ": " not in text and text.startswith('{"caches":[],"format":1,')
    assert small().digest() == hashlib.sha256(text.encode()).hexdigest()


def test_AMistakeNamesOpShapesAndLine() -> None:
    g = Graph("g")
    x = g.input("x", "f32", ("batch", 16))
    with pytest.raises(GraphError) as caught:
        ops.linear(x, g.weight("w", (8, 32)))  # this line
    line = next(
        i for i, text in enumerate(Path(__file__).read_text().splitlines(), 1) if text.endswith("# this " + "line")
    )
    message = str(caught.value)
    assert message.startswith(f"linear at tools/builder/graph_test.py:{line}: ")
    assert "x f32[batch,16], weight f32[8,32]" in message
    assert "the last dimension of x is 16 and the weight takes 32" in message


def test_AMistakeIsNotRecorded() -> None:
    g = small()
    before = g.to_json()
    with pytest.raises(GraphError):
        ops.permute(g.outputs[0].value, (0, 0))
    assert g.to_json() == before


def test_RefusesAValueOfAnotherGraph() -> None:
    g, other = small(), Graph("other")
    with pytest.raises(GraphError, match="belongs to the graph encoder, not to other"):
        other.record("silu", [g.outputs[0].value])


def test_RefusesAnUnknownOp() -> None:
    with pytest.raises(GraphError, match="there is no such op; the ops are add, "):
        small().record("frobnicate", [])


@pytest.mark.parametrize("kind", ["input", "output", "cache"])
def test_RefusesANameTwice(kind: str) -> None:
    g = small()
    g.kv_cache(layers=1, heads=1, head_dim=2)
    with pytest.raises(GraphError, match=f"{kind} .* is declared twice"):
        if kind == "input":
            g.input("input_ids", "i64", ("batch",))
        elif kind == "output":
            g.output("y", g.outputs[0].value)
        else:
            g.kv_cache(layers=1, heads=1, head_dim=2)


def test_AWeightIsOneValue() -> None:
    g = small()
    assert g.weight("e.weight", (10, 4)) is g.weights[0].value
    with pytest.raises(GraphError, match=r"e.weight is f32\[10,4\] and was asked for as f32\[4,10\]"):
        g.weight("e.weight", (4, 10))


def test_RefusesUnknownDtypesAndShapes() -> None:
    with pytest.raises(GraphError, match="dtype 'float'"):
        Graph("g").input("x", "float", (1,))
    with pytest.raises(GraphError, match="input x: dimension -1"):
        Graph("g").input("x", "f32", (-1,))


def test_ConstantsAreWeightsWithValues() -> None:
    g = Graph("g")
    table = np.arange(6, dtype=np.float32).reshape(2, 3)
    value = g.constant("table", table)
    name = g.weights[0].name
    assert name.startswith("constant.table.") and (value.shape, value.dtype) == ((2, 3), "f32")
    assert g.constant("table", table.copy()) is value
    assert g.constants[name] is table
    other = g.constant("table", table + 1)
    assert other is not value and len(g.constants) == 2
    with pytest.raises(GraphError, match="float64"):
        g.constant("wide", np.zeros(1))


def test_EqualScalarsAreOneConstant() -> None:
    g = Graph("g")
    assert g.scalar(2) is g.scalar(2.0) and g.scalar(2) is not g.scalar(0.5)


def test_ACacheHasItsLayersAndNoMore() -> None:
    cache = Cache("kv", layers=2, heads=1, head_dim=4)
    assert cache[1].layer == 1
    for layer in (2, -1):
        with pytest.raises(GraphError, match="layers 0 to 1"):
            cache[layer]
    with pytest.raises(GraphError, match="must be positive"):
        Graph("g").kv_cache(layers=0, heads=1, head_dim=1)


def test_ConstantsOfTwoModulesShareAStoreWithoutColliding() -> None:
    tables = [np.full(3, value, np.float32) for value in (1.0, 2.0, 1.0)]
    graphs = [Graph(name) for name in ("encoder", "decoder", "other")]
    for graph, table in zip(graphs, tables, strict=True):
        graph.constant("rope.cos", table)
    first, second, third = (set(graph.constants) for graph in graphs)
    assert first == third and not first & second
