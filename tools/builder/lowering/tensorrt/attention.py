"""Attention, rotary embedding and the key/value cache: TensorRT's own layers where it has them, else exact products.

A cache is a pair of buffers of fixed length for each layer, [batch, kv_heads, length, head_dim] in the plan's
precision, that the caller owns, fills with zeros once, and binds for every run. The plan works on their first `keys`
places, where `keys` is the length of the attention mask. Two forms, which the description states
(`docs/tensorrt.md`):

* `in_place`, where there is `add_kv_cache_update`: the plan writes the new keys and values into the buffers, which are
  bound as input and as output, from place `write_index[b]` on;
* `rows`: the plan joins the new keys and values to those places, of which `write_index[b]` are in use, and gives
  them as outputs [batch, kv_heads, tokens, head_dim], which the caller copies to `write_index[b]`. TensorRT before
  10.15 promises nothing for a buffer that is input and output at once.

Reordering rows (`beam_idx`) is the caller's: copies before a run, and only where the order changes.
"""

from __future__ import annotations

from collections.abc import Callable

from tools.builder.graph import Node
from tools.builder.lowering.tensorrt.emitter import Emitter, Tensor
from tools.builder.lowering.tensorrt.ops import lowers, sized, source

HIDDEN = -30000.0
"""Added to the score of a hidden key: its exponential is 0, and every sum with it is finite in f16, so no row is NaN.
Not minus infinity: queries that see no key (padding) would give NaN, which would enter the values of all others."""


@lowers("attention")
def attention(
    e: Emitter, node: Node, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, bias: Tensor | None = None
) -> Tensor:
    added = None if bias is None else e.widen(e.f32(bias), 4)
    if mask is not None:
        hidden = _shared(e, f"mask.{source(node, 3).id}", lambda: _penalty(e, _is_zero(e, mask)))
        added = hidden if added is None else e.add(added, hidden)
    return _attend(e, node, q, k, v, added)


@lowers("cached_attention")
def cached_attention(
    e: Emitter, node: Node, q: Tensor, k: Tensor, v: Tensor, attention_mask: Tensor, beam_idx: Tensor | None
) -> Tensor:
    k, v = e.operand(k), e.operand(v)
    cache, layer, window = node.attrs["cache"], node.attrs["layer"], node.attrs.get("window")
    keys, tokens = e.size(attention_mask, 1), e.size(q, 2)
    joined, batch = [], source(node, 0).shape[0]

    def write_index() -> Tensor:
        index: Tensor = e.io.write_index(cache, batch)
        return index

    for part, new in (("key", k), ("value", v)):
        buffer = e.io.cache(cache, layer, part, batch)
        if e.io.in_place:
            mode = e.engine.trt.KVCacheMode.LINEAR
            made = e.network.add_kv_cache_update(buffer.handle, new.handle, write_index().handle, mode)
            whole = e.layer(made, "kv_cache_update", buffer.dtype, 4)
            e.io.updated(cache, layer, part, whole, source(node, 1).shape)
            joined.append(e.slice(whole, 2, 0, keys))
        else:
            e.io.updated(cache, layer, part, new, source(node, 1).shape)
            joined.append(e.concat([e.slice(buffer, 2, 0, keys), new], 2))
    hide = _hidden_in_place if e.io.in_place else _hidden_in_rows
    key = f"causal.{source(node, 3).id}.{cache}.{window}"
    hidden = _shared(e, key, lambda: _penalty(e, hide(e, write_index(), attention_mask, keys, tokens, window)))
    return _attend(e, node, q, joined[0], joined[1], hidden)


@lowers("rope")
def rope(e: Emitter, node: Node, x: Tensor, position_ids: Tensor, *table: Tensor) -> Tensor:
    size, half = sized(node, 0, 3), sized(node, 2, 1)
    x = e.f32(x)
    if len(table) == 2 and e.engine.has("add_rotary_embedding"):
        made = e.network.add_rotary_embedding(x.handle, table[0].handle, table[1].handle, False, 2 * half)
        made.set_input(3, position_ids.handle)
        return e.layer(made, "rotary_embedding", "f32", 4)
    key = ".".join(source(node, i).id for i in range(1, len(node.inputs)))
    cos = _shared(e, f"cos.{key}", lambda: _rows(e, node, position_ids, table[::2]))
    sin = _shared(e, f"sin.{key}", lambda: _rows(e, node, position_ids, table[1::2]))
    first, second = e.slice(x, 3, 0, half), e.slice(x, 3, half, half)
    turned = [
        e.elementwise("SUB", e.mul(first, cos), e.mul(second, sin)),
        e.add(e.mul(second, cos), e.mul(first, sin)),
    ]
    rest = [] if 2 * half == size else [e.slice(x, 3, 2 * half, size - 2 * half)]
    return e.concat([*turned, *rest], 3)


def _shared(e: Emitter, key: str, make: Callable[[], Tensor]) -> Tensor:
    """What several nodes of a graph use, made once."""
    if key not in e.shared:
        e.shared[key] = make()
    found: Tensor = e.shared[key]
    return found


def _rows(e: Emitter, node: Node, position_ids: Tensor, tables: tuple[Tensor, ...]) -> Tensor:
    """The table's rows by position, f32 [batch, 1, tokens, half].

    A second table is that of short texts: rows of the batch whose positions all lie in it take it.
    """
    half = sized(node, 2, 1)
    rows = e.gather(tables[0], position_ids)
    if len(tables) == 2:
        positions = e.cast(position_ids, "i32")
        limit = sized(node, 4, 0)
        longest = e.reshape(e.reduce("MAX", positions, 1), (0, 1, 1))
        inside = e.elementwise("MIN", positions, e.scalar(limit - 1, positions))
        is_short = e.elementwise("LESS", longest, e.scalar(limit, longest))
        rows = e.select(is_short, e.gather(tables[1], inside), rows)
    return e.reshape(rows, (0, 1, -1, half))


def _is_zero(e: Emitter, mask: Tensor) -> Tensor:
    """bool [batch, 1, 1, keys]: where an integer mask [batch, keys] is 0."""
    wide = e.reshape(e.cast(mask, "i32"), (0, 1, 1, -1))
    return e.elementwise("EQUAL", wide, e.scalar(0, wide))


def _hidden_in_place(
    e: Emitter, write_index: Tensor, mask: Tensor, keys: Tensor, tokens: Tensor, window: int | None
) -> Tensor:
    """bool [batch, 1, tokens, keys]: where token t does not see place j of the buffer."""
    query = e.reshape(e.count(tokens), (1, 1, -1, 1))
    place = e.reshape(e.count(keys), (1, 1, 1, -1))
    ahead = e.elementwise("SUB", place, e.reshape(write_index, (-1, 1, 1, 1)))
    hidden = e.elementwise("OR", _is_zero(e, mask), e.elementwise("GREATER", ahead, query))
    return _beyond(e, hidden, ahead, query, window)


def _hidden_in_rows(
    e: Emitter, write_index: Tensor, mask: Tensor, keys: Tensor, tokens: Tensor, window: int | None
) -> Tensor:
    """bool [batch, 1, tokens, keys + tokens]: where token t does not see place j of the buffer, or new token j - keys.

    All sizes are sums of the inputs': TensorRT bounds memory by a plan's least and greatest shapes, where a difference
    of two sizes is not at its own.
    """
    query = e.reshape(e.count(tokens), (1, 1, -1, 1))
    column = e.reshape(e.count(e.add(keys, tokens)), (1, 1, 1, -1))
    length = e.reshape(e.cast(keys, "i32"), (1, 1, 1, 1))
    is_cached = e.elementwise("LESS", column, length)
    used = e.elementwise("SUB", column, e.reshape(write_index, (-1, 1, 1, 1)))
    ahead = e.select(is_cached, used, e.elementwise("SUB", column, length))  # counts from the first new token
    limit = e.select(is_cached, e.scalar(-1, query), query)
    new = e.slice(mask, 1, e.elementwise("SUB", keys, tokens), tokens)
    hidden = e.elementwise("OR", _is_zero(e, e.concat([mask, new], 1)), e.elementwise("GREATER", ahead, limit))
    return _beyond(e, hidden, ahead, query, window)


def _beyond(e: Emitter, hidden: Tensor, ahead: Tensor, query: Tensor, window: int | None) -> Tensor:
    """`hidden`, and where the window does not reach."""
    if window is None:
        return hidden
    first = e.elementwise("SUB", query, e.scalar(window - 1, query))
    return e.elementwise("OR", hidden, e.elementwise("LESS", ahead, first))


def _penalty(e: Emitter, hidden: Tensor) -> Tensor:
    nothing = e.constant([[[[0.0]]]], "f32")
    return e.select(hidden, e.constant([[[[HIDDEN]]]], "f32"), nothing)


def _attend(e: Emitter, node: Node, q: Tensor, k: Tensor, v: Tensor, added: Tensor | None) -> Tensor:
    """softmax(scale·q·kᵀ + added)·v; `added` is f32 and broadcasts to [batch, heads, tokens, keys]."""
    scale, softcap = node.attrs["scale"], node.attrs.get("softcap")
    q = e.f32(q)
    q, k, v = e.operand(e.mul(q, e.scalar(scale, q))), e.operand(k), e.operand(v)
    # The layer has no place for a softcap, and wants heads of one size.
    alike = sized(node, 0, 3) == sized(node, 2, 3)
    if softcap is None and alike and e.engine.has("add_attention_v2"):
        trt = e.engine.trt
        made = e.network.add_attention_v2(
            q.handle, k.handle, v.handle, trt.AttentionNormalizationOp.SOFTMAX, trt.CausalMaskKind.NONE
        )
        if added is not None:
            made.mask = e.operand(added).handle
        made.decomposable = True  # some precisions and shapes have no kernel of their own
        return e.layer(made, "attention", e.precision, 4)
    return _products(e, node, q, k, v, added, softcap)


def _products(
    e: Emitter, node: Node, q: Tensor, k: Tensor, v: Tensor, added: Tensor | None, softcap: float | None
) -> Tensor:
    """The same in products. The query heads of one key head are stacked, so that nothing is repeated for them."""
    heads, kv_heads = sized(node, 0, 1), sized(node, 1, 1)
    size, out = sized(node, 0, 3), sized(node, 2, 3)
    stacked = q if heads == kv_heads else e.reshape(q, (0, kv_heads, -1, size))
    scores = e.f32(e.matmul(stacked, k, True))
    if softcap is not None:
        scores = e.activation("TANH", e.mul(scores, e.scalar(1 / softcap, scores)))
        scores = e.mul(scores, e.scalar(softcap, scores))
    if added is not None:
        if heads != kv_heads:
            scores = e.reshape(scores, (0, heads, -1, 0))
        scores = e.add(scores, added)
        if heads != kv_heads:
            scores = e.reshape(scores, (0, kv_heads, -1, 0))
    made = e.matmul(e.softmax(scores, -1), v, False)
    return made if heads == kv_heads else e.reshape(made, (0, heads, -1, out))
