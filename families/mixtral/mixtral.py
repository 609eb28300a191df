"""Mixtral (Jiang et al., 2024, https://arxiv.org/abs/2401.04088): Mistral's layers, each with a mixture of SwiGLU
experts.

Reference implementation: transformers, `MixtralForCausalLM`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tools.builder import ops
from tools.builder.config import alias, reads
from tools.builder.decoders import attention, begin, each_layer, embed, logits, sparse_mlp
from tools.builder.graph import Graph
from tools.builder.rope import Rope
from tools.builder.weights import Weights
from tools.builder.windows import Windows

EXPERT = ("w1", "w3", "w2")
"""What checkpoints call gate, up and down."""


@dataclass(frozen=True)
class Config:
    """The fields of config.json that the architecture depends on."""

    hidden_size: int = 4096
    num_hidden_layers: int = 32
    num_attention_heads: int = 32
    num_key_value_heads: int | None = 8
    head_dim: int | None = None
    hidden_act: Literal["silu"] = "silu"
    max_position_embeddings: int = 131072
    rms_norm_eps: float = 1e-5
    tie_word_embeddings: bool | None = None
    num_local_experts: int = alias("num_experts", default=8)
    num_experts_per_tok: int = 2
    rope: Rope = reads(Rope, theta=1000000.0)
    windows: Windows = reads(Windows, sliding_window=None)


def decoder(g: Graph, c: Config, w: Weights) -> None:
    """Tokens to logits, f32 [batch, kept, vocab]."""
    t, cache, rope = begin(g, c)
    x, head = embed(t, w, c.tie_word_embeddings)
    for i, layer in each_layer(g, w, c.num_hidden_layers):
        h = ops.rms_norm(x, layer["input_layernorm.weight"], eps=c.rms_norm_eps)
        x = x + attention(t, cache[i], h, layer["self_attn"], c.num_attention_heads, rope, window=c.windows[i])
        h = ops.rms_norm(x, layer["post_attention_layernorm.weight"], eps=c.rms_norm_eps)
        mixture = layer["block_sparse_moe" if "block_sparse_moe.gate.weight" in layer else "mlp"]
        x = x + sparse_mlp(h, mixture, c.num_local_experts, EXPERT, top_k=c.num_experts_per_tok, normalize=True)
    g.output("logits", logits(x, t, w["model.norm.weight"], head, c.rms_norm_eps))
