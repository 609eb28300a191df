"""Ops that move elements without computing."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from tools.builder import dims
from tools.builder.dims import Dimension, DimLike
from tools.builder.graph import GraphError, Value
from tools.builder.op_rules import Type, axis_of, need, read_shape, rule, show


@rule("reshape")
def _reshape(x: Type, *, shape: list[int | str]) -> Type:
    target = read_shape(shape)
    had, has = dims.product(x.shape), dims.product(target)
    need(had == has, f"{show(x.shape)} has {had} elements and {show(target)} has {has}")
    # An engine can keep an axis as it is and infer one more; anything beyond needs shape arithmetic at run time.
    moved = [d for i, d in enumerate(target) if not isinstance(d, int) and (i >= len(x.shape) or x.shape[i] != d)]
    need(len(moved) <= 1, f"more than one symbolic dimension of {show(target)} differs from the input's at its axis")
    return Type(x.dtype, target)


@rule("permute")
def _permute(x: Type, *, axes: list[int]) -> Type:
    need(sorted(axes) == list(range(len(x.shape))), f"axes {axes} do not name each of {len(x.shape)} axes once")
    return Type(x.dtype, tuple(x.shape[axis] for axis in axes))


@rule("slice")
def _slice(x: Type, *, axis: int, start: int, stop: int) -> Type:
    axis = axis_of(axis, len(x.shape))
    size = x.shape[axis]
    need(isinstance(size, int), f"axis {axis} has the symbolic size {size}; only axes of a known size can be sliced")
    need(
        isinstance(size, int) and 0 <= start < stop <= size, f"[{start}:{stop}] lies outside axis {axis} of size {size}"
    )
    return Type(x.dtype, x.shape[:axis] + (stop - start,) + x.shape[axis + 1 :])


@rule("concat")
def _concat(*xs: Type, axis: int) -> Type:
    need(len(xs) > 0, "there is nothing to join")
    first = xs[0]
    axis = axis_of(axis, len(first.shape))
    total: Dimension = 0
    for x in xs:
        need(x.dtype == first.dtype, f"inputs are {first.dtype} and {x.dtype}")
        same = len(x.shape) == len(first.shape) and all(
            a == b for i, (a, b) in enumerate(zip(x.shape, first.shape, strict=True)) if i != axis
        )
        need(same, f"{show(first.shape)} and {show(x.shape)} differ outside axis {axis}")
        total = x.shape[axis] + total
    return Type(first.dtype, first.shape[:axis] + (total,) + first.shape[axis + 1 :])


@rule("trailing")
def _trailing(x: Type, count: Type, *, dim: str) -> Type:
    need(len(x.shape) >= 2, f"x {show(x.shape)} has no axis 1 to cut")
    need(count == Type("i64", (1,)), f"count is {count}; it must be i64[1]")
    kept = read_shape([dim])[0]
    return Type(x.dtype, (x.shape[0], kept) + x.shape[2:])


@rule("positions")
def _positions(x: Type) -> Type:
    need(len(x.shape) >= 2, f"x {show(x.shape)} has no axis 1 to count along")
    return Type("i64", x.shape[1:2])


def reshape(x: Value, shape: Sequence[DimLike]) -> Value:
    """The same elements in row-major order under another shape; at most one symbolic dimension may change its axis."""
    return x.graph.record("reshape", [x], shape=[d if isinstance(d, int) else str(d) for d in shape])


def permute(x: Value, axes: Sequence[int]) -> Value:
    """Output axis i is input axis `axes[i]`."""
    return x.graph.record("permute", [x], axes=list(axes))


def slice(x: Value, axis: int, start: int, stop: int) -> Value:
    """Elements `start` to `stop` (exclusive) of an axis whose size is known."""
    return x.graph.record("slice", [x], axis=axis, start=start, stop=stop)


def split(x: Value, axis: int, parts: int | Sequence[int]) -> list[Value]:
    """Slices along `axis`, whose size must be known: `parts` equal ones, or of the sizes that `parts` lists."""
    size = x.shape[axis]
    if isinstance(parts, int):
        parts = [size // parts if isinstance(size, int) else 0] * parts
    ends = list(itertools.accumulate(parts))
    if ends[-1:] != [size]:
        raise GraphError(f"split of axis {axis} of {show(x.shape)}: parts of {list(parts)} do not make up {size}")
    return [slice(x, axis, end - part, end) for part, end in zip(parts, ends, strict=True)]


def concat(xs: Sequence[Value], axis: int) -> Value:
    """Joins values along `axis`; the other dimensions are equal."""
    return xs[0].graph.record("concat", list(xs), axis=axis)


def trailing(x: Value, count: Value, dim: str = "kept") -> Value:
    """The last `count` (i64 [1]) positions of axis 1, all of them where `count` is 0; `dim` names their number."""
    return x.graph.record("trailing", [x, count], dim=dim)


def positions(x: Value) -> Value:
    """0, 1, 2, ... for each position of axis 1: i64 [tokens] for an `x` of [batch, tokens, ...]."""
    return x.graph.record("positions", [x])
