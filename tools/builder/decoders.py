"""The frame and the blocks that today's text decoders share; a family composes them in its own order.

t = DecoderInputs.declare(g)
x, head = embed(t, w, c.tie_word_embeddings)
for i, layer in each_layer(g, w, c.num_hidden_layers):
    h = ops.rms_norm(x, layer["input_layernorm.weight"], eps=c.rms_norm_eps)
    x = x + attention(t, cache[i], h, layer["self_attn"], c.num_attention_heads, rope)
    h = ops.rms_norm(x, layer["post_attention_layernorm.weight"], eps=c.rms_norm_eps)
    x = x + gated_mlp(h, layer["mlp"])
g.output("logits", logits(x, t, w["model.norm.weight"], head, c.rms_norm_eps))
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from tools.builder import ops
from tools.builder.config import ConfigError
from tools.builder.graph import Cache, CacheLayer, Graph, Operand, Value
from tools.builder.layers import Activation, DecoderInputs, activation, linear, merge_heads, split_heads
from tools.builder.rope import Rope, RopeTable
from tools.builder.weights import Weights


def head_size(hidden_size: int, heads: int, head_dim: int | None = None) -> int:
    """The size of a head: as config.json states it, else `hidden_size` / `heads`. Raises `ConfigError`."""
    if head_dim is not None:
        return head_dim
    if heads < 1 or hidden_size % heads:
        raise ConfigError(
            f"config.json: hidden_size {hidden_size} does not divide into num_attention_heads {heads}, "
            f"and head_dim is not stated"
        )
    return hidden_size // heads


class Heads(Protocol):
    """What a family's `Config` says of heads and positions, with the names that config.json has for it."""

    @property
    def hidden_size(self) -> int: ...
    @property
    def num_hidden_layers(self) -> int: ...
    @property
    def num_attention_heads(self) -> int: ...
    @property
    def num_key_value_heads(self) -> int | None: ...
    @property
    def head_dim(self) -> int | None: ...
    @property
    def max_position_embeddings(self) -> int: ...
    @property
    def rope(self) -> Rope: ...


def begin(g: Graph, c: Heads) -> tuple[DecoderInputs, Cache, RopeTable]:
    """A decoder's inputs, its cache and its rotary table, for a model whose layers are alike in heads and rotation."""
    t = DecoderInputs.declare(g)
    head_dim = head_size(c.hidden_size, c.num_attention_heads, c.head_dim)
    kv_heads = c.num_key_value_heads or c.num_attention_heads
    cache = g.kv_cache(layers=c.num_hidden_layers, heads=kv_heads, head_dim=head_dim)
    return t, cache, c.rope.table(g, head_dim, c.max_position_embeddings)


def embed(t: DecoderInputs, w: Weights, tied: bool | None) -> tuple[Value, Weights]:
    """The tokens' embeddings, f32 [batch, tokens, hidden], and the weight of the output head."""
    embedding, head = w.tied("model.embed_tokens.weight", "lm_head.weight", tied)
    return ops.embedding(t.input_ids, embedding), head


def each_layer(g: Graph, w: Weights, count: int) -> Iterator[tuple[int, Weights]]:
    """The layers' indices and weights; what is recorded meanwhile has the scope `layers.<i>`."""
    for i in range(count):
        with g.scope(f"layers.{i}"):
            yield i, w[f"model.layers.{i}"]


def logits(x: Value, t: DecoderInputs, norm: Operand, head: Operand, eps: float) -> Value:
    """f32 [batch, kept, vocab] of the positions that `logits_to_keep` asks for, after the last RMS norm."""
    return ops.linear(ops.rms_norm(ops.trailing(x, t.logits_to_keep), norm, eps=eps), head)


def attend(
    t: DecoderInputs,
    cache: CacheLayer,
    q: Value,
    k: Value,
    v: Value,
    rope: RopeTable | None,
    *,
    scale: float | None = None,
    window: int | None = None,
) -> Value:
    """Rotation and cached attention of heads, f32 [batch, tokens, heads·head_dim]; `scale` is head_dim^-½ by default.

    q f32 [batch, heads, tokens, head_dim]; k, v f32 [batch, kv_heads, tokens, head_dim]. Without a `rope` the layer
    knows of positions only what the mask shows.
    """
    if rope is not None:
        q, k = ops.rope(q, t.position_ids, rope), ops.rope(k, t.position_ids, rope)
    return merge_heads(
        ops.cached_attention(
            q,
            k,
            v,
            cache,
            attention_mask=t.attention_mask,
            beam_idx=t.beam_idx,
            scale=cache.cache.head_dim**-0.5 if scale is None else scale,
            window=window,
        )
    )


def attention(
    t: DecoderInputs,
    cache: CacheLayer,
    x: Value,
    w: Weights,
    heads: int,
    rope: RopeTable | None,
    *,
    bias: bool = False,
    out_bias: bool | None = None,
    norm_eps: float | None = None,
    scale: float | None = None,
    window: int | None = None,
) -> Value:
    """Grouped-query attention with a projection each for queries, keys, values and output: [batch, tokens, hidden].

    `bias` is that of all four, or `out_bias` of the output's. With a `norm_eps`, `q_norm` and `k_norm` normalise each
    head before the rotation.
    """
    q = split_heads(linear(x, w["q_proj"], bias), heads)
    k, v = (split_heads(linear(x, w[name], bias), cache.cache.heads) for name in ("k_proj", "v_proj"))
    if norm_eps is not None:
        q, k = (ops.rms_norm(y, w[name]["weight"], eps=norm_eps) for y, name in ((q, "q_norm"), (k, "k_norm")))
    h = attend(t, cache, q, k, v, rope, scale=scale, window=window)
    return linear(h, w["o_proj"], bias if out_bias is None else out_bias)


def gated_mlp(x: Value, w: Weights, name: Activation = "silu", bias: bool = False) -> Value:
    """act(x·gate)·(x·up)·down (Shazeer, 2020): SwiGLU with the activation `silu`, GeGLU with `gelu`."""
    return linear(
        activation(linear(x, w["gate_proj"], bias), name) * linear(x, w["up_proj"], bias), w["down_proj"], bias
    )


def experts(w: Weights, count: int, names: tuple[str, str, str]) -> tuple[Weights, Weights, Weights]:
    """The weights of gate, up and down of `count` experts, stacked, as `ops.moe` takes them.

    A checkpoint has them one by one, `<i>.<name>.weight` for each of `names` (gate, up, down), or, since transformers
    5, stacked: `gate_up_proj` [experts, 2·inner, hidden] and `down_proj` [experts, hidden, inner].
    """
    if f"0.{names[0]}.weight" in w:
        gate, up, down = (w.stacked(name, [f"{i}.{name}.weight" for i in range(count)]) for name in names)
        return gate, up, down
    gate, up = (w.part(name, "gate_up_proj", 1, i, 2) for i, name in enumerate(names[:2]))
    return gate, up, w["down_proj"]


def sparse_mlp(x: Value, w: Weights, count: int, names: tuple[str, str, str], *, top_k: int, normalize: bool) -> Value:
    """A mixture of `count` SwiGLUs, `top_k` of which the router `gate` chooses for each token; see `ops.moe`."""
    scores = linear(x, w["gate"], bias=False)
    return ops.moe(x, scores, *experts(w["experts"], count, names), top_k=top_k, normalize=normalize)
