"""Attention and rotary position embedding.

Queries are f32 [batch, heads, tokens, head_dim]; keys and values f32 [batch, kv_heads, keys, head_dim], where `heads`
is a multiple of `kv_heads` and query head h reads key head h // (heads / kv_heads) (grouped-query attention, Ainslie
et al., 2023). A query that may see no key at all gets finite values without meaning.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

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


def _limits(window: int | None, softcap: float | None) -> None:
    need(window is None or window > 0, f"window is {window}; it must be positive, or absent")
    need(softcap is None or 0 < softcap < math.inf, f"softcap is {softcap}; it must be positive and finite, or absent")


@rule("attention")
def _attention(
    q: Type,
    k: Type,
    v: Type,
    mask: Type | None = None,
    bias: Type | None = None,
    *,
    scale: float,
    softcap: float | None = None,
) -> Type:
    _heads(q, k, v)
    _limits(None, softcap)
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
    q: Type,
    k: Type,
    v: Type,
    attention_mask: Type,
    beam_idx: Type,
    *,
    cache: str,
    layer: int,
    scale: float,
    window: int | None = None,
    softcap: float | None = None,
) -> Type:
    _heads(q, k, v)
    _limits(window, softcap)
    need(k.shape == v.shape, f"keys {show(k.shape)} and values {show(v.shape)} differ; the cache holds both alike")
    need(q.shape[2] == k.shape[2], f"q has {q.shape[2]} tokens and k {k.shape[2]}")
    batch, tokens = q.shape[0], q.shape[2]
    ok = attention_mask.dtype == "i64" and len(attention_mask.shape) == 2 and attention_mask.shape[0] == batch
    need(ok, f"attention_mask is {attention_mask}; it must be i64[{batch},past+{tokens}]")
    need(beam_idx == Type("i32", (batch,)), f"beam_idx is {beam_idx}; it must be i32[{batch}]")
    return q


@rule("rope")
def _rope(
    x: Type, position_ids: Type, cos: Type, sin: Type, short_cos: Type | None = None, short_sin: Type | None = None
) -> Type:
    need_float(x=x, cos=cos, sin=sin, short_cos=short_cos, short_sin=short_sin)
    need_rank(4, x=x)
    need_rank(2, cos=cos, short_cos=short_cos)
    need(cos.shape == sin.shape, f"cos {show(cos.shape)} and sin {show(sin.shape)} differ")
    need(short_cos == short_sin, f"short_cos is {short_cos} and short_sin {short_sin}; they are alike")
    need(
        short_cos is None or short_cos.shape[1] == cos.shape[1],
        f"short_cos {show(short_cos.shape if short_cos else ())} and cos {show(cos.shape)} rotate differently much",
    )
    rotated, size = cos.shape[1], x.shape[3]
    fits = isinstance(rotated, int) and isinstance(size, int) and 2 * rotated <= size
    need(fits, f"the table rotates 2·{rotated} dimensions and a head has {size}")
    want = Type("i64", (x.shape[0], x.shape[2]))
    need(position_ids == want, f"position_ids is {position_ids}; it must be {want}")
    return x


def _given(**attrs: Any) -> dict[str, Any]:
    """The attributes that say something: an absent one is left out of the graph."""
    return {name: value for name, value in attrs.items() if value is not None}


def attention(
    q: Value,
    k: Value,
    v: Value,
    *,
    scale: float,
    mask: Value | None = None,
    bias: Value | None = None,
    softcap: float | None = None,
) -> Value:
    """softmax(scale · q·kᵀ + bias)·v: f32 [batch, heads, tokens, v's head_dim] (Vaswani et al., 2017).

    `mask` i64 [batch, keys] hides the keys where it is 0. `bias` f32 broadcasts to [batch, heads, tokens, keys].
    `softcap` c bounds scale · q·kᵀ by c·tanh(· / c) (Bello et al., 2017; Gemma 2).
    """
    return q.graph.record("attention", [q, k, v, mask, bias], scale=scale, **_given(softcap=softcap))


def cached_attention(
    q: Value,
    k: Value,
    v: Value,
    cache: CacheLayer,
    *,
    attention_mask: Value,
    beam_idx: Value,
    scale: float,
    window: int | None = None,
    softcap: float | None = None,
) -> Value:
    """Causal attention over everything cached so far and the new tokens: f32 [batch, heads, tokens, head_dim].

    1. Row b of the cache becomes row `beam_idx[b]` (i32 [batch]; ignored while the cache is empty).
    2. `k` and `v` f32 [batch, kv_heads, tokens, head_dim] are appended: the cache holds `past + tokens` keys.
    3. Token t sees key j where j <= past + t, `attention_mask[b, j]` (i64 [batch, past+tokens]) is not 0 and, with a
       `window`, j > past + t - window (Beltagy et al., 2020). `softcap` as in `attention`.
    """
    inputs = [q, k, v, attention_mask, beam_idx]
    options = _given(window=window, softcap=softcap)
    return q.graph.record("cached_attention", inputs, cache=cache.cache.name, layer=cache.layer, scale=scale, **options)


def rope(x: Value, position_ids: Value, table: Sequence[Value]) -> Value:
    """Rotary position embedding (Su et al., 2021), half-split: dimension i turns with dimension i + rotary / 2.

    `x` f32 [batch, heads, tokens, head_dim]; `position_ids` i64 [batch, tokens] picks rows of the `table` (cos, sin),
    each f32 [positions, rotary / 2]; see `rope.table`. With x1, x2 the halves of the first `rotary` dimensions of a
    head: (x1·cos - x2·sin, x2·cos + x1·sin); the other dimensions stay. A table of four goes on with cos and sin of
    short texts: a row of the batch whose positions all lie within those takes them instead.
    """
    return x.graph.record("rope", [x, position_ids, *table])
