"""Attention and rotary embedding, spelled as OpenVINO's fusions for stateful transformers match them.

A cache is one state variable for keys and one for values of each layer, f32 [batch, kv_heads, past, head_dim], empty at
first: ReadValue, Gather by `beam_idx`, Concat, Assign, and ScaledDotProductAttention over the joined keys. The CPU
engine fuses all of this into one node that owns the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tools.builder.dims import Dimension
from tools.builder.graph import Node, Value
from tools.builder.lowering.openvino.emitter import Emitter
from tools.builder.lowering.openvino.engine import opset, ov
from tools.builder.lowering.openvino.ops import Output, lowers

HIDDEN = float(np.finfo(np.float16).min)
"""Added to the score of a hidden key: its exponential is 0, and it is finite in every precision, so no row is NaN."""


@lowers("attention")
def attention(
    e: Emitter, node: Node, q: Output, k: Output, v: Output, mask: Output | None = None, bias: Output | None = None
) -> ov.Node:
    scores = bias
    if mask is not None:
        hidden = _shared(e, f"mask.{_input(node, 3).id}", lambda: _padding_mask(e, mask))
        scores = hidden if bias is None else opset.add(bias, hidden).output(0)
    heads, kv_heads = _input(node, 0).shape[1], _input(node, 1).shape[1]
    k, v = _repeat_heads(e, k, heads, kv_heads), _repeat_heads(e, v, heads, kv_heads)
    return _scaled_dot_product(e, q, k, v, scores, node)


@lowers("cached_attention")
def cached_attention(
    e: Emitter, node: Node, q: Output, k: Output, v: Output, attention_mask: Output, beam_idx: Output
) -> ov.Node:
    tokens = _input(node, 0).shape[2]
    window = node.attrs.get("window")
    name = f"causal.{_input(node, 3).id}" + (f".{window}" if window else "")
    mask = _shared(e, name, lambda: _causal_mask(e, attention_mask, tokens, window))
    heads, kv_heads = _input(node, 0).shape[1], _input(node, 1).shape[1]
    prefix = f"{node.attrs['cache']}.{node.attrs['layer']}"
    keys = _append(e, f"{prefix}.key", k, beam_idx, _input(node, 1))
    values = _append(e, f"{prefix}.value", v, beam_idx, _input(node, 2))
    keys, values = _repeat_heads(e, keys, heads, kv_heads), _repeat_heads(e, values, heads, kv_heads)
    return _scaled_dot_product(e, q, keys, values, mask, node)


@lowers("rope")
def rope(e: Emitter, node: Node, x: Output, position_ids: Output, *table: Output) -> ov.Node:
    size, half = _size(_input(node, 0), 3), _size(_input(node, 2), 1)
    key = ".".join(_input(node, i).id for i in range(1, len(node.inputs)))
    cos = _shared(e, f"cos.{key}", lambda: _rows(e, position_ids, table[::2]))
    sin = _shared(e, f"sin.{key}", lambda: _rows(e, position_ids, table[1::2]))
    if 2 * half == size:
        return _rotate(e, x, half, cos, sin)
    parts = opset.variadic_split(x, e.constant(-1), e.constant([2 * half, size - 2 * half]))
    return opset.concat([_rotate(e, parts.output(0), half, cos, sin), parts.output(1)], -1)


def _rotate(e: Emitter, x: Output, half: int, cos: Output, sin: Output) -> ov.Node:
    zero, middle, one, last, axis = (e.constant([i]) for i in (0, half, 1, 2**31 - 1, 3))
    first = opset.slice(x, zero, middle, one, axis)
    second = opset.slice(x, middle, last, one, axis)
    turned = opset.concat([opset.multiply(second, e.constant(-1.0, "f32")), first], -1)
    return opset.add(opset.multiply(x, cos), opset.multiply(turned, sin))


def _input(node: Node, index: int) -> Value:
    value = node.inputs[index]
    assert value is not None
    return value


def _size(x: Value, axis: int) -> int:
    size = x.shape[axis]
    assert isinstance(size, int)
    return size


def _shared(e: Emitter, key: str, make: Callable[[], Output]) -> Output:
    """What several nodes of a graph use, made once and named after its purpose."""
    if key not in e.shared:
        e.shared[key] = make()
        e.name([e.shared[key]], key)
    found: Output = e.shared[key]
    return found


def _padding_mask(e: Emitter, mask: Output) -> Output:
    """f32 [batch, 1, 1, keys]: 0 where a key is visible."""
    seen = opset.unsqueeze(opset.not_equal(mask, e.constant(0)), e.constant([1, 2]))
    return opset.select(seen, e.constant(0.0, "f32"), e.constant(HIDDEN, "f32")).output(0)


def _causal_mask(e: Emitter, mask: Output, tokens: Dimension, window: int | None) -> Output:
    """f32 [batch, 1, tokens, keys]: 0 where token t sees key j, which is where j <= past + t, the mask shows j and the
    `window` reaches it."""
    scalar = e.constant(0)
    total = opset.squeeze(e.size(mask, 1), scalar)
    past = opset.subtract(total, opset.squeeze(e.dimension(tokens), scalar))
    step = e.constant(1)
    queries = opset.unsqueeze(opset.range(past, total, step, "i64"), e.constant(1))
    keys = opset.unsqueeze(opset.range(scalar, total, step, "i64"), scalar)
    near = opset.less_equal(keys, queries)
    if window is not None:
        near = opset.logical_and(near, opset.greater(keys, opset.subtract(queries, e.constant(window))))
    near = opset.unsqueeze(near, e.constant([0, 1]))
    seen = opset.logical_and(near, opset.unsqueeze(opset.not_equal(mask, e.constant(0)), e.constant([1, 2])))
    return opset.select(seen, e.constant(0.0, "f32"), e.constant(HIDDEN, "f32")).output(0)


def _append(e: Emitter, name: str, new: Output, beam_idx: Output, value: Value) -> Output:
    """The state `name` with its rows reordered by `beam_idx` and `new` appended along axis 2; also written back."""
    batch, heads, _, size = value.shape
    empty = opset.broadcast(e.constant(0.0, "f32"), e.shape((batch, heads, 0, size)))
    shape = ov.PartialShape([-1, heads, -1, size])
    state = opset.read_value(empty, name, ov.Type.f32, shape)
    joined = opset.concat([opset.gather(state, beam_idx, e.constant(0)), new], 2)
    e.sinks.append(opset.assign(joined, name))
    return joined.output(0)


def _repeat_heads(e: Emitter, x: Output, heads: Dimension, kv_heads: Dimension) -> Output:
    """Repeats each of `kv_heads` so that query head h meets its key head h // (heads / kv_heads)."""
    if heads == kv_heads:
        return x
    assert isinstance(heads, int) and isinstance(kv_heads, int)
    wide = opset.unsqueeze(x, e.constant([2]))
    wide = opset.broadcast(wide, e.constant([1, 1, heads // kv_heads, 1, 1]), broadcast_spec="BIDIRECTIONAL")
    return opset.reshape(
        wide, e.constant([0, heads, -1, x.get_partial_shape()[3].get_length()]), special_zero=True
    ).output(0)


def _rows(e: Emitter, position_ids: Output, tables: Sequence[Output]) -> Output:
    """The table's rows by position for both halves of a head, f32 [batch, 1, tokens, rotary].

    A second table is that of short texts: rows of the batch whose positions all lie in it take it.
    """
    rows = opset.gather(tables[0], position_ids, e.constant(0))
    if len(tables) == 2:
        limit = tables[1].get_partial_shape()[0].get_length()
        longest = opset.unsqueeze(opset.reduce_max(position_ids, e.constant([1]), True), e.constant([2]))
        inside = opset.minimum(position_ids, e.constant(limit - 1))
        short = opset.gather(tables[1], inside, e.constant(0))
        rows = opset.select(opset.less(longest, e.constant(limit)), short, rows)
    rows = opset.unsqueeze(rows, e.constant([1]))
    return opset.concat([rows, rows], -1).output(0)


def _scaled_dot_product(e: Emitter, q: Output, k: Output, v: Output, mask: Output | None, node: Node) -> ov.Node:
    scale, softcap = node.attrs["scale"], node.attrs.get("softcap")
    if softcap is not None:  # the engine's own op has no place for it
        bounded = opset.tanh(opset.multiply(opset.matmul(q, k, False, True), e.constant(scale / softcap, "f32")))
        scores = opset.multiply(bounded, e.constant(softcap, "f32"))
        return opset.matmul(opset.softmax(scores if mask is None else opset.add(scores, mask), -1), v, False, False)
    if mask is None:  # the scale comes after the mask, so that one must be given: a zero broadcasts
        mask = e.constant(0.0, "f32")
    return opset.scaled_dot_product_attention(q, k, v, mask, e.constant(scale, "f32"), causal=False)
