"""The semantic ops that a family composes. `docs/graph.md` gives each op's inputs, attributes and meaning."""

from tools.builder.ops.attention import attention, cached_attention, rope
from tools.builder.ops.elementwise import add, cast, div, gelu, mul, relu, silu, sub, tanh
from tools.builder.ops.layout import concat, permute, positions, reshape, slice, split, trailing
from tools.builder.ops.moe import moe
from tools.builder.ops.nn import embedding, layer_norm, linear, matmul, rms_norm, softmax

__all__ = [
    "add",
    "attention",
    "cached_attention",
    "cast",
    "concat",
    "div",
    "embedding",
    "gelu",
    "layer_norm",
    "linear",
    "matmul",
    "moe",
    "mul",
    "permute",
    "positions",
    "relu",
    "reshape",
    "rms_norm",
    "rope",
    "silu",
    "slice",
    "softmax",
    "split",
    "sub",
    "tanh",
    "trailing",
]
