from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.builder import ops
from tools.builder.graph import Graph, GraphError
from tools.builder.lowering.reference import run


def compute(build: Any, shape: tuple[int | str, ...], x: Any, **others: Any) -> Any:
    """What the reference lowering makes of an op on `x`, declared with symbolic dimensions."""
    g = Graph("g")
    values = [g.input("x", "f32", shape)] + [g.input(name, "i64", a.shape) for name, a in others.items()]
    g.output("y", build(*values))
    return run(Graph.from_json(g.to_json()), g.constants, {"x": x, **others})[0]["y"]


X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
SYMBOLIC = ("batch", "tokens", 4)


def test_ReshapeKeepsRowMajorOrder() -> None:
    y = compute(lambda x: ops.reshape(x, ("batch", "tokens", 2, 2)), SYMBOLIC, X)
    np.testing.assert_array_equal(y, X.reshape(2, 3, 2, 2))
    y = compute(lambda x: ops.reshape(x, ("batch*tokens", 4)), SYMBOLIC, X)
    np.testing.assert_array_equal(y, X.reshape(6, 4))


@pytest.mark.parametrize(
    "shape, reason",
    [
        (("batch", "tokens", 5), r"has 4\*batch\*tokens elements and \[batch,tokens,5\] has 5\*batch\*tokens"),
        (("tokens", "batch", 4), "more than one symbolic dimension"),
        (("batch", "other", 4), "elements"),
    ],
)
def test_ReshapeRefusesOtherCountsAndAmbiguity(shape: tuple[Any, ...], reason: str) -> None:
    with pytest.raises(GraphError, match=reason):
        ops.reshape(Graph("g").input("x", "f32", SYMBOLIC), shape)


@given(st.permutations(range(3)))
@settings(max_examples=6, deadline=None)
def test_PermuteMovesAxes(axes: list[int]) -> None:
    np.testing.assert_array_equal(compute(lambda x: ops.permute(x, axes), SYMBOLIC, X), X.transpose(axes))


@pytest.mark.parametrize("axes", [(0, 1), (0, 0, 1), (0, 1, 3), (-1, 0, 1)])
def test_PermuteNamesEachAxisOnce(axes: tuple[int, ...]) -> None:
    with pytest.raises(GraphError, match="do not name each of 3 axes once"):
        ops.permute(Graph("g").input("x", "f32", SYMBOLIC), axes)


@given(st.data())
@settings(max_examples=20, deadline=None)
def test_SliceTakesARange(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, 3))
    stop = data.draw(st.integers(start + 1, 4))
    np.testing.assert_array_equal(compute(lambda x: ops.slice(x, -1, start, stop), SYMBOLIC, X), X[..., start:stop])


@pytest.mark.parametrize(
    "axis, start, stop, reason",
    [
        (-1, 0, 5, r"\[0:5\] lies outside axis 2 of size 4"),
        (-1, 2, 2, "lies outside"),
        (-1, -1, 2, "lies outside"),
        (0, 0, 1, "axis 0 has the symbolic size batch"),
        (3, 0, 1, "axis 3 lies outside the 3 dimensions"),
    ],
)
def test_SliceStaysInside(axis: int, start: int, stop: int, reason: str) -> None:
    with pytest.raises(GraphError, match=reason):
        ops.slice(Graph("g").input("x", "f32", SYMBOLIC), axis, start, stop)


def test_SplitGivesEqualPartsOrTheSizesAskedFor() -> None:
    y = compute(lambda x: ops.concat(ops.split(x, -1, 2)[::-1], -1), SYMBOLIC, X)
    np.testing.assert_array_equal(y, np.concatenate([X[..., 2:], X[..., :2]], -1))
    y = compute(lambda x: ops.concat(ops.split(x, -1, (3, 1))[::-1], -1), SYMBOLIC, X)
    np.testing.assert_array_equal(y, np.concatenate([X[..., 3:], X[..., :3]], -1))
    for axis, parts in ((-1, 3), (-1, (1, 2)), (0, 2)):
        with pytest.raises(GraphError, match="do not make up"):
            ops.split(Graph("g").input("x", "f32", SYMBOLIC), axis, parts)


def test_ConcatAddsDimensions() -> None:
    g = Graph("g")
    a, b = g.input("a", "f32", ("past", 4)), g.input("b", "f32", ("tokens", 4))
    assert str(ops.concat([a, b], 0).shape[0]) == "past+tokens"
    np.testing.assert_array_equal(compute(lambda x: ops.concat([x, x], 1), SYMBOLIC, X), np.concatenate([X, X], 1))


def test_ConcatRefusesDifferencesOutsideItsAxis() -> None:
    g = Graph("g")
    a, b, c = g.input("a", "f32", (2, 4)), g.input("b", "f32", (2, 5)), g.input("c", "i64", (2, 4))
    with pytest.raises(GraphError, match=r"\[2,4\] and \[2,5\] differ outside axis 0"):
        ops.concat([a, b], 0)
    with pytest.raises(GraphError, match="inputs are f32 and i64"):
        ops.concat([a, c], 0)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 100])
def test_TrailingKeepsTheLastPositions(count: int) -> None:
    y = compute(ops.trailing, SYMBOLIC, X, count=np.array([count], np.int64))
    np.testing.assert_array_equal(y, X if count == 0 else X[:, -count:])


def test_TrailingNamesTheirNumber() -> None:
    g = Graph("g")
    x, count = g.input("x", "f32", SYMBOLIC), g.input("count", "i64", (1,))
    assert [str(d) for d in ops.trailing(x, count).shape] == ["batch", "kept", "4"]
    with pytest.raises(GraphError, match=r"count is f32\[batch,tokens,4\]; it must be i64\[1\]"):
        ops.trailing(x, x)
    with pytest.raises(GraphError, match="no axis 1"):
        ops.trailing(count, count)


def test_PositionsCount() -> None:
    np.testing.assert_array_equal(compute(ops.positions, SYMBOLIC, X), [0, 1, 2])
    with pytest.raises(GraphError, match="no axis 1"):
        ops.positions(Graph("g").input("x", "f32", ("batch",)))
