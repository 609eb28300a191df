"""Values of a tiny checkpoint's tensors: the same bytes on every machine.

Each tensor is uniform noise from Philox (Salmon et al., 2011), a counter-based generator, keyed by the sha256 of its
name. Only the raw 64-bit stream is used, which numpy keeps stable, and arithmetic that IEEE 754 rounds exactly.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

import ml_dtypes
import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]
DTYPES = {"float32": np.dtype(np.float32), "float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16)}


def noise(name: str, shape: Sequence[int]) -> F32:
    """Uniform in [-1, 1) with 24 random bits each, f32."""
    key = int.from_bytes(hashlib.sha256(name.encode()).digest()[:16], "little")
    raw = np.random.Philox(key=key).random_raw(math.prod(shape))
    bits = (np.asarray(raw, np.uint64) >> np.uint64(40)).astype(np.float32)
    return (bits / np.float32(2**23) - np.float32(1)).reshape(tuple(shape))


def norm_weight(name: str, shape: Sequence[int]) -> F32:
    """Around 1."""
    return np.float32(1) + np.float32(0.25) * noise(name, shape)


def bias(name: str, shape: Sequence[int]) -> F32:
    """Around 0, small beside activations of about 1."""
    return np.float32(0.1) * noise(name, shape)


def matrix(name: str, shape: Sequence[int], inputs: int) -> F32:
    """A matrix that keeps the scale of what it multiplies: variance 1 / `inputs`."""
    return np.float32(math.sqrt(3 / inputs)) * noise(name, shape)
