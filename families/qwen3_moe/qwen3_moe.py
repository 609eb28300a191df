"""Qwen3's mixtures of experts (Qwen Team, 2025, https://arxiv.org/abs/2505.09388): Qwen3's layers, most of them with
many small SwiGLU experts in place of one.

Reference implementation: transformers, `Qwen3MoeForCausalLM`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tools.builder import ops
from tools.builder.config import reads
from tools.builder.decoders import attention, begin, each_layer, embed, gated_mlp, logits, sparse_mlp
from tools.builder.graph import Graph
from tools.builder.rope import Rope
from tools.builder.weights import Weights
from tools.builder.windows import Windows

EXPERT = ("gate_proj", "up_proj", "down_proj")


@dataclass(frozen=True)
class Config:
    """The fields of config.json that the architecture depends on."""

    hidden_size: int = 2048
    num_hidden_layers: int = 24
    num_attention_heads: int = 32
    num_key_value_heads: int | None = 4
    head_dim: int | None = None
    hidden_act: Literal["silu"] = "silu"
    max_position_embeddings: int = 32768
    rms_norm_eps: float = 1e-6
    attention_bias: bool = False
    tie_word_embeddings: bool | None = None
    num_experts: int = 128
    num_experts_per_tok: int = 8
    norm_topk_prob: bool = False
    decoder_sparse_step: int = 1
    mlp_only_layers: list[int] | None = None
    rope: Rope = field(default_factory=Rope)
    windows: Windows = reads(Windows, sliding_window=4096, use_sliding_window=False)

    def is_sparse(self, layer: int) -> bool:
        """Whether a layer has experts."""
        return layer not in (self.mlp_only_layers or ()) and (layer + 1) % self.decoder_sparse_step == 0


def decoder(g: Graph, c: Config, w: Weights) -> None:
    """Tokens to logits, f32 [batch, kept, vocab]."""
    t, cache, rope = begin(g, c)
    x, head = embed(t, w, c.tie_word_embeddings)
    for i, layer in each_layer(g, w, c.num_hidden_layers):
        h = ops.rms_norm(x, layer["input_layernorm.weight"], eps=c.rms_norm_eps)
        x = x + attention(
            t, cache[i], h, layer["self_attn"], c.num_attention_heads, rope,
            bias=c.attention_bias, norm_eps=c.rms_norm_eps, window=c.windows[i],
        )  # fmt: skip
        h = ops.rms_norm(x, layer["post_attention_layernorm.weight"], eps=c.rms_norm_eps)
        if c.is_sparse(i):
            top_k, normalize = c.num_experts_per_tok, c.norm_topk_prob
            x = x + sparse_mlp(h, layer["mlp"], c.num_experts, EXPERT, top_k=top_k, normalize=normalize)
        else:
            x = x + gated_mlp(h, layer["mlp"])
    g.output("logits", logits(x, t, w["model.norm.weight"], head, c.rms_norm_eps))
