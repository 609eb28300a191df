"""Writes a checkpoint folder as GGUF, as llama.cpp's converter would: names and quantisation by the `gguf` package."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import numpy.typing as npt
from gguf.constants import MODEL_ARCH_NAMES, GGMLQuantizationType
from gguf.quants import dequantize, quantize

from tools.builder.checkpoint import Checkpoint

F32 = npt.NDArray[np.float32]

_ARCHITECTURES = {
    "gemma3_text": "gemma3", "granite": "granite", "llama": "llama", "mixtral": "llama", "olmo2": "olmo2",
    "phi3": "phi3", "qwen2": "qwen2", "qwen3": "qwen3", "qwen3_moe": "qwen3moe", "smollm3": "smollm3",
}  # fmt: skip
_PERMUTED = ("granite", "llama", "mixtral", "smollm3")
_SPLITS = {"gpt2": "gpt-2", "llama3": "llama-bpe", "qwen2": "qwen2"}


def write_gguf(
    folder: Path,
    out: Path,
    kind: str = "F32",
    tokenizer: str = "qwen2",
    extra: Callable[[gguf.GGUFWriter], None] = lambda writer: None,
    **options: Any,
) -> dict[str, F32]:
    """Writes the checkpoint in `folder` to `out`, matrices in the type `kind`; returns the values that it then holds,
    under the checkpoint's own names.

    `tokenizer` is one of the tiny checkpoints' dialects, `extra` writes further metadata, `options` are the writer's.
    """
    checkpoint = Checkpoint.open(folder)
    config = checkpoint.config
    name = _ARCHITECTURES[config["model_type"]]
    writer = gguf.GGUFWriter(out, name, **options)
    _write_settings(writer, config)
    _write_tokenizer(writer, folder, config["vocab_size"], tokenizer)
    extra(writer)
    values = _write_tensors(writer, checkpoint, name, GGMLQuantizationType[kind])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return values


def permuted(weight: npt.NDArray[Any], heads: int) -> npt.NDArray[Any]:
    """llama.cpp's order of a head's rows: the halves that rotate together become neighbours."""
    rows = weight.reshape(heads, 2, len(weight) // heads // 2, *weight.shape[1:])
    return rows.swapaxes(1, 2).reshape(weight.shape)


def _write_settings(writer: gguf.GGUFWriter, config: Mapping[str, Any]) -> None:
    heads = config["num_attention_heads"]
    head = config.get("head_dim") or config["hidden_size"] // heads
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(config.get("num_key_value_heads") or heads)
    writer.add_layer_norm_rms_eps(config.get("rms_norm_eps", 1e-6))
    writer.add_rope_freq_base(config.get("rope_theta") or config.get("rope_parameters", {}).get("rope_theta", 10000.0))
    writer.add_key_length(head)
    writer.add_value_length(head)
    writer.add_vocab_size(config["vocab_size"])
    if experts := config.get("num_experts") or config.get("num_local_experts"):
        writer.add_expert_count(experts)
        writer.add_expert_used_count(config["num_experts_per_tok"])
    if "moe_intermediate_size" in config:
        writer.add_expert_feed_forward_length(config["moe_intermediate_size"])
    if config.get("sliding_window"):
        writer.add_sliding_window(config["sliding_window"])
    if config["model_type"] == "granite":
        writer.add_attention_scale(config["attention_multiplier"])
        writer.add_embedding_scale(config["embedding_multiplier"])
        writer.add_residual_scale(config["residual_multiplier"])
        writer.add_logit_scale(config["logits_scaling"])
    scaling = config.get("rope_scaling") or {}
    if scaling.get("rope_type") == "llama3":
        writer.add_tensor("rope_freqs.weight", _llama3(scaling, head, config["rope_theta"]))
    elif scaling.get("rope_type") == "linear":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(scaling["factor"])


def _llama3(scaling: Mapping[str, Any], head: int, theta: float) -> F32:
    low, high, old = (scaling[k] for k in ("low_freq_factor", "high_freq_factor", "original_max_position_embeddings"))
    waves = 2 * np.pi * theta ** (np.arange(0, head, 2) / head)
    smooth = (old / waves - low) / (high - low)
    between = 1 / ((1 - smooth) / scaling["factor"] + smooth)
    return np.where(waves < old / high, 1, np.where(waves > old / low, scaling["factor"], between)).astype(np.float32)


def _write_tokenizer(writer: gguf.GGUFWriter, folder: Path, size: int, dialect: str) -> None:
    body = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    options = json.loads((folder / "tokenizer_config.json").read_text("utf-8"))
    added = {token["content"]: token for token in body["added_tokens"]}
    ids = {**body["model"]["vocab"], **{content: token["id"] for content, token in added.items()}}
    tokens = [f"[PAD{index}]" for index in range(size)]
    types = [gguf.TokenType.UNUSED] * size
    for token, index in ids.items():
        plain = gguf.TokenType.NORMAL
        special = gguf.TokenType.CONTROL if added.get(token, {}).get("special") else gguf.TokenType.USER_DEFINED
        tokens[index], types[index] = token, special if token in added else plain
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(_SPLITS[dialect])
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges([merge if isinstance(merge, str) else " ".join(merge) for merge in body["model"]["merges"]])
    writer.add_add_bos_token(False)
    for key, add in {
        "bos_token": writer.add_bos_token_id, "eos_token": writer.add_eos_token_id, "pad_token": writer.add_pad_token_id
    }.items():  # fmt: skip
        if key in options:
            add(ids[options[key]])
    if "chat_template" in options:
        writer.add_chat_template(options["chat_template"])


def _write_tensors(
    writer: gguf.GGUFWriter, checkpoint: Checkpoint, architecture: str, kind: GGMLQuantizationType
) -> dict[str, F32]:
    config = checkpoint.config
    arch = next(key for key, name in MODEL_ARCH_NAMES.items() if name == architecture)
    names = gguf.get_tensor_name_map(arch, config["num_hidden_layers"])
    heads = {"q_proj": config["num_attention_heads"], "k_proj": config.get("num_key_value_heads")}
    values: dict[str, F32] = {}
    stacks: dict[str, list[F32]] = {}
    for name in sorted(checkpoint.tensors, key=_by_number):
        array = checkpoint.read(name).astype(np.float32)
        stem, _, suffix = name.rpartition(".")
        expert = next((part for part in stem.split(".") if part.isdigit() and f"experts.{part}." in stem), None)
        mapped = names.get_name(stem.replace(f"experts.{expert}.", "experts.") if expert else stem)
        assert mapped is not None, name
        used = kind if array.ndim > 1 and "ffn_gate_inp" not in mapped else GGMLQuantizationType.F32
        values[name] = dequantize(quantize(array, used), used).reshape(array.shape)
        count = heads.get(stem.rpartition(".")[2])
        if config["model_type"] in _PERMUTED and count:
            array = permuted(array, count)
        if config["model_type"].startswith("gemma") and stem.endswith("norm"):
            array = array + 1
            values[name] = array - 1
        if expert:
            stacks.setdefault(f"{mapped}.{suffix}", []).append(array)
        else:
            writer.add_tensor(f"{mapped}.{suffix}", quantize(array, used), raw_dtype=used)
    for name, arrays in stacks.items():
        writer.add_tensor(name, quantize(np.stack(arrays), kind), raw_dtype=kind)
    return values


def _by_number(name: str) -> list[tuple[int, str]]:
    return [(int(part) if part.isdigit() else -1, part) for part in name.split(".")]
