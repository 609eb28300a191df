from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.builder import ops
from tools.builder.graph import Graph, GraphError
from tools.builder.lowering.reference import run

RANDOM = np.random.Generator(np.random.Philox(0))


def noise(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


def compute(build: Any, inputs: dict[str, Any], weights: dict[str, Any]) -> Any:
    """What the reference lowering makes of an op on inputs and weights of fixed shape."""
    g = Graph("g")
    values = [g.input(name, "i64" if a.dtype == np.int64 else "f32", a.shape) for name, a in inputs.items()]
    out = build(*values, *(g.weight(name, a.shape) for name, a in weights.items()))
    g.output("y", out)
    y = run(Graph.from_json(g.to_json()), weights, inputs)[0]["y"]
    assert y.shape == out.shape
    return y


def test_EmbeddingPicksRows() -> None:
    table, ids = noise(5, 3), np.array([[0, 4], [4, 2]], np.int64)
    np.testing.assert_array_equal(compute(ops.embedding, {"ids": ids}, {"w": table}), table[ids])


def test_LinearMultipliesByTheTransposedWeight() -> None:
    x, w, b = noise(2, 3, 4), noise(5, 4), noise(5)
    np.testing.assert_allclose(compute(ops.linear, {"x": x}, {"w": w, "b": b}), x @ w.T + b, atol=1e-5)
    np.testing.assert_allclose(compute(ops.linear, {"x": x}, {"w": w}), x @ w.T, atol=1e-5)


def test_LinearReadsBothLayouts() -> None:
    x, w, b = noise(2, 4), noise(4, 5), noise(5)
    y = compute(lambda x, w, b: ops.linear(x, w, b, weight_layout="in_out"), {"x": x}, {"w": w, "b": b})
    np.testing.assert_allclose(y, x @ w + b, atol=1e-5)


@pytest.mark.parametrize("transpose_b", [False, True])
def test_MatmulBroadcastsLeadingAxes(transpose_b: bool) -> None:
    a, b = noise(2, 1, 3, 4), noise(5, 4, 6)
    given_b = b.swapaxes(-1, -2).copy() if transpose_b else b
    y = compute(lambda a, b: ops.matmul(a, b, transpose_b=transpose_b), {"a": a, "b": given_b}, {})
    np.testing.assert_allclose(y, a @ b, atol=1e-5)


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4), st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_MatmulInfersWhatNumpyComputes(m: int, k: int, k2: int, n: int) -> None:
    g = Graph("g")
    a, b = g.input("a", "f32", ("batch", m, k)), g.input("b", "f32", ("batch", k2, n))
    if k == k2:
        assert ops.matmul(a, b).shape == (a.shape[0], m, n)
    else:
        with pytest.raises(GraphError, match=f"the inner dimensions differ: {k} and {k2}"):
            ops.matmul(a, b)


def test_LayerNormHasZeroMeanAndUnitVariance() -> None:
    x, w, b = noise(3, 8), noise(8), noise(8)
    want = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-3)
    y = compute(lambda x, w, b: ops.layer_norm(x, w, b, eps=1e-3), {"x": x}, {"w": w, "b": b})
    np.testing.assert_allclose(y, want * w + b, atol=1e-5)
    y = compute(lambda x, w: ops.layer_norm(x, w, eps=1e-3), {"x": x}, {"w": w})
    np.testing.assert_allclose(y, want * w, atol=1e-5)


def test_RmsNormDividesByTheRootMeanSquare() -> None:
    x, w = noise(3, 8), noise(8)
    y = compute(lambda x, w: ops.rms_norm(x, w, eps=1e-3), {"x": x}, {"w": w})
    np.testing.assert_allclose(y, x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-3) * w, atol=1e-5)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_SoftmaxSumsToOne(axis: int) -> None:
    x = noise(3, 4) * 50
    e = np.exp(x - x.max(axis, keepdims=True))
    np.testing.assert_allclose(
        compute(lambda x: ops.softmax(x, axis), {"x": x}, {}), e / e.sum(axis, keepdims=True), atol=1e-6
    )


def shaped(g: Graph, *shapes: tuple[int, ...]) -> list[Any]:
    return [g.input(f"i{n}", "f32", shape) for n, shape in enumerate(shapes)]


@pytest.mark.parametrize(
    "op, shapes, reason",
    [
        (ops.linear, [(2, 4), (3, 5)], "the last dimension of x is 4 and the weight takes 5"),
        (ops.linear, [(2, 4), (3, 4), (4,)], r"the weight gives 3 and bias is \[4\]"),
        (ops.linear, [(2, 4), (4,)], "weight has 1 dimensions; it must have 2"),
        (ops.linear, [(), (3, 4)], "x is a scalar"),
        (lambda x, w: ops.linear(x, w, weight_layout="oi"), [(2, 4), (3, 4)], "weight_layout is 'oi'"),
        (ops.matmul, [(4,), (4, 2)], "both need two dimensions"),
        (
            lambda x, w: ops.layer_norm(x, w, eps=1e-5),
            [(2, 4), (3,)],
            r"weight is \[3\] and the last dimension of x is 4",
        ),
        (lambda x, w, b: ops.layer_norm(x, w, b, eps=1e-5), [(2, 4), (4,), (1,)], "bias and weight differ"),
        (lambda x, w: ops.rms_norm(x, w, eps=0.0), [(2, 4), (4,)], "eps is 0.0; it must be positive"),
        (lambda x, w: ops.rms_norm(x, w, eps=float("inf")), [(2, 4), (4,)], "eps is inf; it must be .* finite"),
        (lambda x, w: ops.rms_norm(x, w, eps=float("nan")), [(2, 4), (4,)], "eps is nan"),
        (lambda x: ops.softmax(x, 2), [(2, 4)], "axis 2 lies outside the 2 dimensions"),
        (ops.embedding, [(2,), (3, 4)], "ids are f32; they must be i32 or i64"),
    ],
)
def test_RefusesWhatDoesNotFit(op: Any, shapes: list[tuple[int, ...]], reason: str) -> None:
    with pytest.raises(GraphError, match=reason):
        op(*shaped(Graph("g"), *shapes))
