"""Llama 2 and 3 (Touvron et al., 2023, https://arxiv.org/abs/2307.09288; Llama Team, 2024,
https://arxiv.org/abs/2407.21783): a pre-norm decoder with rotary positions, grouped-query attention and SwiGLU.

Reference implementation: transformers, `LlamaForCausalLM`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tools.builder import ops
from tools.builder.graph import CacheLayer, Graph, Value
from tools.builder.layers import DecoderInputs, linear, merge_heads, split_heads
from tools.builder.rope import Rope
from tools.builder.weights import Weights

UNNEEDED = ("model.layers.*.self_attn.rotary_emb.inv_freq",)


@dataclass(frozen=True)
class Config:
    """The fields of config.json that the architecture depends on."""

    hidden_size: int = 4096
    num_hidden_layers: int = 32
    num_attention_heads: int = 32
    num_key_value_heads: int | None = None
    head_dim: int | None = None
    hidden_act: Literal["silu"] = "silu"
    max_position_embeddings: int = 2048
    rms_norm_eps: float = 1e-6
    attention_bias: bool = False
    mlp_bias: bool = False
    tie_word_embeddings: bool | None = None
    rope: Rope = field(default_factory=Rope)


def decoder(g: Graph, c: Config, w: Weights) -> None:
    """Tokens to logits, f32 [batch, kept, vocab]."""
    t = DecoderInputs.declare(g)
    kv_heads = c.num_key_value_heads or c.num_attention_heads
    head_dim = c.head_dim or c.hidden_size // c.num_attention_heads
    cache = g.kv_cache(layers=c.num_hidden_layers, heads=kv_heads, head_dim=head_dim)
    rope = c.rope.table(g, head_dim, c.max_position_embeddings)
    embedding, head = w.tied("model.embed_tokens.weight", "lm_head.weight", c.tie_word_embeddings)

    x = ops.embedding(t.input_ids, embedding)
    for i in range(c.num_hidden_layers):
        with g.scope(f"layers.{i}"):
            layer = w[f"model.layers.{i}"]
            h = ops.rms_norm(x, layer["input_layernorm.weight"], eps=c.rms_norm_eps)
            x = x + attention(h, t, rope, cache[i], c, layer["self_attn"])
            h = ops.rms_norm(x, layer["post_attention_layernorm.weight"], eps=c.rms_norm_eps)
            x = x + mlp(h, c, layer["mlp"])

    x = ops.trailing(x, t.logits_to_keep)
    x = ops.rms_norm(x, w["model.norm.weight"], eps=c.rms_norm_eps)
    g.output("logits", ops.linear(x, head))


def attention(x: Value, t: DecoderInputs, rope: tuple[Value, Value], cache: CacheLayer, c: Config, w: Weights) -> Value:
    """Grouped-query attention."""
    q = split_heads(linear(x, w["q_proj"], c.attention_bias), c.num_attention_heads)
    k = split_heads(linear(x, w["k_proj"], c.attention_bias), cache.cache.heads)
    v = split_heads(linear(x, w["v_proj"], c.attention_bias), cache.cache.heads)
    q, k = ops.rope(q, t.position_ids, rope), ops.rope(k, t.position_ids, rope)
    scale = cache.cache.head_dim**-0.5
    h = ops.cached_attention(q, k, v, cache, attention_mask=t.attention_mask, beam_idx=t.beam_idx, scale=scale)
    return linear(merge_heads(h), w["o_proj"], c.attention_bias)


def mlp(x: Value, c: Config, w: Weights) -> Value:
    """SwiGLU (Shazeer, 2020)."""
    gate = ops.silu(linear(x, w["gate_proj"], c.mlp_bias))
    return linear(gate * linear(x, w["up_proj"], c.mlp_bias), w["down_proj"], c.mlp_bias)
