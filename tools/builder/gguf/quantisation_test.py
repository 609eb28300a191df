"""Block types give the values of an implementation other than the one that they are read with, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from gguf.constants import GGMLQuantizationType
from transformers.integrations.gguf import dequant

from tools.builder.gguf.quantisation import BLOCKS, PLAIN, SUPPORTED, Array, type_name, values

# Where the f16 scales lie in a block, so that random blocks have finite ones.
_SCALES = {
    "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108],
    "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ1_S": [0], "IQ2_XXS": [0], "IQ2_XS": [0], "IQ2_S": [0],
    "IQ3_XXS": [0], "IQ3_S": [0], "IQ4_NL": [0], "IQ4_XS": [0], "IQ1_M": [],
}  # fmt: skip


def blocks(kind: str, count: int) -> Array:
    """Random blocks, u8 [count, bytes], the same on every machine."""
    rng = np.random.Generator(np.random.Philox(BLOCKS[kind][1]))
    raw = rng.integers(0, 256, (count, BLOCKS[kind][1]), np.uint8)
    for offset in _SCALES[kind]:
        raw[:, offset : offset + 2] = rng.standard_normal((count, 1)).astype(np.float16).view(np.uint8)
    if kind == "IQ1_M":  # its scale is spread over the high nibbles of four words: clear the exponent's top bit
        raw[:, 55] &= 0xBF
    return raw


def test_EveryBlockTypeIsTested() -> None:
    assert {*_SCALES, *PLAIN} == set(SUPPORTED)


@pytest.mark.parametrize("kind", [kind for kind in _SCALES if GGMLQuantizationType[kind] in dequant.GGML_BLOCK])
def test_GivesTheReferenceLibrarysValues(kind: str) -> None:
    raw, items = blocks(kind, 60), BLOCKS[kind][0]
    want = dequant.dequantize(torch.from_numpy(raw), int(GGMLQuantizationType[kind])).numpy().reshape(12, 5 * items)
    got = values(raw, kind, (12, 5 * items))
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("kind", ["Q5_0", "Q5_1"])
def test_FiveBitsAreAsGgmlDefinesThem(kind: str) -> None:
    raw = blocks(kind, 8)
    want = []
    for block in raw:
        head = block[:4].view(np.float16).astype(np.float32) if kind == "Q5_1" else block[:2].view(np.float16)
        bits = block[-20:-16].view(np.uint32)[0]
        for i in range(32):
            nibble = block[-16 + i % 16] >> (4 if i >= 16 else 0) & 15
            q = np.float32(int(nibble) | (int(bits) >> i & 1) << 4)
            want.append(head[0] * q + head[1] if kind == "Q5_1" else np.float32(head[0]) * (q - np.float32(16)))
    np.testing.assert_array_equal(values(raw, kind, (2, 128)).reshape(-1), np.array(want, np.float32))


@pytest.mark.parametrize("kind", PLAIN)
def test_PlainTypesKeepTheirDtype(kind: str) -> None:
    want = np.arange(6, dtype=np.float32).astype(PLAIN[kind]).reshape(2, 3)
    got = values(np.frombuffer(want.tobytes(), np.uint8), kind, (2, 3))
    assert got.dtype == PLAIN[kind]
    np.testing.assert_array_equal(got, want)


def test_ManyRowsAreConvertedPieceByPiece() -> None:
    raw = blocks("Q8_0", 40000)
    got = values(raw, "Q8_0", (40000, 32))
    np.testing.assert_array_equal(got[-3:], values(raw[-3:], "Q8_0", (3, 32)))


def test_TypesHaveNames() -> None:
    assert (type_name(12), type_name(999)) == ("Q4_K", "999")
