"""GPT-2 (Radford et al., 2019, "Language Models are Unsupervised Multitask Learners"): a pre-norm decoder with learned
positions. Its linear layers are stored [in, out] (TensorFlow's order).

Reference implementation: transformers, `GPT2LMHeadModel`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tools.builder import ops
from tools.builder.config import alias
from tools.builder.graph import CacheLayer, Graph, Value
from tools.builder.layers import Activation, DecoderInputs, activation, layer_norm, linear, merge_heads, split_heads
from tools.builder.weights import Weights

PREFIXES = ("transformer.",)
UNNEEDED = ("*h.*.attn.bias", "*h.*.attn.masked_bias")


@dataclass(frozen=True)
class Config:
    """The fields of config.json that the architecture depends on."""

    n_embd: int = alias("hidden_size", default=768)
    n_layer: int = alias("num_hidden_layers", default=12)
    n_head: int = alias("num_attention_heads", default=12)
    activation_function: Activation = "gelu_new"
    layer_norm_epsilon: float = 1e-5
    scale_attn_weights: bool = True
    scale_attn_by_inverse_layer_idx: bool = False
    add_cross_attention: Literal[False] = False
    tie_word_embeddings: bool | None = None


def decoder(g: Graph, c: Config, w: Weights) -> None:
    """Tokens to logits, f32 [batch, kept, vocab]."""
    t = DecoderInputs.declare(g)
    cache = g.kv_cache(layers=c.n_layer, heads=c.n_head, head_dim=c.n_embd // c.n_head)
    embedding, head = w.tied("wte.weight", "lm_head.weight", c.tie_word_embeddings)

    x = ops.embedding(t.input_ids, embedding) + ops.embedding(t.position_ids, w["wpe.weight"])
    for i in range(c.n_layer):
        with g.scope(f"h.{i}"):
            block = w[f"h.{i}"]
            h = layer_norm(x, block["ln_1"], c.layer_norm_epsilon)
            x = x + attention(h, t, cache[i], c, block["attn"])
            h = layer_norm(x, block["ln_2"], c.layer_norm_epsilon)
            h = activation(linear(h, block["mlp.c_fc"], weight_layout="in_out"), c.activation_function)
            x = x + linear(h, block["mlp.c_proj"], weight_layout="in_out")

    x = ops.trailing(x, t.logits_to_keep)
    x = layer_norm(x, w["ln_f"], c.layer_norm_epsilon)
    g.output("logits", ops.linear(x, head))


def attention(x: Value, t: DecoderInputs, cache: CacheLayer, c: Config, w: Weights) -> Value:
    """Multi-head attention; one layer makes queries, keys and values."""
    qkv = linear(x, w["c_attn"], weight_layout="in_out")
    q, k, v = (split_heads(part, c.n_head) for part in ops.split(qkv, axis=-1, parts=3))
    scale = cache.cache.head_dim**-0.5 if c.scale_attn_weights else 1.0
    if c.scale_attn_by_inverse_layer_idx:
        scale /= cache.layer + 1
    h = ops.cached_attention(q, k, v, cache, attention_mask=t.attention_mask, beam_idx=t.beam_idx, scale=scale)
    return linear(merge_heads(h), w["c_proj"], weight_layout="in_out")
