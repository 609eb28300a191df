"""Mistral 7B v0.3 (Jiang et al., 2023, https://arxiv.org/abs/2310.06825): without the first
version's sliding window.

Reference implementation: transformers, `MistralForCausalLM`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tools.builder import ops
from tools.builder.graph import CacheLayer, Graph, Value
from tools.builder.layers import DecoderInputs, linear, merge_heads, split_heads
from tools.builder.rope import Rope
from tools.builder.weights import Weights


@dataclass(frozen=True)
class Config:
    """The fields of config.json that the architecture depends on."""

    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    max_position_embeddings: int
    rms_norm_eps: float
    hidden_act: Literal["silu"] = "silu"
    sliding_window: None = None
    tie_word_embeddings: bool | None = None
    rope: Rope = field(default_factory=Rope)


def decoder(g: Graph, c: Config, w: Weights) -> None:
    """Tokens to logits, f32 [batch, kept, vocab]."""
    t = DecoderInputs.declare(g)
    cache = g.kv_cache(layers=c.num_hidden_layers, heads=c.num_key_value_heads, head_dim=c.head_dim)
    rope = c.rope.table(g, c.head_dim, c.max_position_embeddings)
    embedding, head = w.tied("model.embed_tokens.weight", "lm_head.weight", c.tie_word_embeddings)
    x = ops.embedding(t.input_ids, embedding)
    for i in range(c.num_hidden_layers):
        with g.scope(f"layers.{i}"):
            layer = w[f"model.layers.{i}"]
            h = ops.rms_norm(x, layer["input_layernorm.weight"], eps=c.rms_norm_eps)
            x = x + attention(h, t, rope, cache[i], c, layer["self_attn"])
            h = ops.rms_norm(x, layer["post_attention_layernorm.weight"], eps=c.rms_norm_eps)
            x = x + mlp(h, layer["mlp"])
    x = ops.rms_norm(ops.trailing(x, t.logits_to_keep), w["model.norm.weight"], eps=c.rms_norm_eps)
    g.output("logits", ops.linear(x, head))


def attention(x: Value, t: DecoderInputs, rope: tuple[Value, Value], cache: CacheLayer, c: Config, w: Weights) -> Value:
    """Grouped-query attention."""
    q = ops.rope(split_heads(linear(x, w["q_proj"], False), c.num_attention_heads), t.position_ids, rope)
    k = ops.rope(split_heads(linear(x, w["k_proj"], False), c.num_key_value_heads), t.position_ids, rope)
    v = split_heads(linear(x, w["v_proj"], False), c.num_key_value_heads)
    scale = c.head_dim**-0.5
    h = ops.cached_attention(q, k, v, cache, attention_mask=t.attention_mask, beam_idx=t.beam_idx, scale=scale)
    return linear(merge_heads(h), w["o_proj"], False)


def mlp(x: Value, w: Weights) -> Value:
    """SwiGLU."""
    return linear(ops.silu(linear(x, w["gate_proj"], False)) * linear(x, w["up_proj"], False), w["down_proj"], False)
