"""Numbers survive the way into a plan's dtypes, rounded to the nearest, or are refused."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tools.builder.lowering.tensorrt.encoding import RangeError, decode, encode


def test_bf16_rounds_as_ml_dtypes_does() -> None:
    rng = np.random.default_rng(0)
    values = rng.integers(0, 2**32, 100_000, dtype=np.uint64).astype(np.uint32).view(np.float32)
    values = np.concatenate([values, np.array([0.0, -0.0, np.inf, -np.inf, 1.0, 3.4e38, 1e-45], np.float32)])
    with np.errstate(all="ignore"):
        want = values.astype(ml_dtypes.bfloat16)
    got = encode(values, "bf16")
    number = ~np.isnan(values)
    np.testing.assert_array_equal(got[number], want.view(np.uint16)[number])
    assert np.isnan(decode(got, "bf16")[~number]).all()
    np.testing.assert_array_equal(decode(got, "bf16")[number], want.astype(np.float32)[number])


def test_keeps_shapes() -> None:
    for dtype in ("f32", "f16", "bf16", "i32", "i64"):
        assert encode(np.ones((2, 0, 3)), dtype).shape == (2, 0, 3)
        assert encode(np.array(1.0), dtype).shape == ()


def test_refuses_what_f16_cannot_hold() -> None:
    np.testing.assert_array_equal(encode(np.array([np.inf, 65504.0]), "f16"), [np.inf, 65504.0])
    with pytest.raises(RangeError, match="70000 lies beyond f16's limit of 65504; build for bf16 or f32"):
        encode(np.array([1.0, -70000.0]), "f16")


def test_refuses_integers_that_i32_cannot_hold() -> None:
    np.testing.assert_array_equal(encode(np.array([2**31 - 1]), "i32"), [2**31 - 1])
    with pytest.raises(RangeError, match="2147483648 lies beyond i32's range"):
        encode(np.array([0, 2**31]), "i32")
