"""Mixture of experts, spelled as OpenVINO's fusion matches it.

As it stands here, every expert computes every token and the scores of those that a token did not choose are 0. The CPU
engine recognises the whole and computes the chosen experts alone (its GatherMatmul); what it recognises is exact, so
that reshapes which look idle belong to it.
"""

from __future__ import annotations

from openvino.utils.node_factory import NodeFactory

from tools.builder.graph import Node
from tools.builder.lowering.openvino.emitter import Emitter
from tools.builder.lowering.openvino.engine import opset, ov
from tools.builder.lowering.openvino.ops import Output, lowers


@lowers("moe")
def moe(e: Emitter, node: Node, x: Output, scores: Output, gate: Output, up: Output, down: Output) -> ov.Node:
    source, weight = node.inputs[0], node.inputs[2]
    assert source is not None and weight is not None
    experts, _, hidden = weight.shape
    assert isinstance(experts, int) and isinstance(hidden, int)
    tokens = opset.reshape(x, e.constant([-1, hidden]), special_zero=False)
    every = opset.tile(tokens, e.constant([experts, 1]))
    every = opset.reshape(every, e.constant([experts, -1, hidden]), special_zero=False)
    gated = _swish(opset.matmul(every, gate, False, True))
    inner = opset.multiply(gated, opset.matmul(every, up, False, True))
    made = opset.matmul(inner, down, False, True)
    shape = e.shape((experts, *source.shape))
    made = opset.reshape(made, shape, special_zero=False)
    shares = opset.reshape(_shares(e, node, scores, experts), e.shape((experts, *source.shape[:2])), special_zero=False)
    weighted = opset.multiply(made, opset.unsqueeze(shares, e.constant(-1)))
    return opset.reduce_sum(weighted, e.constant([0]), keep_dims=False)


def _shares(e: Emitter, node: Node, scores: Output, experts: int) -> ov.Node:
    """How much each expert adds to each token, f32 [experts, batch·tokens]; 0 where the token did not choose it."""
    flat = opset.reshape(scores, e.constant([-1, experts]), special_zero=False)
    likely = opset.topk(opset.softmax(flat, -1), e.constant(node.attrs["top_k"]), -1, "max", "value", "i64")
    share, chosen = likely.output(0), likely.output(1)
    if node.attrs["normalize"]:
        share = opset.divide(share, opset.reduce_sum(share, e.constant([-1]), keep_dims=True)).output(0)
    nothing = opset.broadcast(e.constant(0.0, "f32"), opset.shape_of(flat, "i64"))
    spread = opset.scatter_elements_update(nothing, chosen, share, e.constant(1))
    return opset.transpose(spread, e.constant([1, 0]))


def _swish(x: ov.Node) -> ov.Node:
    """Swish without its second input, which the opset's function adds where it is not given."""
    node: ov.Node = NodeFactory("opset4").create("Swish", [x.output(0)])
    return node
