"""TensorRT's form of each semantic op, but for attention (`attention.py`) and experts (`moe.py`).

`docs/graph.md` says what each op means, `emitter.py` in which arithmetic it is computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tools.builder.graph import Node, Value
from tools.builder.lowering.tensorrt.emitter import Emitter, Tensor

Lowering = Callable[..., Tensor]
"""Takes the emitter, the graph's node and one tensor for each input (None where absent); gives the node's output."""

LOWERINGS: dict[str, Lowering] = {}


def lowers(*ops: str) -> Callable[[Lowering], Lowering]:
    """Registers a function as the lowering of `ops`."""

    def register(function: Lowering) -> Lowering:
        for op in ops:
            LOWERINGS[op] = function
        return function

    return register


def source(node: Node, index: int) -> Value:
    """The graph's value that a node takes as its input `index`."""
    value = node.inputs[index]
    assert value is not None
    return value


def sized(node: Node, index: int, axis: int) -> int:
    """The size, which must be known, of an axis of a node's input."""
    size = source(node, index).shape[axis]
    assert isinstance(size, int)
    return size


def _number(e: Emitter, x: Tensor) -> Tensor:
    return x if x.dtype in ("i32", "i64") else e.f32(x)


@lowers("add", "sub", "mul", "div")
def arithmetic(e: Emitter, node: Node, a: Tensor, b: Tensor) -> Tensor:
    operation = {"add": "SUM", "sub": "SUB", "mul": "PROD", "div": "DIV"}[node.op]
    return e.elementwise(operation, _number(e, a), _number(e, b))


@lowers("relu", "tanh")
def activation(e: Emitter, node: Node, x: Tensor) -> Tensor:
    return e.activation(node.op.upper(), e.f32(x))


@lowers("silu")
def silu(e: Emitter, node: Node, x: Tensor) -> Tensor:
    return swish(e, x)


def swish(e: Emitter, x: Tensor) -> Tensor:
    """x·σ(x) in f32."""
    x = e.f32(x)
    return e.mul(x, e.activation("SIGMOID", x))


@lowers("gelu")
def gelu(e: Emitter, node: Node, x: Tensor) -> Tensor:
    x = e.f32(x)

    def number(value: float) -> Tensor:
        return e.scalar(value, x)

    if node.attrs["approximate"] == "tanh":
        cube = e.mul(e.mul(e.mul(x, x), x), number(0.044715))
        part = e.activation("TANH", e.mul(e.add(x, cube), number(math.sqrt(2 / math.pi))))
    else:
        part = e.unary("ERF", e.mul(x, number(math.sqrt(0.5))))
    return e.mul(e.mul(x, number(0.5)), e.add(part, number(1.0)))


@lowers("softmax")
def softmax(e: Emitter, node: Node, x: Tensor) -> Tensor:
    return e.softmax(x, node.attrs["axis"])


@lowers("cast")
def cast(e: Emitter, node: Node, x: Tensor) -> Tensor:
    return e.cast(x, node.attrs["to"])


@lowers("embedding")
def embedding(e: Emitter, node: Node, ids: Tensor, weight: Tensor) -> Tensor:
    return e.gather(weight, ids)


@lowers("linear")
def linear(e: Emitter, node: Node, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    turned = node.attrs["weight_layout"] == "out_in"
    product = _flat_product(e, node, x, weight, turned) if x.rank != 2 else e.matmul(x, weight, turned)
    return product if bias is None else e.add(e.f32(product), e.f32(bias))


def _flat_product(e: Emitter, node: Node, x: Tensor, weight: Tensor, turned: bool) -> Tensor:
    """x·W over two axes and back: with more, TensorRT 8.6 multiplies row by row of the batch."""
    inner, outer = sized(node, 0, -1), sized(node, 1, 0 if turned else 1)
    product = e.matmul(e.reshape(x, (-1, inner)), weight, turned)
    if x.rank == 1:
        return e.reshape(product, (outer,))
    key = f"lead.{id(x.handle)}.{outer}"
    if key not in e.shared:
        shape = e.shape(x)
        lead = [e.size(x, axis) for axis in range(x.rank - 1)]
        e.shared[key] = (e.concat([*lead, e.constant([outer], shape.dtype)], 0), x)
    return e.reshape_to(product, e.shared[key][0], x.rank)


@lowers("matmul")
def matmul(e: Emitter, node: Node, a: Tensor, b: Tensor) -> Tensor:
    return e.matmul(a, b, node.attrs["transpose_b"])


@lowers("layer_norm")
def layer_norm(e: Emitter, node: Node, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    x, eps = e.f32(x), node.attrs["eps"]
    add = e.method("add_normalization_v2", "add_normalization")
    if add is not None and x.rank > 1:
        shift = e.constant(np.zeros(sized(node, 1, 0)), "f32") if bias is None else bias
        scale, shift = e.widen(weight, x.rank), e.widen(shift, x.rank)
        made = add(x.handle, scale.handle, shift.handle, 1 << x.rank - 1)
        made.epsilon = eps
        return e.layer(made, "normalization", "f32", x.rank)
    centred = e.elementwise("SUB", x, e.reduce("AVG", x, -1))
    normal = e.mul(_over_root(e, centred, e.reduce("AVG", e.mul(centred, centred), -1), eps), weight)
    return normal if bias is None else e.add(normal, bias)


@lowers("rms_norm")
def rms_norm(e: Emitter, node: Node, x: Tensor, weight: Tensor) -> Tensor:
    x = e.f32(x)
    return e.mul(_over_root(e, x, e.reduce("AVG", e.mul(x, x), -1), node.attrs["eps"]), weight)


def _over_root(e: Emitter, x: Tensor, square: Tensor, eps: float) -> Tensor:
    return e.elementwise("DIV", x, e.unary("SQRT", e.add(square, e.scalar(eps, square))))


@lowers("reshape")
def reshape(e: Emitter, node: Node, x: Tensor) -> Tensor:
    had, has = source(node, 0).shape, node.outputs[0].shape
    # 0 keeps the axis of the input, -1 is inferred: the op's rule leaves at most one such axis.
    return e.reshape(
        x, [d if isinstance(d, int) else 0 if i < len(had) and had[i] == d else -1 for i, d in enumerate(has)]
    )


@lowers("permute")
def permute(e: Emitter, node: Node, x: Tensor) -> Tensor:
    return e.permute(x, node.attrs["axes"])


@lowers("slice")
def slice_axis(e: Emitter, node: Node, x: Tensor) -> Tensor:
    start, stop = node.attrs["start"], node.attrs["stop"]
    return e.slice(x, node.attrs["axis"], start, stop - start)


@lowers("concat")
def concat(e: Emitter, node: Node, *xs: Tensor) -> Tensor:
    kinds = {x.dtype for x in xs}
    return e.concat(xs if len(kinds) == 1 else [e.f32(x) for x in xs], node.attrs["axis"])


@lowers("trailing")
def trailing(e: Emitter, node: Node, x: Tensor, count: Tensor) -> Tensor:
    tokens = e.size(x, 1)
    count, one = e.cast(count, tokens.dtype), e.constant([1], tokens.dtype)
    # Of sums, products and minima alone, as shape arithmetic wants it: a count of 0 stands for all of the tokens.
    none = e.elementwise("SUB", one, e.elementwise("MIN", count, one))
    kept = e.elementwise("MIN", e.add(count, e.mul(none, tokens)), tokens)
    return e.slice(x, 1, e.elementwise("SUB", tokens, kept), kept)


@lowers("positions")
def positions(e: Emitter, node: Node, x: Tensor) -> Tensor:
    return e.cast(e.count(e.size(x, 1)), "i64")
