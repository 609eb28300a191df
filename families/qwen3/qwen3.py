"""Qwen3 (Qwen Team, 2025, https://arxiv.org/abs/2505.09388): a pre-norm decoder with grouped-query attention whose
queries and keys are RMS-normalised per head before the rotation.

Reference implementation: transformers, `Qwen3ForCausalLM`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tools.builder import ops
from tools.builder.config import ConfigError
from tools.builder.graph import CacheLayer, Graph, Value
from tools.builder.layers import DecoderInputs, linear, merge_heads, split_heads
from tools.builder.rope import Rope
from tools.builder.weights import Weights


@dataclass(frozen=True)
class Config:
    """The fields of config.json that the architecture depends on."""

    num_hidden_layers: int = 32
    num_attention_heads: int = 32
    num_key_value_heads: int | None = 32
    head_dim: int = 128
    hidden_act: Literal["silu"] = "silu"
    max_position_embeddings: int = 32768
    rms_norm_eps: float = 1e-6
    attention_bias: bool = False
    tie_word_embeddings: bool | None = None
    use_sliding_window: Literal[False] = False
    layer_types: list[str] | None = None
    rope: Rope = field(default_factory=Rope)

    def __post_init__(self) -> None:
        if set(self.layer_types or ()) - {"full_attention"}:
            raise ConfigError(f"config.json: layer_types is {self.layer_types}; only 'full_attention' is supported")


def decoder(g: Graph, c: Config, w: Weights) -> None:
    """Tokens to logits, f32 [batch, kept, vocab]."""
    t = DecoderInputs.declare(g)
    kv_heads = c.num_key_value_heads or c.num_attention_heads
    cache = g.kv_cache(layers=c.num_hidden_layers, heads=kv_heads, head_dim=c.head_dim)
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

    x = ops.trailing(x, t.logits_to_keep)
    x = ops.rms_norm(x, w["model.norm.weight"], eps=c.rms_norm_eps)
    g.output("logits", ops.linear(x, head))


def attention(x: Value, t: DecoderInputs, rope: tuple[Value, Value], cache: CacheLayer, c: Config, w: Weights) -> Value:
    """Grouped-query attention with normalised queries and keys."""
    q = split_heads(linear(x, w["q_proj"], c.attention_bias), c.num_attention_heads)
    k = split_heads(linear(x, w["k_proj"], c.attention_bias), cache.cache.heads)
    v = split_heads(linear(x, w["v_proj"], c.attention_bias), cache.cache.heads)
    q = ops.rope(ops.rms_norm(q, w["q_norm.weight"], eps=c.rms_norm_eps), t.position_ids, rope)
    k = ops.rope(ops.rms_norm(k, w["k_norm.weight"], eps=c.rms_norm_eps), t.position_ids, rope)
    h = ops.cached_attention(
        q, k, v, cache, attention_mask=t.attention_mask, beam_idx=t.beam_idx, scale=c.head_dim**-0.5
    )
    return linear(merge_heads(h), w["o_proj"], c.attention_bias)


def mlp(x: Value, w: Weights) -> Value:
    """SwiGLU (Shazeer, 2020)."""
    gate = ops.silu(linear(x, w["gate_proj"], bias=False))
    return linear(gate * linear(x, w["up_proj"], bias=False), w["down_proj"], bias=False)
