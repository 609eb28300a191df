"""Mixture of experts in matrix products over all experts: exact, and as costly as a model without a choice of them."""

from __future__ import annotations

import numpy as np

from tools.builder.graph import Node
from tools.builder.lowering.tensorrt.emitter import Emitter, Tensor
from tools.builder.lowering.tensorrt.ops import lowers, sized, swish


@lowers("moe")
def moe(e: Emitter, node: Node, x: Tensor, scores: Tensor, gate: Tensor, up: Tensor, down: Tensor) -> Tensor:
    hidden, experts = sized(node, 2, 2), sized(node, 2, 0)
    tokens = e.reshape(e.operand(x), (1, -1, hidden))
    inner = e.mul(swish(e, e.matmul(tokens, gate, True)), e.f32(e.matmul(tokens, up, True)))
    made = e.f32(e.matmul(inner, down, True))  # [experts, batch·tokens, hidden]
    shares = e.permute(_shares(e, node, scores, experts), (1, 0))
    weighted = e.mul(made, e.reshape(shares, (experts, -1, 1)))
    return e.reshape_to(e.reduce("SUM", weighted, 0), e.shape(x), 3)


def _shares(e: Emitter, node: Node, scores: Tensor, experts: int) -> Tensor:
    """How much each expert adds to each token, f32 [batch·tokens, experts]; 0 where the token did not choose it."""
    likely = e.softmax(e.reshape(scores, (-1, experts)), -1)
    top = e.network.add_topk(likely.handle, e.engine.trt.TopKOperation.MAX, node.attrs["top_k"], 1 << 1)
    share, chosen = e.layer(top, "topk", "f32", 2), e.layer(top, "topk", "i32", 2, output=1)
    if node.attrs["normalize"]:
        share = e.elementwise("DIV", share, e.reduce("SUM", share, -1))
    top_k = node.attrs["top_k"]
    every = e.constant(np.arange(experts)[None, None], "i32")
    hit = e.elementwise("EQUAL", e.reshape(chosen, (-1, top_k, 1)), every)
    spread = e.mul(e.cast(hit, "f32"), e.reshape(share, (-1, top_k, 1)))
    return e.reshape(e.reduce("SUM", spread, 1), (-1, experts))
