"""OLMo 2 (Team OLMo, 2025, https://arxiv.org/abs/2501.00656): each part of a layer is RMS-normalised after it and not
before; queries and keys are normalised whole, over all heads at once, before the rotation.

Reference implementation: transformers, `Olmo2ForCausalLM`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tools.builder import ops
from tools.builder.decoders import attend, begin, each_layer, embed, gated_mlp, logits
from tools.builder.graph import CacheLayer, Graph, Value
from tools.builder.layers import DecoderInputs, linear, split_heads
from tools.builder.rope import Rope, RopeTable
from tools.builder.weights import Weights


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
    rms_norm_eps: float = 1e-5
    attention_bias: bool = False
    tie_word_embeddings: bool | None = None
    rope: Rope = field(default_factory=Rope)


def decoder(g: Graph, c: Config, w: Weights) -> None:
    """Tokens to logits, f32 [batch, kept, vocab]."""
    t, cache, rope = begin(g, c)
    x, head = embed(t, w, c.tie_word_embeddings)
    for i, layer in each_layer(g, w, c.num_hidden_layers):
        h = attention(t, cache[i], x, layer["self_attn"], c, rope)
        x = x + ops.rms_norm(h, layer["post_attention_layernorm.weight"], eps=c.rms_norm_eps)
        h = gated_mlp(x, layer["mlp"])
        x = x + ops.rms_norm(h, layer["post_feedforward_layernorm.weight"], eps=c.rms_norm_eps)
    g.output("logits", logits(x, t, w["model.norm.weight"], head, c.rms_norm_eps))


def attention(t: DecoderInputs, cache: CacheLayer, x: Value, w: Weights, c: Config, rope: RopeTable) -> Value:
    """Grouped-query attention; `q_norm` and `k_norm` span all heads."""
    q = ops.rms_norm(linear(x, w["q_proj"], c.attention_bias), w["q_norm.weight"], eps=c.rms_norm_eps)
    k = ops.rms_norm(linear(x, w["k_proj"], c.attention_bias), w["k_norm.weight"], eps=c.rms_norm_eps)
    v = linear(x, w["v_proj"], c.attention_bias)
    q, k, v = (
        split_heads(y, n) for y, n in ((q, c.num_attention_heads), (k, cache.cache.heads), (v, cache.cache.heads))
    )
    return linear(attend(t, cache, q, k, v, rope), w["o_proj"], c.attention_bias)
