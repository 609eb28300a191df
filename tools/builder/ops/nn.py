"""Layers: embedding, linear, matmul, normalisation, softmax."""

from __future__ import annotations

import math

from tools.builder.graph import Operand, Value
from tools.builder.op_rules import Type, axis_of, broadcast, need, need_float, need_rank, rule, show


@rule("embedding")
def _embedding(ids: Type, weight: Type) -> Type:
    need(ids.dtype in ("i32", "i64"), f"ids are {ids.dtype}; they must be i32 or i64")
    need_float(weight=weight)
    need_rank(2, weight=weight)
    return Type("f32", ids.shape + weight.shape[1:])


@rule("linear")
def _linear(x: Type, weight: Type, bias: Type | None = None, *, weight_layout: str) -> Type:
    need_float(x=x, weight=weight, bias=bias)
    need_rank(2, weight=weight)
    need(weight_layout in ("out_in", "in_out"), f"weight_layout is {weight_layout!r}; it must be 'out_in' or 'in_out'")
    size_out, size_in = weight.shape if weight_layout == "out_in" else weight.shape[::-1]
    need(len(x.shape) >= 1, "x is a scalar")
    need(x.shape[-1] == size_in, f"the last dimension of x is {x.shape[-1]} and the weight takes {size_in}")
    need(
        bias is None or bias.shape == (size_out,),
        f"the weight gives {size_out} and bias is {show(bias.shape if bias else ())}",
    )
    return Type("f32", x.shape[:-1] + (size_out,))


@rule("matmul")
def _matmul(a: Type, b: Type, *, transpose_b: bool) -> Type:
    need_float(a=a, b=b)
    need(
        len(a.shape) >= 2 and len(b.shape) >= 2,
        f"{show(a.shape)} and {show(b.shape)}: both need two dimensions or more",
    )
    inner, columns = (b.shape[-1], b.shape[-2]) if transpose_b else (b.shape[-2], b.shape[-1])
    need(a.shape[-1] == inner, f"the inner dimensions differ: {a.shape[-1]} and {inner}")
    return Type("f32", broadcast(a.shape[:-2], b.shape[:-2]) + (a.shape[-2], columns))


@rule("layer_norm")
def _layer_norm(x: Type, weight: Type, bias: Type | None = None, *, eps: float) -> Type:
    need_float(x=x, weight=weight, bias=bias)
    need(len(x.shape) >= 1, "x is a scalar")
    need(weight.shape == x.shape[-1:], f"weight is {show(weight.shape)} and the last dimension of x is {x.shape[-1]}")
    need(bias is None or bias.shape == weight.shape, "bias and weight differ in shape")
    need(0 < eps < math.inf, f"eps is {eps}; it must be positive and finite")
    return x


@rule("rms_norm")
def _rms_norm(x: Type, weight: Type, *, eps: float) -> Type:
    return _layer_norm(x, weight, eps=eps)


@rule("softmax")
def _softmax(x: Type, *, axis: int) -> Type:
    need_float(x=x)
    axis_of(axis, len(x.shape))
    return x


def embedding(ids: Value, weight: Operand) -> Value:
    """Rows of `weight` f32 [vocab, hidden] by `ids` i32 or i64 [...]: f32 [..., hidden]. Ids lie in 0 to vocab - 1."""
    return ids.graph.record("embedding", [ids, weight])


def linear(x: Value, weight: Operand, bias: Operand | None = None, *, weight_layout: str = "out_in") -> Value:
    """x·Wᵀ + b over the last axis of `x`: [..., in] to [..., out].

    `weight` is as the checkpoint stores it: [out, in] for `"out_in"` (torch's Linear), [in, out] for `"in_out"`
    (GPT-2's Conv1D). `bias` is [out] or absent.
    """
    return x.graph.record("linear", [x, weight, bias], weight_layout=weight_layout)


def matmul(a: Value, b: Value, *, transpose_b: bool = False) -> Value:
    """Matrix product over the last two axes, leading axes broadcast; `transpose_b` swaps the last two of `b` first."""
    return a.graph.record("matmul", [a, b], transpose_b=transpose_b)


def layer_norm(x: Value, weight: Operand, bias: Operand | None = None, *, eps: float) -> Value:
    """(x - mean) / sqrt(variance + eps) · weight + bias over the last axis, biased variance (Ba et al., 2016)."""
    return x.graph.record("layer_norm", [x, weight, bias], eps=eps)


def rms_norm(x: Value, weight: Operand, *, eps: float) -> Value:
    """x / sqrt(mean(x²) + eps) · weight over the last axis (Zhang and Sennrich, 2019)."""
    return x.graph.record("rms_norm", [x, weight], eps=eps)


def softmax(x: Value, axis: int = -1) -> Value:
    """exp(x) / sum(exp(x)) along `axis`."""
    return x.graph.record("softmax", [x], axis=axis)
