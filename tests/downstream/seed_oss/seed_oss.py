"""Seed-OSS (ByteDance Seed Team, 2025): Llama's layers with biases on queries, keys and values.

Reference implementation: transformers, `SeedOssForCausalLM`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tools.builder import ops
from tools.builder.decoders import attention, each_layer, embed, gated_mlp, logits
from tools.builder.graph import Graph
from tools.builder.layers import DecoderInputs
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
    attention_bias: bool = True
    attention_out_bias: Literal[False] = False
    mlp_bias: Literal[False] = False
    hidden_act: Literal["silu"] = "silu"
    tie_word_embeddings: bool | None = None
    rope: Rope = field(default_factory=Rope)


def decoder(g: Graph, c: Config, w: Weights) -> None:
    """Tokens to logits, f32 [batch, kept, vocab]."""
    t = DecoderInputs.declare(g)
    cache = g.kv_cache(layers=c.num_hidden_layers, heads=c.num_key_value_heads, head_dim=c.head_dim)
    rope = c.rope.table(g, c.head_dim, c.max_position_embeddings)
    x, head = embed(t, w, c.tie_word_embeddings)
    for i, layer in each_layer(g, w, c.num_hidden_layers):
        h = ops.rms_norm(x, layer["input_layernorm.weight"], eps=c.rms_norm_eps)
        x = x + attention(
            t, cache[i], h, layer["self_attn"], c.num_attention_heads, rope, bias=c.attention_bias, out_bias=False
        )
        h = ops.rms_norm(x, layer["post_attention_layernorm.weight"], eps=c.rms_norm_eps)
        x = x + gated_mlp(h, layer["mlp"])
    g.output("logits", logits(x, t, w["model.norm.weight"], head, c.rms_norm_eps))
