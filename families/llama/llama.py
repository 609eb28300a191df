"""Llama 2 and 3 (Touvron et al., 2023, https://arxiv.org/abs/2307.09288; Llama Team, 2024,
https://arxiv.org/abs/2407.21783): a pre-norm decoder with rotary positions, grouped-query attention and SwiGLU.

Reference implementation: transformers, `LlamaForCausalLM`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tools.builder import ops
from tools.builder.decoders import attention, begin, each_layer, embed, gated_mlp, logits
from tools.builder.graph import Graph
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
    t, cache, rope = begin(g, c)
    x, head = embed(t, w, c.tie_word_embeddings)
    for i, layer in each_layer(g, w, c.num_hidden_layers):
        h = ops.rms_norm(x, layer["input_layernorm.weight"], eps=c.rms_norm_eps)
        x = x + attention(t, cache[i], h, layer["self_attn"], c.num_attention_heads, rope, bias=c.attention_bias)
        h = ops.rms_norm(x, layer["post_attention_layernorm.weight"], eps=c.rms_norm_eps)
        x = x + gated_mlp(h, layer["mlp"], bias=c.mlp_bias)
    g.output("logits", logits(x, t, w["model.norm.weight"], head, c.rms_norm_eps))
