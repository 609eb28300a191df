"""Mixture of experts."""

from __future__ import annotations

from tools.builder.graph import Operand, Value
from tools.builder.op_rules import Type, need, need_float, need_rank, rule, show


@rule("moe")
def _moe(x: Type, scores: Type, gate: Type, up: Type, down: Type, *, top_k: int, normalize: bool) -> Type:
    need_float(x=x, scores=scores, gate=gate, up=up, down=down)
    need_rank(3, x=x, scores=scores, gate=gate, up=up, down=down)
    need(
        x.shape[:2] == scores.shape[:2],
        f"x {show(x.shape)} and scores {show(scores.shape)} differ before the last axis",
    )
    experts, inner, hidden = gate.shape
    need(up.shape == gate.shape, f"gate {show(gate.shape)} and up {show(up.shape)} differ")
    need(
        down.shape == (experts, hidden, inner),
        f"down is {show(down.shape)}; it must be {show((experts, hidden, inner))}",
    )
    need(x.shape[2] == hidden, f"x has {x.shape[2]} numbers for each token and the experts take {hidden}")
    need(scores.shape[2] == experts, f"scores are of {scores.shape[2]} experts and there are {experts}")
    need(isinstance(experts, int) and 1 <= top_k <= experts, f"top_k is {top_k}; it must be 1 to {experts}")
    return x


def moe(x: Value, scores: Value, gate: Operand, up: Operand, down: Operand, *, top_k: int, normalize: bool) -> Value:
    """The likeliest experts' SwiGLU of each token, weighted: f32 [batch, tokens, hidden] (Shazeer et al., 2017).

    `scores` f32 [batch, tokens, experts] are the router's logits: p = softmax(scores). The `top_k` experts e with the
    greatest p[e] give sum of p[e] · downₑ·(silu(gateₑ·x) · upₑ·x), where p is divided by its sum over them if
    `normalize`. `gate` and `up` are [experts, inner, hidden], `down` [experts, hidden, inner].
    """
    return x.graph.record("moe", [x, scores, gate, up, down], top_k=top_k, normalize=normalize)
