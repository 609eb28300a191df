import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.builder import ops
from tools.builder.graph import Graph, GraphError, Value
from tools.builder.lowering.reference import run

X = np.array([[-3.0, -0.5, 0.0], [0.25, 1.0, 4.0]], np.float32)


def compute(build: Any, **arrays: Any) -> Any:
    """What the reference lowering makes of an op on inputs of fixed shape."""
    g = Graph("g")
    dtypes = {"float32": "f32", "int64": "i64", "int32": "i32"}
    values = [g.input(name, dtypes[a.dtype.name], a.shape) for name, a in arrays.items()]
    out = build(*values)
    g.output("y", out)
    y = run(Graph.from_json(g.to_json()), g.constants, arrays)[0]["y"]
    assert y.shape == out.shape and dtypes[y.dtype.name] == out.dtype
    return y


@pytest.mark.parametrize("name, op", [("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("div", np.divide)])
def test_ArithmeticBroadcasts(name: str, op: Any) -> None:
    b = np.array([2.0, 4.0, -1.0], np.float32)
    np.testing.assert_array_equal(compute(getattr(ops, name), a=X, b=b), op(X, b))


def test_OperatorsRecordTheOps() -> None:
    y = compute(lambda a, b: (a + b - 1.0) * b / 2.0, a=X, b=X)
    np.testing.assert_allclose(y, (X + X - 1) * X / 2)


def test_IntegersHaveSumsAndProducts() -> None:
    a = np.array([1, 2], np.int64)
    np.testing.assert_array_equal(compute(lambda a, b: ops.mul(ops.add(a, b), ops.sub(a, b)), a=a, b=a + 1), [-3, -5])


@given(st.lists(st.integers(1, 3), max_size=4), st.lists(st.integers(1, 3), max_size=4))
@settings(deadline=None)
def test_TheInferredShapeIsNumpys(a: list[int], b: list[int]) -> None:
    g = Graph("g")
    x, y = g.input("a", "f32", a), g.input("b", "f32", b)
    try:
        want = np.broadcast_shapes(tuple(a), tuple(b))
    except ValueError:
        with pytest.raises(GraphError, match="do not broadcast"):
            ops.add(x, y)
    else:
        assert ops.add(x, y).shape == want


@pytest.mark.parametrize(
    "build, dtypes, reason",
    [
        (ops.add, ("f32", "i64"), "a is f32 and b is i64"),
        (ops.add, ("bool", "bool"), "bool values have no arithmetic"),
        (ops.div, ("i64", "i64"), "a is i64; it must be f32"),
    ],
)
def test_RefusesDtypesThatDoNotCompute(build: Any, dtypes: tuple[str, str], reason: str) -> None:
    g = Graph("g")
    with pytest.raises(GraphError, match=reason):
        build(g.input("a", dtypes[0], (2,)), g.input("b", dtypes[1], (2,)))


def test_SymbolsBroadcastAgainstOnesAlone() -> None:
    g = Graph("g")
    a, b = g.input("a", "f32", ("batch", 1)), g.input("b", "f32", ("tokens",))
    assert [str(d) for d in (a + b).shape] == ["batch", "tokens"]
    with pytest.raises(GraphError, match="batch against tokens"):
        ops.add(g.input("c", "f32", ("batch",)), b)


ACTIVATIONS: dict[str, tuple[Any, Any]] = {
    "gelu": (ops.gelu, lambda x: x * 0.5 * (1 + math.erf(x / math.sqrt(2)))),
    "gelu_tanh": (
        lambda x: ops.gelu(x, "tanh"),
        lambda x: 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    ),
    "silu": (ops.silu, lambda x: x / (1 + math.exp(-x))),
    "relu": (ops.relu, lambda x: max(x, 0.0)),
    "tanh": (ops.tanh, math.tanh),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_ActivationsFollowTheirFormulas(name: str) -> None:
    op, formula = ACTIVATIONS[name]
    np.testing.assert_allclose(compute(op, x=X), np.vectorize(formula)(X.astype(np.float64)), atol=1e-6)


@pytest.mark.parametrize("op", [ops.gelu, ops.silu, ops.relu, ops.tanh])
def test_ActivationsTakeFloatsOnly(op: Any) -> None:
    with pytest.raises(GraphError, match="x is i64; it must be f32"):
        op(Graph("g").input("x", "i64", (1,)))


def test_GeluHasTwoForms() -> None:
    with pytest.raises(GraphError, match="approximate is 'fast'"):
        ops.gelu(Graph("g").input("x", "f32", (1,)), "fast")


def test_CastRoundsTowardsZero() -> None:
    x = np.array([-1.7, 1.7, 2.0], np.float32)
    np.testing.assert_array_equal(compute(lambda x: ops.cast(x, "i32"), x=x), [-1, 1, 2])
    np.testing.assert_array_equal(compute(lambda x: ops.cast(x, "f32"), x=np.array([3], np.int64)), [3.0])


def test_CastGoesToThreeDtypes() -> None:
    x: Value = Graph("g").input("x", "f32", (1,))
    with pytest.raises(GraphError, match="not to 'bf16'"):
        ops.cast(x, "bf16")
