"""Phi-3, Phi-3.5 and Phi-4-mini (Abdin et al., 2024, https://arxiv.org/abs/2404.14219): Llama's layers with one
projection for queries, keys and values and one for gate and up, LongRoPE, and rotation of a part of each head
(Phi-4-mini).

Reference implementation: transformers, `Phi3ForCausalLM`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tools.builder import ops
from tools.builder.config import reads
from tools.builder.decoders import attend, begin, each_layer, embed, logits
from tools.builder.graph import CacheLayer, Graph, Value
from tools.builder.layers import DecoderInputs, linear, split_heads
from tools.builder.rope import Rope, RopeTable
from tools.builder.weights import Weights
from tools.builder.windows import Windows

UNNEEDED = ("model.layers.*.self_attn.rotary_emb.inv_freq",)


@dataclass(frozen=True)
class Config:
    """The fields of config.json that the architecture depends on."""

    hidden_size: int = 3072
    num_hidden_layers: int = 32
    num_attention_heads: int = 32
    num_key_value_heads: int | None = None
    head_dim: int | None = None
    hidden_act: Literal["silu"] = "silu"
    max_position_embeddings: int = 4096
    original_max_position_embeddings: int = 4096
    rms_norm_eps: float = 1e-5
    tie_word_embeddings: bool | None = None
    rope: Rope = reads(Rope, partial=True, aliases={"su": "longrope", "yarn": "longrope"})
    windows: Windows = reads(Windows, sliding_window=None)


def decoder(g: Graph, c: Config, w: Weights) -> None:
    """Tokens to logits, f32 [batch, kept, vocab]."""
    t, cache, rope = begin(g, c)
    x, head = embed(t, w, c.tie_word_embeddings)
    for i, layer in each_layer(g, w, c.num_hidden_layers):
        h = ops.rms_norm(x, layer["input_layernorm.weight"], eps=c.rms_norm_eps)
        x = x + attention(t, cache[i], h, layer["self_attn"], c.num_attention_heads, rope, c.windows[i])
        h = ops.rms_norm(x, layer["post_attention_layernorm.weight"], eps=c.rms_norm_eps)
        x = x + mlp(h, layer["mlp"])
    g.output("logits", logits(x, t, w["model.norm.weight"], head, c.rms_norm_eps))


def attention(
    t: DecoderInputs, cache: CacheLayer, x: Value, w: Weights, heads: int, rope: RopeTable, window: int | None
) -> Value:
    """Grouped-query attention; the rows of one projection are those of queries, keys and values."""
    kv_heads = cache.cache.heads
    qkv = split_heads(linear(x, w["qkv_proj"], bias=False), heads + 2 * kv_heads)
    q, k, v = ops.split(qkv, 1, (heads, kv_heads, kv_heads))
    return linear(attend(t, cache, q, k, v, rope, window=window), w["o_proj"], bias=False)


def mlp(x: Value, w: Weights) -> Value:
    """SwiGLU (Shazeer, 2020); the rows of one projection are those of gate and up."""
    gate, up = ops.split(linear(x, w["gate_up_proj"], bias=False), -1, 2)
    return linear(ops.silu(gate) * up, w["down_proj"], bias=False)
