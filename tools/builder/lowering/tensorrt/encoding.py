"""Numbers in the dtypes that NumPy has and bf16, which it has not. Runs on Python 3.10 with NumPy alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

NUMPY: dict[str, Any] = {
    "f32": np.float32, "f16": np.float16, "bf16": np.uint16, "i64": np.int64, "i32": np.int32, "bool": np.bool_,
}  # fmt: skip
"""How arrays hold each dtype; bf16 by its bits."""


class RangeError(ValueError):
    """A number that a dtype cannot hold."""


def encode(array: Array, dtype: str) -> Array:
    """The array in `dtype`, contiguous: rounded to the nearest, ties to even. bf16 gives its bits, as u16.

    Raises RangeError for a finite number beyond f16's or i32's range.
    """
    if dtype == "bf16":
        bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
        rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
        return np.where(np.isnan(np.asarray(array)), 0x7FC0, rounded).astype(np.uint16).reshape(np.shape(array))
    array = np.asarray(array)
    made = np.array(array, dtype=NUMPY[dtype], order="C")
    if dtype == "f16" and not np.array_equal(np.isfinite(made), np.isfinite(array)):
        worst = np.max(np.abs(array[np.isfinite(array)].astype(np.float64)))
        raise RangeError(f"{worst:g} lies beyond f16's limit of 65504; build for bf16 or f32")
    if dtype == "i32" and array.dtype.kind in "iu" and not np.array_equal(made, array):
        raise RangeError(f"{array[made != array].flat[0]} lies beyond i32's range; TensorRT before 10 has no i64")
    return made


def decode(array: Array, dtype: str) -> Array:
    """The numbers that `encode` wrote, floats in f32."""
    if dtype == "bf16":
        return (array.astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float32) if dtype == "f16" else array
