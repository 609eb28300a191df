"""BERT (Devlin et al., 2018, https://arxiv.org/abs/1810.04805): a bidirectional encoder, post-norm.

Reference implementation: transformers, `BertModel`. As text embeddings: Sentence-BERT (Reimers and Gurevych, 2019).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tools.builder import ops
from tools.builder.graph import Graph, Value
from tools.builder.layers import Activation, activation, layer_norm, linear, merge_heads, split_heads
from tools.builder.weights import Weights

PREFIXES = ("bert.",)
UNNEEDED = ("*embeddings.position_ids", "*pooler.*", "cls.*")


@dataclass(frozen=True)
class Config:
    """The fields of config.json that the architecture depends on."""

    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    hidden_act: Activation = "gelu"
    layer_norm_eps: float = 1e-12
    position_embedding_type: Literal["absolute"] = "absolute"
    is_decoder: Literal[False] = False


def encoder(g: Graph, c: Config, w: Weights) -> None:
    """Tokens to hidden states, f32 [batch, tokens, hidden]."""
    input_ids = g.input("input_ids", "i64", ("batch", "tokens"))
    attention_mask = g.input("attention_mask", "i64", ("batch", "tokens"))
    token_type_ids = g.input("token_type_ids", "i64", ("batch", "tokens"))

    with g.scope("embeddings"):
        table = w["embeddings"]
        x = ops.embedding(input_ids, table["word_embeddings.weight"])
        x = x + ops.embedding(token_type_ids, table["token_type_embeddings.weight"])
        x = x + ops.embedding(ops.positions(input_ids), table["position_embeddings.weight"])
        x = layer_norm(x, table["LayerNorm"], c.layer_norm_eps)

    for i in range(c.num_hidden_layers):
        with g.scope(f"layer.{i}"):
            layer = w[f"encoder.layer.{i}"]
            h = attention(x, attention_mask, c, layer["attention.self"])
            h = linear(h, layer["attention.output.dense"])
            x = layer_norm(h + x, layer["attention.output.LayerNorm"], c.layer_norm_eps)
            h = activation(linear(x, layer["intermediate.dense"]), c.hidden_act)
            h = linear(h, layer["output.dense"])
            x = layer_norm(h + x, layer["output.LayerNorm"], c.layer_norm_eps)

    g.output("last_hidden_state", x)


def attention(x: Value, mask: Value, c: Config, w: Weights) -> Value:
    """Multi-head self-attention that sees every token but the padding."""
    q, k, v = (split_heads(linear(x, w[name]), c.num_attention_heads) for name in ("query", "key", "value"))
    head_dim = c.hidden_size // c.num_attention_heads
    return merge_heads(ops.attention(q, k, v, mask=mask, scale=head_dim**-0.5))
