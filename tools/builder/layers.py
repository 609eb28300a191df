"""What several architectures compose alike: linear layers with bias, norms, heads, the inputs of a cached decoder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tools.builder import ops
from tools.builder.dims import Dim, Dimension
from tools.builder.graph import Graph, GraphError, Value
from tools.builder.weights import Weights

Activation = Literal["gelu", "gelu_new", "gelu_pytorch_tanh", "relu", "silu", "swish", "tanh"]


@dataclass(frozen=True)
class DecoderInputs:
    """The inputs of a text decoder with a cache (docs/architecture.md, module conventions), declared in this order."""

    input_ids: Value
    attention_mask: Value
    position_ids: Value
    beam_idx: Value
    logits_to_keep: Value

    @staticmethod
    def declare(g: Graph) -> DecoderInputs:
        """input_ids, position_ids i64 [batch, tokens]; attention_mask i64 [batch, past+tokens]; beam_idx i32 [batch];
        logits_to_keep i64 [1]."""
        return DecoderInputs(
            g.input("input_ids", "i64", ("batch", "tokens")),
            g.input("attention_mask", "i64", ("batch", "past+tokens")),
            g.input("position_ids", "i64", ("batch", "tokens")),
            g.input("beam_idx", "i32", ("batch",)),
            g.input("logits_to_keep", "i64", (1,)),
        )


def linear(x: Value, w: Weights, bias: bool = True, weight_layout: str = "out_in") -> Value:
    """`w.weight` and, where the architecture has one, `w.bias`: [..., in] to [..., out]."""
    return ops.linear(x, w["weight"], w["bias"] if bias else None, weight_layout=weight_layout)


def layer_norm(x: Value, w: Weights, eps: float) -> Value:
    """Layer norm with `w.weight` and `w.bias`, or `w.gamma` and `w.beta` as checkpoints before 2019 call them."""
    scale, shift = ("gamma", "beta") if "gamma" in w else ("weight", "bias")
    return ops.layer_norm(x, w[scale], w[shift], eps=eps)


def split_heads(x: Value, heads: int) -> Value:
    """[batch, tokens, heads·head_dim] to [batch, heads, tokens, head_dim]."""
    batch, tokens, hidden = x.shape
    if not isinstance(hidden, int) or heads < 1 or hidden % heads:
        raise GraphError(f"a hidden size of {hidden} does not divide into {heads} heads")
    return ops.permute(ops.reshape(x, (batch, tokens, heads, hidden // heads)), (0, 2, 1, 3))


def merge_heads(x: Value) -> Value:
    """[batch, heads, tokens, head_dim] to [batch, tokens, heads·head_dim]."""
    batch, heads, tokens, head_dim = x.shape
    hidden: Dimension = heads * head_dim if isinstance(heads, Dim) else head_dim * heads
    return ops.reshape(ops.permute(x, (0, 2, 1, 3)), (batch, tokens, hidden))


def activation(x: Value, name: Activation) -> Value:
    """An activation by the name that config.json gives it."""
    if name == "gelu":
        return ops.gelu(x)
    if name in ("gelu_new", "gelu_pytorch_tanh"):
        return ops.gelu(x, "tanh")
    if name == "relu":
        return ops.relu(x)
    return ops.tanh(x) if name == "tanh" else ops.silu(x)
