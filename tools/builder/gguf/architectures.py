"""What a GGUF file's architecture is called elsewhere: its settings as config.json has them, its tensors as the
reference library names them.

llama.cpp's converter changes some tensors on the way in; `Place` says what undoes it. Source:
https://github.com/ggml-org/llama.cpp (convert_hf_to_gguf.py and gguf-py/gguf/constants.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from tools.builder.checkpoint import CheckpointError
from tools.builder.gguf.reader import Gguf, GgufTensor

Change = Literal["none", "rotary", "minus_one"]
"""`rotary`: rows of a head go from pairs (0, d/2), (1, 1 + d/2), ... back to halves. `minus_one`: 1 was added."""

_BASE = {"token_embd": "model.embed_tokens", "output": "lm_head", "output_norm": "model.norm"}
_ATTENTION = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
}
_HEAD_NORMS = {"attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm"}
_MLP = {"ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}
_NORMS = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}
_OUTER_NORMS = {"post_attention_norm": "post_attention_layernorm", "post_ffw_norm": "post_feedforward_layernorm"}
_LLAMA = {**_NORMS, **_ATTENTION, **_MLP}


@dataclass(frozen=True)
class Architecture:
    """`layers` maps stems of tensors in a block; `settings` fields of config.json to metadata that must be there."""

    model_type: str
    name: str
    layers: Mapping[str, str]
    settings: Mapping[str, str] = field(default_factory=dict)
    experts: Mapping[str, str] = field(default_factory=dict)  # stacked tensors; {} stands for the expert's number
    rotary: bool = False
    norms_plus_one: bool = False


ARCHITECTURES: Mapping[str, Architecture] = {
    "llama": Architecture("llama", "LlamaForCausalLM", _LLAMA, rotary=True),
    "llama with experts": Architecture(
        "mixtral",
        "MixtralForCausalLM",
        {**_NORMS, **_ATTENTION, "ffn_gate_inp": "block_sparse_moe.gate"},
        {"num_local_experts": "expert_count", "num_experts_per_tok": "expert_used_count"},
        {
            "ffn_gate_exps": "block_sparse_moe.experts.{}.w1",
            "ffn_down_exps": "block_sparse_moe.experts.{}.w2",
            "ffn_up_exps": "block_sparse_moe.experts.{}.w3",
        },
        rotary=True,
    ),
    "qwen2": Architecture("qwen2", "Qwen2ForCausalLM", _LLAMA),
    "qwen3": Architecture("qwen3", "Qwen3ForCausalLM", {**_LLAMA, **_HEAD_NORMS}, {"head_dim": "attention.key_length"}),
    "qwen3moe": Architecture(
        "qwen3_moe",
        "Qwen3MoeForCausalLM",
        {**_NORMS, **_ATTENTION, **_HEAD_NORMS, "ffn_gate_inp": "mlp.gate"},
        {
            "head_dim": "attention.key_length",
            "moe_intermediate_size": "expert_feed_forward_length",
            "num_experts": "expert_count",
            "num_experts_per_tok": "expert_used_count",
        },
        {f"ffn_{part}_exps": f"mlp.experts.{{}}.{part}_proj" for part in ("gate", "up", "down")},
    ),
    "gemma3": Architecture(
        "gemma3_text",
        "Gemma3ForCausalLM",
        {
            **_ATTENTION, **_HEAD_NORMS, **_MLP, **_OUTER_NORMS,
            "attn_norm": "input_layernorm", "ffn_norm": "pre_feedforward_layernorm",
        },
        {"head_dim": "attention.key_length", "sliding_window": "attention.sliding_window"},
        norms_plus_one=True,
    ),
    "phi3": Architecture(
        "phi3",
        "Phi3ForCausalLM",
        {
            **_NORMS, "attn_qkv": "self_attn.qkv_proj", "attn_output": "self_attn.o_proj",
            "ffn_up": "mlp.gate_up_proj", "ffn_down": "mlp.down_proj",
        },
    ),
    "olmo2": Architecture(
        "olmo2", "Olmo2ForCausalLM", {**_ATTENTION, **_HEAD_NORMS, **_MLP, **_OUTER_NORMS}
    ),
    "smollm3": Architecture("smollm3", "SmolLM3ForCausalLM", _LLAMA, rotary=True),
    "granite": Architecture(
        "granite",
        "GraniteForCausalLM",
        _LLAMA,
        {
            "attention_multiplier": "attention.scale",
            "embedding_multiplier": "embedding_scale",
            "logits_scaling": "logit_scale",
            "residual_multiplier": "residual_scale",
        },
        rotary=True,
    ),
}  # fmt: skip

FACTORS = ("rope_freqs.weight", "rope_factors_short.weight", "rope_factors_long.weight")
"""Tensors that are settings: divisors of the rotary frequencies."""

_BLOCK = re.compile(r"blk\.(\d{1,5})\.(\w+)\.(weight|bias)")


@dataclass(frozen=True)
class Place:
    """Where a tensor of the reference library's comes from: a tensor of the file, or one expert's part of it."""

    source: GgufTensor
    change: Change = "none"
    heads: int = 0  # for `rotary`
    expert: int | None = None


def architecture(gguf: Gguf) -> Architecture:
    """The file's architecture. Raises CheckpointError naming it and those that are read."""
    stated = gguf.metadata.get("general.architecture")
    name = f"{stated} with experts" if stated == "llama" and gguf.metadata.get("llama.expert_count") else stated
    if not isinstance(name, str) or name not in ARCHITECTURES:
        known = ", ".join(dict.fromkeys(key.split()[0] for key in ARCHITECTURES))
        raise CheckpointError(f"{gguf.path}: the architecture is {stated!r}, which is not read; read are {known}")
    return ARCHITECTURES[name]


def places(gguf: Gguf, heads: int, kv_heads: int) -> dict[str, Place]:
    """Each tensor of the model by the reference library's name. Raises CheckpointError for one without a place."""
    kind = architecture(gguf)
    found: dict[str, Place] = {}
    for tensor in gguf.tensors.values():
        if tensor.name in FACTORS:
            continue
        for name, place in _named(gguf, kind, tensor, heads, kv_heads):
            found[name] = place
    return found


def _named(
    gguf: Gguf, kind: Architecture, tensor: GgufTensor, heads: int, kv_heads: int
) -> Iterator[tuple[str, Place]]:
    stem, _, suffix = tensor.name.rpartition(".")
    block = _BLOCK.fullmatch(tensor.name)
    offset: Change = "minus_one" if kind.norms_plus_one and "norm" in stem else "none"
    if stem in _BASE and suffix == "weight":
        yield f"{_BASE[stem]}.weight", Place(tensor, offset)
    elif block and block[2] in kind.layers:
        name = f"model.layers.{int(block[1])}.{kind.layers[block[2]]}.{block[3]}"
        if kind.rotary and block[2] in ("attn_q", "attn_k"):
            count = heads if block[2] == "attn_q" else kv_heads
            if tensor.shape[0] % (2 * count):
                raise CheckpointError(
                    f"{gguf.path}: tensor {tensor.name} has {tensor.shape[0]} rows for {count} heads of even size"
                )
            yield name, Place(tensor, "rotary", count)
        else:
            yield name, Place(tensor, offset)
    elif block and block[2] in kind.experts and block[3] == "weight" and len(tensor.shape) == 3:
        for expert in range(tensor.shape[0]):
            stem = kind.experts[block[2]].format(expert)
            yield f"model.layers.{int(block[1])}.{stem}.weight", Place(tensor, expert=expert)
    else:
        raise CheckpointError(
            f"{gguf.path}: tensor {tensor.name} has no place in the architecture {kind.name}, as it is read here"
        )
