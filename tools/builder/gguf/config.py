"""A GGUF file's metadata as the config.json that the families read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from tools.builder import sizes
from tools.builder.checkpoint import CheckpointError
from tools.builder.gguf.architectures import FACTORS, architecture
from tools.builder.gguf.quantisation import Array, values
from tools.builder.gguf.reader import Gguf

T = TypeVar("T", int, float, str)

_SETTINGS: Mapping[str, tuple[str, type[Any]]] = {
    "max_position_embeddings": ("context_length", int),
    "hidden_size": ("embedding_length", int),
    "intermediate_size": ("feed_forward_length", int),
    "num_hidden_layers": ("block_count", int),
    "num_attention_heads": ("attention.head_count", int),
    "rms_norm_eps": ("attention.layer_norm_rms_epsilon", float),
}
_IDS = {
    "bos_token_id": ("bos_token_id",),
    "eos_token_id": ("eos_token_id", "eot_token_id"),
    "pad_token_id": ("padding_token_id",),
}
_IGNORED = frozenset({"vocab_size", "tensor_data_layout", "rope.scaling.finetuned"})  # say what tensors say, or history
_LOW, _HIGH, _LLAMA3_CONTEXT = 1.0, 4.0, 8192  # Llama 3.1's own
_MAX_FACTORS = 1 << 12


class Settings:
    """The metadata of the architecture, each entry read at most where it is known: `check` refuses the rest."""

    def __init__(self, gguf: Gguf) -> None:
        self._gguf = gguf
        self._prefix = f"{gguf.metadata['general.architecture']}."
        self._read = set(_IGNORED)

    def get(self, key: str, kind: type[T], default: T | None = None) -> T | None:
        """The entry of this name below the architecture's, or `default`. Raises CheckpointError for another type."""
        self._read.add(key)
        value = self._gguf.metadata.get(self._prefix + key)
        if value is None:
            return default
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        wrong = isinstance(value, float) and not math.isfinite(value)
        if not isinstance(value, kind) or isinstance(value, bool) or wrong:
            raise CheckpointError(f"{self._gguf.path}: {self._prefix}{key} is {value!r}, not of type {kind.__name__}")
        return value

    def need(self, key: str, kind: type[T]) -> T:
        """An entry that must be there."""
        value = self.get(key, kind)
        if value is None:
            raise CheckpointError(f"{self._gguf.path} does not state {self._prefix}{key}")
        return value

    def check(self) -> None:
        """Raises CheckpointError for an entry that nothing has read: what it changes is not known."""
        own = (key.removeprefix(self._prefix) for key in self._gguf.metadata if key.startswith(self._prefix))
        if unknown := sorted(set(own) - self._read):
            raise CheckpointError(
                f"{self._gguf.path}: the metadata {self._prefix}{unknown[0]} is not known, so the model is not built"
            )


def config(gguf: Gguf) -> dict[str, Any]:
    """config.json for the file. Raises CheckpointError naming what is absent or cannot be interpreted."""
    kind = architecture(gguf)
    settings = Settings(gguf)
    found: dict[str, Any] = {"architectures": [kind.name], "model_type": kind.model_type}
    for name, (key, of) in _SETTINGS.items():
        found[name] = settings.need(key, of)
    heads = found["num_attention_heads"]
    found["num_key_value_heads"] = settings.get("attention.head_count_kv", int, heads)
    _check(gguf, found)
    for name, key in kind.settings.items():
        found[name] = settings.need(key, float if "scal" in key else int)
    embedding = gguf.tensors.get("token_embd.weight")
    if embedding is None or len(embedding.shape) != 2:
        raise CheckpointError(f"{gguf.path} has no tensor token_embd.weight of rank 2")
    found["vocab_size"] = embedding.shape[0]
    found["tie_word_embeddings"] = "output.weight" not in gguf.tensors
    for name, keys in _IDS.items():
        ids = []
        for key in (f"tokenizer.ggml.{key}" for key in keys if f"tokenizer.ggml.{key}" in gguf.metadata):
            ids.append(gguf.metadata[key])
            if type(ids[-1]) is not int:
                raise CheckpointError(f"{gguf.path}: {key} is {ids[-1]!r:.80}, not of type int")
        if ids:
            found[name] = ids[0] if len(set(ids)) == 1 else ids
    if any(name.endswith(".attn_output.bias") for name in gguf.tensors):
        found["attention_bias"] = True
    if any(name.endswith(".ffn_down.bias") for name in gguf.tensors):
        found["mlp_bias"] = True
    _head(gguf, settings, found)
    _rope(gguf, settings, found)
    _special(kind.model_type, settings, found)
    settings.get("expert_count", int)
    settings.get("expert_used_count", int)
    settings.check()
    _check(gguf, found)
    return found


def _check(gguf: Gguf, found: Mapping[str, Any]) -> None:
    try:
        sizes.check(found)
    except sizes.SizeError as error:
        text = str(error).removeprefix("config.json: ").replace("config.json", "the file")
        raise CheckpointError(f"{gguf.path}: {text}") from None


def _head(gguf: Gguf, settings: Settings, found: dict[str, Any]) -> None:
    usual = found["hidden_size"] // found["num_attention_heads"]
    size = settings.get("attention.key_length", int, usual)
    value = settings.get("attention.value_length", int, size)
    if size != value:
        raise CheckpointError(f"{gguf.path}: heads of {size} for keys and {value} for values are not read")
    if size != usual:
        found["head_dim"] = size
    rotated = settings.get("rope.dimension_count", int, size)
    if rotated != size and size:
        found["partial_rotary_factor"] = (rotated or 0) / size


def _rope(gguf: Gguf, settings: Settings, found: dict[str, Any]) -> None:
    """`rope_theta` and `rope_scaling`; what the file gives as divisors of frequencies included."""
    found["rope_theta"] = settings.get("rope.freq_base", float, 10000.0)
    kind = settings.get("rope.scaling.type", str, "none")
    factor = settings.get("rope.scaling.factor", float)
    original = settings.get("rope.scaling.original_context_length", int)
    attention = settings.get("rope.scaling.attn_factor", float)
    scale = settings.get("rope.scale_linear", float)  # before rope.scaling
    plain, short, long = (_factors(gguf, name) for name in FACTORS)
    if short is not None and long is not None:
        scaling: dict[str, Any] = {"rope_type": "longrope", "short_factor": short, "long_factor": long}
        if attention not in (None, 1.0):
            scaling["attention_factor"] = attention
        found["original_max_position_embeddings"] = original or found["max_position_embeddings"]
    elif plain is not None and any(value != 1 for value in plain):
        scaling = _llama3(gguf, plain, found["rope_theta"])
    elif kind == "linear" or scale not in (None, 1.0):
        scaling = {"rope_type": "linear", "factor": factor or scale}
    elif kind == "yarn":
        scaling = {"rope_type": "yarn", "factor": factor}
        if original is not None:
            scaling["original_max_position_embeddings"] = original
        for name, key in {"beta_fast": "yarn_beta_fast", "beta_slow": "yarn_beta_slow"}.items():
            if (value := settings.get(f"rope.scaling.{key}", float)) is not None:
                scaling[name] = value
        if attention is not None:
            scaling["attention_factor"] = attention
    elif kind == "none":
        return
    else:
        raise CheckpointError(f"{gguf.path}: rope.scaling.type is {kind!r}; read are none, linear, yarn and longrope")
    found["rope_scaling"] = scaling


def _factors(gguf: Gguf, name: str) -> list[float] | None:
    tensor = gguf.tensors.get(name)
    if tensor is None:
        return None
    if tensor.kind != "F32" or len(tensor.shape) != 1 or tensor.shape[0] > _MAX_FACTORS:
        raise CheckpointError(f"{gguf.path}: tensor {name} is {tensor.kind} {list(tensor.shape)}, not F32 of rank 1")
    with tensor.file.open("rb") as file:
        file.seek(tensor.offset)
        raw: Array = np.frombuffer(file.read(tensor.size), np.uint8)
    divisors = values(raw, tensor.kind, tensor.shape)
    if not np.isfinite(divisors).all() or (divisors <= 0).any():
        raise CheckpointError(f"{gguf.path}: tensor {name} holds what is no positive number")
    return [float(str(value)) for value in divisors]


def _llama3(gguf: Gguf, divisors: list[float], theta: float) -> dict[str, Any]:
    """The parameters of Llama 3.1 whose divisors these are. The converter writes the divisors in their place.

    A divisor d of a wavelength between the bounds tells the original context: 1/d = (1 - s) / factor + s, where
    s = (context / wavelength - low) / (high - low).
    """
    factor, waves = max(divisors), [2 * math.pi * theta ** (i / len(divisors)) for i in range(len(divisors))]
    original = _LLAMA3_CONTEXT
    for divisor, wave in zip(divisors, waves, strict=True):
        if 1 < divisor < factor:
            smooth = (1 / divisor - 1 / factor) / (1 - 1 / factor)
            original = round((smooth * (_HIGH - _LOW) + _LOW) * wave)
    for index, (divisor, wave) in enumerate(zip(divisors, waves, strict=True)):
        smooth = min(max((original / wave - _LOW) / (_HIGH - _LOW), 0), 1)
        want = 1 / ((1 - smooth) / factor + smooth)
        if not math.isclose(divisor, want, rel_tol=1e-4):
            raise CheckpointError(
                f"{gguf.path}: rope_freqs.weight is not the scaling of Llama 3.1 (entry {index} is {divisor}, and "
                f"would be {want:.6g}); other scalings in this form are not read"
            )
    return {
        "rope_type": "llama3",
        "factor": factor,
        "low_freq_factor": _LOW,
        "high_freq_factor": _HIGH,
        "original_max_position_embeddings": original,
    }


def _special(model_type: str, settings: Settings, found: dict[str, Any]) -> None:
    """What an architecture fixes without stating it."""
    if model_type == "gemma3_text":
        # llama.cpp knows the one size whose scale is not that of its head by its 62 blocks.
        heads = found["hidden_size"] // found["num_attention_heads"]
        found["query_pre_attn_scalar"] = heads if found["num_hidden_layers"] == 62 else found["head_dim"]
        found["sliding_window_pattern"] = settings.get("attention.sliding_window_pattern", int, 6)
        found["rope_local_base_freq"] = settings.get("rope.freq_base_swa", float, 10000.0)
    elif model_type == "phi3":
        found["sliding_window"] = settings.get("attention.sliding_window", int) or None
    elif model_type == "qwen3_moe":
        found["norm_topk_prob"] = True
        settings.get("expert_shared_feed_forward_length", int)
