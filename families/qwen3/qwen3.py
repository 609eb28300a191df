"""Qwen3 (Qwen Team, 2025, https://arxiv.org/abs/2505.09388): a pre-norm decoder with grouped-query attention whose
queries and keys are RMS-normalised per head before the rotation.

Reference implementation: transformers, `Qwen3ForCausalLM`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tools.builder import ops
from tools.builder.config import reads
from tools.builder.decoders import attention, each_layer, embed, gated_mlp, logits
from tools.builder.graph import Graph
from tools.builder.layers import DecoderInputs
from tools.builder.rope import Rope
from tools.builder.weights import Weights
from tools.builder.windows import Windows


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
    rope: Rope = field(default_factory=Rope)
    windows: Windows = reads(
        Windows, sliding_window=4096, use_sliding_window=False, max_window_layers=28, layer_types=None
    )


def decoder(g: Graph, c: Config, w: Weights) -> None:
    """Tokens to logits, f32 [batch, kept, vocab]."""
    t = DecoderInputs.declare(g)
    kv_heads = c.num_key_value_heads or c.num_attention_heads
    cache = g.kv_cache(layers=c.num_hidden_layers, heads=kv_heads, head_dim=c.head_dim)
    rope = c.rope.table(g, c.head_dim, c.max_position_embeddings)

    x, head = embed(t, w, c.tie_word_embeddings)
    for i, layer in each_layer(g, w, c.num_hidden_layers):
        h = ops.rms_norm(x, layer["input_layernorm.weight"], eps=c.rms_norm_eps)
        x = x + attention(
            t, cache[i], h, layer["self_attn"], c.num_attention_heads, rope,
            bias=c.attention_bias, norm_eps=c.rms_norm_eps, window=c.windows[i],
        )  # fmt: skip
        h = ops.rms_norm(x, layer["post_attention_layernorm.weight"], eps=c.rms_norm_eps)
        x = x + gated_mlp(h, layer["mlp"])
    g.output("logits", logits(x, t, w["model.norm.weight"], head, c.rms_norm_eps))
