"""The types of a GGUF tensor: sizes of their blocks, and their values in f32.

The values are those of ggml's own reference code: the `gguf` package's dequantisation, which its makers hold bit for
bit against it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize

Array = npt.NDArray[Any]

PLAIN: Mapping[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "F64": np.dtype("<f8"),
}
"""Types whose elements are read as they are."""

SUPPORTED = (
    *PLAIN,
    "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ1_S", "IQ1_M", "IQ2_XXS",
    "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ4_NL", "IQ4_XS",
)  # fmt: skip
BLOCKS: Mapping[str, tuple[int, int]] = {name: GGML_QUANT_SIZES[GGMLQuantizationType[name]] for name in SUPPORTED}
"""Elements and bytes of a block, by type."""

_PIECE = 1 << 20  # elements converted at a time; the intermediate arrays are several times as large


def type_name(number: int) -> str:
    """The name of a type's number; the number itself where it is unknown."""
    try:
        return str(GGMLQuantizationType(number).name)
    except ValueError:
        return str(number)


def values(raw: Array, kind: str, shape: tuple[int, ...]) -> Array:
    """The elements of a tensor given as bytes: f32 for block types, else in the type's own dtype."""
    if kind in PLAIN:
        return raw.reshape(-1).view(PLAIN[kind]).reshape(shape)
    items, block = BLOCKS[kind]
    rows = raw.reshape(-1, shape[-1] // items * block)
    out = np.empty((len(rows), shape[-1]), np.float32)
    step = max(1, _PIECE // shape[-1])
    with np.errstate(all="ignore"):  # a damaged file's scales may be anything; what is not finite is refused later
        for start in range(0, len(rows), step):
            out[start : start + step] = dequantize(rows[start : start + step], GGMLQuantizationType[kind])
    return out.reshape(shape)
