"""The arithmetic of rotary tables: frequencies of each scaling, and cos and sin with the same bytes on every CPU.

Frequencies are f32 [dim / 2] in radians per position, computed step by step in f32 as the reference library does
(transformers, `modeling_rope_utils.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

F32: TypeAlias = npt.NDArray[np.float32]
F64: TypeAlias = npt.NDArray[np.float64]


def powers(theta: float, dim: int) -> F32:
    """theta^(2i / dim) for i in 0 to dim / 2 - 1 (Su et al., 2021): the inverse of the plain frequencies."""
    exponents = np.arange(0, dim, 2, dtype=np.float32) / np.float32(dim)
    # Python's pow, rounded once: numpy's f32 pow differs from one CPU to another.
    return np.array([np.float32(theta ** float(e)) for e in exponents], np.float32)


def default(theta: float, dim: int) -> F32:
    """theta^(-2i / dim)."""
    return np.float32(1) / powers(theta, dim)


def llama3(plain: F32, factor: float, low: float, high: float, original: float) -> F32:
    """Wavelengths beyond `original / low` positions divided by `factor`, those below `original / high` kept, a smooth
    passage between (Llama 3.1)."""
    wavelengths = np.float32(2 * math.pi) / plain
    smooth = (np.float32(original) / wavelengths - np.float32(low)) / np.float32(high - low)
    mixed = (1 - smooth) * plain / np.float32(factor) + smooth * plain
    slow = np.where(wavelengths > np.float32(original / low), plain / np.float32(factor), plain)
    between = ~(wavelengths < np.float32(original / high)) & ~(wavelengths > np.float32(original / low))
    return np.where(between, mixed, slow).astype(np.float32)


def yarn(theta: float, dim: int, factor: float, fast: float, slow: float, original: float, truncate: bool) -> F32:
    """Dimensions that turn more than `fast` times in `original` positions kept, those that turn less than `slow` times
    divided by `factor`, a linear passage between, whose ends are whole dimensions if `truncate` (Peng et al., 2023)."""

    def dimension(turns: float) -> float:
        return dim * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(theta))

    first, last = dimension(fast), dimension(slow)
    if truncate:
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, dim - 1)
    width = last - first or 0.001
    ramp = np.clip((np.arange(dim // 2, dtype=np.float32) - np.float32(first)) / np.float32(width), 0, 1)
    keep = np.float32(1) - ramp.astype(np.float32)
    turned = powers(theta, dim)
    kept, slowed = np.float32(1) / turned, np.float32(1) / (np.float32(factor) * turned)
    mixed: F32 = slowed * (np.float32(1) - keep) + kept * keep
    return mixed


def yarn_scale(factor: float, mscale: float | None, mscale_all_dim: float | None) -> float:
    """What YaRN multiplies cos and sin by where config.json does not say (its section 3.4; DeepSeek's variant)."""

    def scale(weight: float) -> float:
        return 1.0 if factor <= 1 else 0.1 * weight * math.log(factor) + 1.0

    return scale(mscale) / scale(mscale_all_dim) if mscale and mscale_all_dim else scale(1.0)


def longrope(theta: float, dim: int, factors: Sequence[float]) -> F32:
    """Each frequency divided by a factor of its own (Ding et al., 2024)."""
    return np.float32(1) / (np.array(factors, np.float32) * powers(theta, dim))


def longrope_scale(factor: float, original: float) -> float:
    """What LongRoPE multiplies cos and sin by where config.json does not say."""
    return 1.0 if factor <= 1 else math.sqrt(1 + math.log(factor) / math.log(original))


def cos_sin(angles: F64) -> tuple[F64, F64]:
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
