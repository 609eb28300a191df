"""SmolLM3 (Bakouch et al., 2025, https://huggingface.co/blog/smollm3): Llama's layers, of which every fourth has no
rotary positions (Yang et al., 2025, https://arxiv.org/abs/2501.18795).

Reference implementation: transformers, `SmolLM3ForCausalLM`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tools.builder import ops
from tools.builder.config import ConfigError, reads
from tools.builder.decoders import attention, begin, each_layer, embed, gated_mlp, logits
from tools.builder.graph import Graph
from tools.builder.rope import Rope
from tools.builder.weights import Weights
from tools.builder.windows import Windows


@dataclass(frozen=True)
class Config:
    """The fields of config.json that the architecture depends on."""

    hidden_size: int = 2048
    num_hidden_layers: int = 36
    num_attention_heads: int = 16
    num_key_value_heads: int | None = 4
    head_dim: int | None = None
    hidden_act: Literal["silu"] = "silu"
    max_position_embeddings: int = 32768
    rms_norm_eps: float = 1e-6
    attention_bias: bool = False
    mlp_bias: bool = False
    tie_word_embeddings: bool | None = None
    no_rope_layers: list[int] | None = None
    no_rope_layer_interval: int = 4
    layer_types: list[str] | None = None
    rope: Rope = reads(Rope, theta=2000000.0)
    windows: Windows = reads(Windows, sliding_window=None, use_sliding_window=False, layer_types=None)

    def __post_init__(self) -> None:
        stated = self.no_rope_layers
        if stated is not None and (len(stated) < self.num_hidden_layers or set(stated) - {0, 1}):
            raise ConfigError(
                f"config.json: no_rope_layers is {stated}; it must have 0 or 1 for each of num_hidden_layers "
                f"{self.num_hidden_layers}"
            )

    def turns(self, layer: int) -> bool:
        """Whether a layer has rotary positions. (A 1 in `no_rope_layers` says that it has.)"""
        if self.no_rope_layers is not None:
            return bool(self.no_rope_layers[layer])
        return (layer + 1) % self.no_rope_layer_interval != 0

    def window(self, layer: int) -> int | None:
        """The layers without rotary positions slide, unless config.json states each layer's kind."""
        return None if self.layer_types is None and self.turns(layer) else self.windows[layer]


def decoder(g: Graph, c: Config, w: Weights) -> None:
    """Tokens to logits, f32 [batch, kept, vocab]."""
    t, cache, rope = begin(g, c)
    x, head = embed(t, w, c.tie_word_embeddings)
    for i, layer in each_layer(g, w, c.num_hidden_layers):
        h = ops.rms_norm(x, layer["input_layernorm.weight"], eps=c.rms_norm_eps)
        x = x + attention(
            t, cache[i], h, layer["self_attn"], c.num_attention_heads, rope if c.turns(i) else None,
            bias=c.attention_bias, window=c.window(i),
        )  # fmt: skip
        h = ops.rms_norm(x, layer["post_attention_layernorm.weight"], eps=c.rms_norm_eps)
        x = x + gated_mlp(h, layer["mlp"], bias=c.mlp_bias)
    g.output("logits", logits(x, t, w["model.norm.weight"], head, c.rms_norm_eps))
