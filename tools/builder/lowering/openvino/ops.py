"""OpenVINO's form of each semantic op, but for attention (`attention.py`). `docs/graph.md` says what each op means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from tools.builder.graph import Node
from tools.builder.lowering.openvino.emitter import TYPES, Emitter
from tools.builder.lowering.openvino.engine import opset, ov

Output: TypeAlias = ov.Output
Lowering = Callable[..., ov.Node | ov.Output]
"""Takes the emitter, the graph's node and one output for each input (None where absent); gives the node's output."""

LOWERINGS: dict[str, Lowering] = {}
_LAST = 2**63 - 1  # an end beyond any axis


def lowers(*ops: str) -> Callable[[Lowering], Lowering]:
    """Registers a function as the lowering of `ops`."""

    def register(function: Lowering) -> Lowering:
        for op in ops:
            LOWERINGS[op] = function
        return function

    return register


@lowers("add", "sub", "mul", "div")
def arithmetic(e: Emitter, node: Node, a: Output, b: Output) -> ov.Node:
    function: Any = {"add": opset.add, "sub": opset.subtract, "mul": opset.multiply, "div": opset.divide}[node.op]
    result: ov.Node = function(a, b)
    return result


@lowers("relu")
def relu(e: Emitter, node: Node, x: Output) -> ov.Node:
    return opset.relu(x)


@lowers("tanh")
def tanh(e: Emitter, node: Node, x: Output) -> ov.Node:
    return opset.tanh(x)


@lowers("silu")
def silu(e: Emitter, node: Node, x: Output) -> ov.Node:
    return opset.swish(x, e.constant(1.0, "f32"))  # the default would be a constant outside the weights file


@lowers("gelu")
def gelu(e: Emitter, node: Node, x: Output) -> ov.Node:
    return opset.gelu(x, "TANH" if node.attrs["approximate"] == "tanh" else "ERF")


@lowers("cast")
def cast(e: Emitter, node: Node, x: Output) -> ov.Node:
    return opset.convert(x, TYPES[node.attrs["to"]])


@lowers("embedding")
def embedding(e: Emitter, node: Node, ids: Output, weight: Output) -> ov.Node:
    return opset.gather(weight, ids, e.constant(0))


@lowers("linear")
def linear(e: Emitter, node: Node, x: Output, weight: Output, bias: Output | None = None) -> ov.Node:
    product = opset.matmul(x, weight, False, node.attrs["weight_layout"] == "out_in")
    return product if bias is None else opset.add(product, bias)


@lowers("matmul")
def matmul(e: Emitter, node: Node, a: Output, b: Output) -> ov.Node:
    return opset.matmul(a, b, False, node.attrs["transpose_b"])


@lowers("layer_norm")
def layer_norm(e: Emitter, node: Node, x: Output, weight: Output, bias: Output | None = None) -> ov.Node:
    normal = opset.mvn(x, e.constant([-1]), True, node.attrs["eps"], "inside_sqrt")
    scaled = opset.multiply(normal, weight)
    return scaled if bias is None else opset.add(scaled, bias)


@lowers("rms_norm")
def rms_norm(e: Emitter, node: Node, x: Output, weight: Output) -> ov.Node:
    # Spelled as OpenVINO's RMS fusion matches it.
    mean = opset.reduce_mean(opset.power(x, e.constant(2.0, "f32")), e.constant([-1]), True)
    root = opset.sqrt(opset.add(mean, e.constant(node.attrs["eps"], "f32")))
    return opset.multiply(weight, opset.multiply(x, opset.divide(e.constant(1.0, "f32"), root)))


@lowers("softmax")
def softmax(e: Emitter, node: Node, x: Output) -> ov.Node:
    return opset.softmax(x, node.attrs["axis"])


@lowers("reshape")
def reshape(e: Emitter, node: Node, x: Output) -> ov.Node:
    had, has = node.inputs[0].shape, node.outputs[0].shape  # type: ignore[union-attr]
    # 0 keeps the axis of the input, -1 is inferred: the op's rule leaves at most one such axis.
    pattern = [d if isinstance(d, int) else 0 if i < len(had) and had[i] == d else -1 for i, d in enumerate(has)]
    return opset.reshape(x, e.constant(pattern), special_zero=True)


@lowers("permute")
def permute(e: Emitter, node: Node, x: Output) -> ov.Node:
    return opset.transpose(x, e.constant(node.attrs["axes"]))


@lowers("slice")
def slice_axis(e: Emitter, node: Node, x: Output) -> ov.Node:
    start, stop, axis = ([node.attrs[key]] for key in ("start", "stop", "axis"))
    return opset.slice(x, e.constant(start), e.constant(stop), e.constant([1]), e.constant(axis))


@lowers("concat")
def concat(e: Emitter, node: Node, *xs: Output) -> ov.Node:
    return opset.concat(list(xs), node.attrs["axis"])


@lowers("trailing")
def trailing(e: Emitter, node: Node, x: Output, count: Output) -> ov.Node:
    start = opset.negative(count)  # a start of -0 keeps everything, as the op asks
    return opset.slice(x, start, e.constant([_LAST]), e.constant([1]), e.constant([1]))


@lowers("positions")
def positions(e: Emitter, node: Node, x: Output) -> ov.Node:
    return opset.range(e.constant(0), opset.squeeze(e.size(x, 1), e.constant(0)), e.constant(1), "i64")
