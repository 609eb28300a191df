"""The table of rotary position embedding, and the dialects in which config.json states its parameters.

Old files: `rope_theta` beside `rope_scaling`, which is null or an object with `type` or `rope_type`. New files: one
object `rope_parameters` with `rope_type` and `rope_theta` inside.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tools.builder.config import ConfigError, number
from tools.builder.graph import Graph, Value

F32: TypeAlias = npt.NDArray[np.float32]
F64: TypeAlias = npt.NDArray[np.float64]
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "default": (),
    "linear": ("factor",),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"),
}
_COMMON = ("rope_type", "type", "rope_theta", "partial_rotary_factor")
_MAX_ENTRIES = 1 << 28
"""Of a table: 2^21 positions of a head of 256. Beyond it, a config.json is wrong and not ambitious."""
_MAX_THETA = 1e30
"""Far above what models use (1e4 to 1e8), and far below where f32 ends."""


@dataclass(frozen=True)
class Rope:
    """Frequencies theta^(-2i/d), scaled by `kind`: `default` (Su et al., 2021), `linear` (all divided by `factor`;
    Chen et al., 2023), or `llama3` (wavelengths beyond the original context divided, a smooth passage between; Llama
    3.1)."""

    theta: float = 10000.0
    kind: str = "default"
    factor: float = 1.0
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    original_max_position_embeddings: float = 8192

    @staticmethod
    def read(config: Mapping[str, Any]) -> Rope:
        """Interprets either dialect. Raises `ConfigError` naming the field that it cannot interpret."""
        given = {name: config[name] for name in ("rope_scaling", "rope_parameters") if config.get(name)}
        for name, value in given.items():
            if not isinstance(value, dict):
                raise ConfigError(f"config.json: {name} is {value!r}; it must be an object or null")
        if len(given) == 2 and given["rope_scaling"] != given["rope_parameters"]:
            raise ConfigError("config.json: rope_scaling and rope_parameters are both given and differ")
        nothing: tuple[str, dict[str, Any]] = ("rope_parameters", {})
        where, fields = next(iter(given.items()), nothing)
        kinds = {name: fields[name] for name in ("rope_type", "type") if name in fields}
        if len({repr(kind) for kind in kinds.values()}) > 1:
            raise ConfigError(
                f"config.json: {where}.rope_type is {kinds['rope_type']!r} and {where}.type {kinds['type']!r}"
            )
        kind = next(iter(kinds.values()), "default")
        if not isinstance(kind, str) or kind not in _FIELDS:
            raise ConfigError(f"config.json: {where}.rope_type is {kind!r}; supported are {', '.join(_FIELDS)}")
        unknown = sorted(set(fields) - set(_COMMON) - set(_FIELDS[kind]))
        if unknown:
            raise ConfigError(f"config.json: {where}.{unknown[0]} has no meaning for rope_type {kind!r}")
        partial = fields.get("partial_rotary_factor", config.get("partial_rotary_factor"))
        if partial not in (None, 1, 1.0):
            raise ConfigError(f"config.json: partial_rotary_factor is {partial!r}; only whole heads are rotated (1.0)")
        theta = fields.get("rope_theta", config.get("rope_theta"))
        values = {name: _field(config, fields, where, name) for name in _FIELDS[kind]}
        rope = Rope(10000.0 if theta is None else number("rope_theta", theta, least=0, above=True), kind, **values)
        if rope.theta > _MAX_THETA:
            raise ConfigError(f"config.json: rope_theta is {rope.theta}; it may be up to {_MAX_THETA}")
        if kind == "llama3" and rope.high_freq_factor <= rope.low_freq_factor:
            raise ConfigError(
                f"config.json: {where}.high_freq_factor must exceed low_freq_factor ({rope.low_freq_factor})"
            )
        return rope

    def frequencies(self, head_dim: int) -> F32:
        """Radians per position, f32 [head_dim / 2]; computed step by step in f32 as the reference library does."""
        exponents = np.arange(0, head_dim, 2, dtype=np.float32) / np.float32(head_dim)
        # Python's pow, rounded once: numpy's f32 pow differs from one CPU to another.
        powers = np.array([np.float32(self.theta ** float(e)) for e in exponents], np.float32)
        plain = np.float32(1) / powers
        if self.kind == "default":
            return plain
        if self.kind == "linear":
            return plain / np.float32(self.factor)
        old, low, high = self.original_max_position_embeddings, self.low_freq_factor, self.high_freq_factor
        wavelengths = np.float32(2 * math.pi) / plain
        smooth = (np.float32(old) / wavelengths - np.float32(low)) / np.float32(high - low)
        mixed = (1 - smooth) * plain / np.float32(self.factor) + smooth * plain
        slow = np.where(wavelengths > np.float32(old / low), plain / np.float32(self.factor), plain)
        between = ~(wavelengths < np.float32(old / high)) & ~(wavelengths > np.float32(old / low))
        return np.where(between, mixed, slow).astype(np.float32)

    def table(self, graph: Graph, head_dim: int, positions: int) -> tuple[Value, Value]:
        """cos and sin f32 [positions, head_dim / 2], as constants of the graph for `ops.rope`."""
        if head_dim % 2:
            raise ConfigError(f"config.json: head_dim is {head_dim}; rotary embedding needs an even one")
        entries = positions * head_dim // 2
        if not 0 < entries <= _MAX_ENTRIES:
            raise ConfigError(
                f"config.json: max_position_embeddings {positions} and head_dim {head_dim} make a rotary table of "
                f"{entries} entries; it may have 1 to {_MAX_ENTRIES}"
            )
        # The angle is rounded to f32 first, as in the reference library: at large positions that is part of the model.
        angles = np.arange(positions, dtype=np.float32)[:, None] * self.frequencies(head_dim)[None]
        cos, sin = _cos_sin(angles.astype(np.float64))
        return graph.constant("rope.cos", cos.astype(np.float32)), graph.constant("rope.sin", sin.astype(np.float32))


def _field(config: Mapping[str, Any], fields: Mapping[str, Any], where: str, name: str) -> float:
    value = fields.get(name)
    if value is None and name == "original_max_position_embeddings":
        value = config.get(name, config.get("max_position_embeddings"))
    return number(f"{where}.{name}", value, least=0, above=True)


def _cos_sin(angles: F64) -> tuple[F64, F64]:
    """cos and sin of angles of up to 2^24 radians, with errors below 1e-15.

    Only sums and products, so that the bytes are equal on every CPU: numpy picks other code for its own cos and sin
    by CPU.
    """
    quarter = np.rint(angles * (2 / math.pi))
    # Cody and Waite's reduction: pi/2 in three parts, the first two of 27 bits, so that their products are exact.
    r = ((angles - quarter * 1.570796325802803) - quarter * 9.920935739593517e-10) - quarter * 5.721188726109832e-18
    square = r * r
    cos = np.ones_like(r)
    sin = np.ones_like(r)
    for n in range(18, 0, -2):
        cos = 1 - cos * square / (n * (n - 1))
        sin = 1 - sin * square / (n * (n + 1))
    sin *= r
    turn = quarter.astype(np.int64) % 4
    swapped = turn % 2 == 1
    cos, sin = np.where(swapped, sin, cos), np.where(swapped, cos, sin)
    return np.where((turn == 1) | (turn == 2), -cos, cos), np.where(turn >= 2, -sin, sin)
