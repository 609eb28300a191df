"""Attention and rotary position embedding.

Queries are f32 [batch, heads, tokens, head_dim]; keys and values f32 [batch, kv_heads, keys, head_dim], where `heads`
is a multiple of `kv_heads` and query head h reads key head h // (heads / kv_heads) (grouped-query attention, Ainslie
et al., 2023). A query that may see no key at all gets finite values without meaning.
"""

from __future__ import annotations

from tools.builder.graph import CacheLayer, Value
from tools.builder.op_rules import Type, broadcast, need, need_float, need_rank, rule, show


def _heads(q: Type, k: Type, v: Type) -> None:
    need_float(q=q, k=k, v=v)
    need_rank(4, q=q, k=k, v=v)
    need(k.shape[:3] == v.shape[:3], f"keys {show(k.shape)} and values {show(v.shape)} differ before the last axis")
    need(q.shape[0] == k.shape[0], f"q has the batch {q.shape[0]} and k {k.shape[0]}")
    need(q.shape[3] == k.shape[3], f"q has heads of {q.shape[3]} and k of {k.shape[3]}")
    heads, kv_heads = q.shape[1], k.shape[1]
    fits = isinstance(heads, int) and isinstance(kv_heads, int) and kv_heads > 0 and heads % kv_heads == 0
    need(fits, f"{heads} query heads are not a multiple of {kv_heads} key heads")


@rule("attention")
def _attention(q: Type, k: Type, v: Type, mask: Type | None = None, bias: Type | None = None, *, scale: float) -> Type:
    _heads(q, k, v)
    batch, heads, tokens, keys = q.shape[0], q.shape[1], q.shape[2], k.shape[2]
    if mask is not None:
        need(mask == Type("i64", (batch, keys)), f"mask is {mask}; it must be i64{show((batch, keys))}")
    if bias is not None:
        need_float(bias=bias)
        scores = (batch, heads, tokens, keys)
        need(broadcast(bias.shape, scores) == scores, f"bias {show(bias.shape)} does not broadcast to {show(scores)}")
    return Type("f32", q.shape[:3] + v.shape[3:])


@rule("cached_attention")
def _cached_attention(
    q: Type, k: Type, v: Type, attention_mask: Type, beam_idx: Type, *, cache: str, layer: int, scale: float
) -> Type:
    _heads(q, k, v)
    need(k.shape == v.shape, f"keys {show(k.shape)} and values {show(v.shape)} differ; the cache holds both alike")
    need(q.shape[2] == k.shape[2], f"q has {q.shape[2]} tokens and k {k.shape[2]}")
    batch, tokens = q.shape[0], q.shape[2]
    ok = attention_mask.dtype == "i64" and len(attention_mask.shape) == 2 and attention_mask.shape[0] == batch
    need(ok, f"attention_mask is {attention_mask}; it must be i64[{batch},past+{tokens}]")
    need(beam_idx == Type("i32", (batch,)), f"beam_idx is {beam_idx}; it must be i32[{batch}]")
    return q


@rule("rope")
def _rope(x: Type, position_ids: Type, cos: Type, sin: Type) -> Type:
    need_float(x=x, cos=cos, sin=sin)
    need_rank(4, x=x)
    need_rank(2, cos=cos)
    need(cos.shape == sin.shape, f"cos {show(cos.shape)} and sin {show(sin.shape)} differ")
    need(
        2 * cos.shape[1] == x.shape[3], f"the table rotates {2 * cos.shape[1]} of {x.shape[3]} dimensions; all must be"
    )
    want = Type("i64", (x.shape[0], x.shape[2]))
    need(position_ids == want, f"position_ids is {position_ids}; it must be {want}")
    return x


def attention(
    q: Value, k: Value, v: Value, *, scale: float, mask: Value | None = None, bias: Value | None = None
) -> Value:
    """softmax(scale · q·kᵀ + bias)·v: f32 [batch, heads, tokens, v's head_dim] (Vaswani et al., 2017).

    `mask` i64 [batch, keys] hides the keys where it is 0. `bias` f32 broadcasts to [batch, heads, tokens, keys].
    """
    return q.graph.record("attention", [q, k, v, mask, bias], scale=scale)


def cached_attention(
    q: Value, k: Value, v: Value, cache: CacheLayer, *, attention_mask: Value, beam_idx: Value, scale: float
) -> Value:
    """Causal attention over everything cached so far and the new tokens: f32 [batch, heads, tokens, head_dim].

    1. Row b of the cache becomes row `beam_idx[b]` (i32 [batch]; ignored while the cache is empty).
    2. `k` and `v` f32 [batch, kv_heads, tokens, head_dim] are appended: the cache holds `past + tokens` keys.
    3. Token t sees key j where j <= past + t and `attention_mask[b, j]` (i64 [batch, past+tokens]) is not 0.
    """
    inputs = [q, k, v, attention_mask, beam_idx]
    return q.graph.record("cached_attention", inputs, cache=cache.cache.name, layer=cache.layer, scale=scale)


def rope(x: Value, position_ids: Value, table: tuple[Value, Value]) -> Value:
    """Rotary position embedding (Su et al., 2021), half-split: dimension i turns with dimension i + head_dim / 2.

    `x` f32 [batch, heads, tokens, head_dim]; `position_ids` i64 [batch, tokens] picks rows of the `table` (cos, sin),
    each f32 [positions, head_dim / 2]; see `rope.table`. With x1, x2 the halves of a head: (x1·cos - x2·sin, x2·cos +
    x1·sin).
    """
    cos, sin = table
    return x.graph.record("rope", [x, position_ids, cos, sin])
