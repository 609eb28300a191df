"""Gemma 3, its text models (Gemma Team, 2025, https://arxiv.org/abs/2503.19786): RMS norms before and after each part
of a layer, which multiply by 1 + weight; most layers attend to a sliding window and rotate by another base than the
others.

Reference implementation: transformers, `Gemma3ForCausalLM`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tools.builder import ops
from tools.builder.config import reads
from tools.builder.decoders import attend, each_layer, embed, gated_mlp
from tools.builder.graph import CacheLayer, Graph, Value
from tools.builder.layers import DecoderInputs, linear, split_heads
from tools.builder.rope import LayerRopes, RopeTable
from tools.builder.weights import Weights
from tools.builder.windows import Windows


@dataclass(frozen=True)
class Config:
    """The fields of config.json that the architecture depends on."""

    hidden_size: int = 2304
    num_hidden_layers: int = 26
    num_attention_heads: int = 8
    num_key_value_heads: int = 4
    head_dim: int = 256
    hidden_activation: Literal["gelu_pytorch_tanh"] = "gelu_pytorch_tanh"
    max_position_embeddings: int = 131072
    rms_norm_eps: float = 1e-6
    attention_bias: bool = False
    query_pre_attn_scalar: float = 256
    tie_word_embeddings: bool | None = None
    final_logit_softcapping: float | None = None
    attn_logit_softcapping: None = None
    use_bidirectional_attention: Literal[False] | None = False
    ropes: LayerRopes = reads(LayerRopes, theta=1000000.0, local_theta=10000.0)
    windows: Windows = reads(Windows, sliding_window=4096, sliding_window_pattern=6, layer_types=None)


def decoder(g: Graph, c: Config, w: Weights) -> None:
    """Tokens to logits, f32 [batch, kept, vocab]."""
    t = DecoderInputs.declare(g)
    cache = g.kv_cache(layers=c.num_hidden_layers, heads=c.num_key_value_heads, head_dim=c.head_dim)
    full, sliding = (rope.table(g, c.head_dim, c.max_position_embeddings) for rope in (c.ropes.full, c.ropes.sliding))

    x, head = embed(t, w, c.tie_word_embeddings)
    x = x * c.hidden_size**0.5
    for i, layer in each_layer(g, w, c.num_hidden_layers):
        window = c.windows[i]
        h = norm(x, layer["input_layernorm"], c)
        h = attention(t, cache[i], h, layer["self_attn"], c, sliding if window else full, window)
        x = x + norm(h, layer["post_attention_layernorm"], c)
        h = gated_mlp(norm(x, layer["pre_feedforward_layernorm"], c), layer["mlp"], c.hidden_activation)
        x = x + norm(h, layer["post_feedforward_layernorm"], c)

    y = ops.linear(norm(ops.trailing(x, t.logits_to_keep), w["model.norm"], c), head)
    if c.final_logit_softcapping is not None:
        y = ops.tanh(y / c.final_logit_softcapping) * c.final_logit_softcapping
    g.output("logits", y)


def norm(x: Value, w: Weights, c: Config) -> Value:
    """RMS norm whose weight is stored as its distance from 1."""
    return ops.rms_norm(x, w["weight"].value + 1.0, eps=c.rms_norm_eps)


def attention(
    t: DecoderInputs, cache: CacheLayer, x: Value, w: Weights, c: Config, rope: RopeTable, window: int | None
) -> Value:
    """Grouped-query attention with normalised queries and keys."""
    q = split_heads(linear(x, w["q_proj"], c.attention_bias), c.num_attention_heads)
    k, v = (split_heads(linear(x, w[name], c.attention_bias), cache.cache.heads) for name in ("k_proj", "v_proj"))
    q, k = norm(q, w["q_norm"], c), norm(k, w["k_norm"], c)
    h = attend(t, cache, q, k, v, rope, scale=c.query_pre_attn_scalar**-0.5, window=window)
    return linear(h, w["o_proj"], c.attention_bias)
