"""Whether the sizes in config.json can be those of a model, and whether they are those of its tensors.

Checked before a family sees them, whatever the family: `check` looks at config.json alone, `check_tensors` holds it
against the tensors whose names and shapes the reference library's models share. Both raise `SizeError` naming the
field, its value, the limit or the tensor, and what to do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tools.builder.config import ConfigError


class SizeError(ConfigError):
    """A size in config.json that no model has, or that is not that of the checkpoint's tensors."""


_HIDDEN = ("hidden_size", "n_embd")
_HEADS = ("num_attention_heads", "n_head")
_LAYERS = ("num_hidden_layers", "n_layer")
LIMITS: Mapping[str, tuple[int, int]] = {  # least and most; several times the largest in use
    **dict.fromkeys(_HIDDEN, (1, 1 << 18)),
    **dict.fromkeys(_HEADS, (1, 1 << 14)),
    **dict.fromkeys(_LAYERS, (1, 1 << 12)),
    "num_key_value_heads": (1, 1 << 14),
    "head_dim": (1, 1 << 14),
    "intermediate_size": (1, 1 << 22),
    "n_inner": (1, 1 << 22),
    "moe_intermediate_size": (1, 1 << 22),
    "shared_expert_intermediate_size": (0, 1 << 22),
    "vocab_size": (1, 1 << 24),
    "type_vocab_size": (0, 1 << 16),
    "max_position_embeddings": (1, 1 << 30),
    "n_positions": (1, 1 << 30),
    "n_ctx": (1, 1 << 30),
    "original_max_position_embeddings": (1, 1 << 30),
    "num_experts": (0, 1 << 14),
    "num_local_experts": (0, 1 << 14),
    "num_experts_per_tok": (0, 1 << 14),
    "max_window_layers": (0, 1 << 30),
}
_EPSILONS = ("rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon")
_AMISS = "correct the field, or fetch config.json again"
_DIFFER = "config.json and the tensors are not of one checkpoint: fetch both again"


def check(config: Mapping[str, Any]) -> None:
    """Raises `SizeError` for a size that no model has, or for sizes that exclude each other.

    A field that is absent or null says nothing.
    """
    for name, (least, most) in LIMITS.items():
        value = config.get(name)
        if value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise SizeError(
                f"config.json: {name} is {_shown(value)}; it must be an integer from {least} to {most}; {_AMISS}"
            )
    for name in _EPSILONS:
        value = config.get(name)
        usable = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1
        if value is not None and not usable:
            raise SizeError(f"config.json: {name} is {_shown(value)}; it must be a number above 0, up to 1; {_AMISS}")
    hidden, heads, shared = _one(config, _HIDDEN), _one(config, _HEADS), config.get("num_key_value_heads")
    if hidden and heads and config.get("head_dim") is None and hidden[1] % heads[1]:
        raise SizeError(
            f"config.json: {hidden[0]} {hidden[1]} does not divide into {heads[0]} {heads[1]}, and head_dim is not "
            f"stated; {_AMISS}"
        )
    if heads and shared is not None and heads[1] % shared:
        raise SizeError(
            f"config.json: {heads[0]} {heads[1]} does not divide into num_key_value_heads {shared}; {_AMISS}"
        )
    experts, chosen = _one(config, ("num_experts", "num_local_experts")), config.get("num_experts_per_tok")
    if experts and chosen is not None and chosen > experts[1]:
        raise SizeError(f"config.json: num_experts_per_tok is {chosen}, and {experts[0]} only {experts[1]}; {_AMISS}")


def check_tensors(config: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raises `SizeError` where a size of config.json is not that of the tensors, by name. Call `check` before."""
    sizes = _sizes(config)
    layers = _one(config, _LAYERS)
    present = {int(found[1]) for name in shapes if (found := _LAYER.search(name))}
    if layers and present and layers[1] > max(present) + 1:
        raise SizeError(
            f"config.json: {layers[0]} is {layers[1]}, and there are tensors of {max(present) + 1} layers; {_DIFFER}"
        )
    for name, shape in sorted(shapes.items()):
        for pattern, axes in _SHAPES:
            if len(shape) == len(axes) and pattern.search(name):
                for axis, (what, size) in enumerate(zip(axes, shape, strict=True)):
                    if what in sizes and sizes[what][1] != size:
                        raise SizeError(
                            f"config.json: {sizes[what][0]} is {sizes[what][1]}, and axis {axis} of the tensor {name} "
                            f"{list(shape)} is {size}; {_DIFFER}"
                        )


_LAYER = re.compile(r"(?:^|\.)(?:layers|h|layer)\.(\d{1,9})\.")
_SHAPES = tuple((re.compile(rf"(?:^|\.){pattern}$"), axes) for pattern, axes in (
    (r"(?:embed_tokens|wte|word_embeddings)\.weight", ("vocab", "hidden")),
    (r"lm_head\.weight", ("vocab", "hidden")),
    (r"self_attn\.q_proj\.weight", ("queries", "hidden")),
    (r"self_attn\.[kv]_proj\.weight", ("keys", "hidden")),
    (r"self_attn\.qkv_proj\.weight", ("fused", "hidden")),
    (r"self_attn\.o_proj\.weight", ("hidden", "queries")),
    (r"\d\.mlp\.(?:gate|up)_proj\.weight", ("dense_inner", "hidden")),
    (r"\d\.mlp\.down_proj\.weight", ("hidden", "dense_inner")),
    (r"\d\.mlp\.gate_up_proj\.weight", ("twice_inner", "hidden")),
    (r"block_sparse_moe\.experts\.\d+\.w[13]\.weight", ("dense_inner", "hidden")),
    (r"block_sparse_moe\.experts\.\d+\.w2\.weight", ("hidden", "dense_inner")),
    (r"attention\.self\.(?:query|key|value)\.weight", ("hidden", "hidden")),
    (r"intermediate\.dense\.weight", ("dense_inner", "hidden")),
    (r"input_layernorm\.weight", ("hidden",)),
))  # fmt: skip


def _sizes(config: Mapping[str, Any]) -> dict[str, tuple[str, int]]:
    """What an axis stands for → the field, or the product of fields, that states its size, and the size."""
    sizes: dict[str, tuple[str, int]] = {}
    hidden, heads, dim = _one(config, _HIDDEN), _one(config, _HEADS), config.get("head_dim")
    if hidden:
        sizes["hidden"] = hidden
    if hidden and heads:
        head, size = ("head_dim", dim) if dim else (f"{hidden[0]}/{heads[0]}", hidden[1] // heads[1])
        sizes["queries"] = (f"{heads[0]} · {head}", heads[1] * size)
        shared = config.get("num_key_value_heads")
        sizes["keys"] = (f"num_key_value_heads · {head}", shared * size) if shared else sizes["queries"]
        sizes["fused"] = (
            f"({heads[0]} + 2 · {'num_key_value_heads' if shared else heads[0]}) · {head}",
            sizes["queries"][1] + 2 * sizes["keys"][1],
        )
    for what, name in (("vocab", "vocab_size"), ("dense_inner", "intermediate_size")):
        if config.get(name) is not None:
            sizes[what] = (name, config[name])
    if "dense_inner" in sizes:
        sizes["twice_inner"] = ("2 · intermediate_size", 2 * sizes["dense_inner"][1])
    return sizes


def _one(config: Mapping[str, Any], names: tuple[str, ...]) -> tuple[str, int] | None:
    return next(((name, config[name]) for name in names if config.get(name) is not None), None)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
