"""The weights file is deterministic, aligned, and what the safetensors library reads."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors import safe_open
from safetensors.numpy import load_file

from tools.builder.assets import weights_file as wf


def _tensors(seed: int = 0) -> list[wf.StoredTensor]:
    rng = np.random.default_rng(seed)
    return [
        wf.StoredTensor("b.weight", "f32", rng.standard_normal((3, 5)).astype(np.float32)),
        wf.StoredTensor("a.weight", "f16", rng.standard_normal((7,)).astype(np.float16)),
        wf.StoredTensor("scalar", "i64", np.int64(7) * np.ones((), np.int64)),
        wf.StoredTensor("flags", "bool", np.array([True, False, True])),
        wf.StoredTensor("c", "f32", rng.standard_normal((16,)).astype(ml_dtypes.bfloat16)),
    ]


def test_the_safetensors_library_reads_every_tensor(tmp_path: Path) -> None:
    written = wf.write_weights(tmp_path / "w", _tensors())
    loaded = load_file(written.path)
    for tensor in _tensors():
        want = np.asarray(tensor.source).astype(wf.numpy_dtype(tensor.dtype))
        np.testing.assert_array_equal(loaded[tensor.name], want)


def test_every_tensor_is_aligned_and_at_its_placement(tmp_path: Path) -> None:
    written = wf.write_weights(tmp_path / "w", _tensors())
    raw = written.path.read_bytes()
    assert set(written.placements) == {t.name for t in _tensors()}
    for tensor in _tensors():
        place = written.placements[tensor.name]
        assert place.offset % wf.ALIGNMENT == 0
        assert raw[place.offset : place.offset + place.nbytes] == b"".join(tensor.chunks())


def test_offsets_ascend_by_name(tmp_path: Path) -> None:
    places = wf.write_weights(tmp_path / "w", _tensors()).placements
    assert [name for name, _ in sorted(places.items(), key=lambda item: item[1].offset)] == sorted(places)


def test_digest_and_size_are_those_of_the_file(tmp_path: Path) -> None:
    written = wf.write_weights(tmp_path / "w", _tensors())
    assert written.sha256 == hashlib.sha256(written.path.read_bytes()).hexdigest()
    assert written.size == written.path.stat().st_size


def test_same_tensors_in_another_order_give_the_same_bytes(tmp_path: Path) -> None:
    first = wf.write_weights(tmp_path / "1", _tensors())
    second = wf.write_weights(tmp_path / "2", reversed(_tensors()))
    assert first.sha256 == second.sha256


def test_refuses_two_tensors_of_one_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="two tensors are named 'a'"):
        wf.write_weights(tmp_path / "w", [wf.StoredTensor("a", "f32", np.zeros(1, np.float32))] * 2)


def test_large_tensor_is_converted_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wf, "_CHUNK", 10)
    tensor = wf.StoredTensor("t", "f32", np.arange(96, dtype=np.float16).reshape(8, 12))
    assert max(len(chunk) for chunk in tensor.chunks()) == 40
    loaded = load_file(wf.write_weights(tmp_path / "w", [tensor]).path)
    np.testing.assert_array_equal(loaded["t"], tensor.source)


@pytest.mark.parametrize(
    ("values", "source", "precision", "stored"),
    [
        ([[1.5, -2.0]], ml_dtypes.bfloat16, "auto", "f16"),
        ([[1e30, 1.0]], ml_dtypes.bfloat16, "auto", "f32"),  # beyond the range of f16
        ([[1e-9, 1.0]], ml_dtypes.bfloat16, "auto", "f32"),  # would be flushed to zero
        ([[float("nan")]], ml_dtypes.bfloat16, "auto", "f32"),
        ([[float("inf")]], ml_dtypes.bfloat16, "auto", "f16"),
        ([[1.5]], np.float16, "auto", "f16"),
        ([[1.5]], np.float32, "auto", "f32"),
        ([[1.5]], ml_dtypes.bfloat16, "f32", "f32"),
        ([[1.5]], np.float16, "f32", "f32"),
        ([[0.1]], np.float32, "f16", "f16"),
        ([0.1], np.float32, "f16", "f32"),  # vectors are not rounded
        ([1, 2], np.int64, "f16", "i64"),
    ],
)
def test_stored_dtype(values: list[Any], source: Any, precision: wf.Precision, stored: str) -> None:
    assert wf.store("w", np.array(values, source), precision).dtype == stored


def test_refuses_to_round_beyond_the_range_of_f16() -> None:
    with pytest.raises(wf.UnstorableWeight, match="'w' holds 70000, beyond the limit of f16"):
        wf.store("w", np.array([[7e4]], np.float32), "f16")


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_refuses_values_that_are_not_finite(dtype: Any, value: float) -> None:
    tensor = wf.store("w", _unread(np.array([1, value, 2], dtype), []), "auto")
    with pytest.raises(wf.UnstorableWeight, match="'w' holds 1 values of 3 that are NaN or infinite"):
        list(tensor.chunks())


@pytest.mark.parametrize("precision", ["auto", "f16", "f32"])
@pytest.mark.parametrize(
    ("dtype", "most"), [(np.int64, 1), (np.float16, 1), (np.float32, 1), (np.float64, 1), (ml_dtypes.bfloat16, 2)]
)
def test_a_tensor_is_read_as_often_as_its_dtype_needs(dtype: Any, most: int, precision: wf.Precision) -> None:
    reads: list[str] = []
    values = np.array([[1, 2], [3, 1e-30 if most == 2 else 4]], dtype)
    tensor = wf.store("w", _unread(values, reads), precision)
    list(tensor.chunks())
    rounded = precision == "f16" and tensor.dtype == "f16" and dtype != np.float16
    assert len(reads) <= max(most, 2 if rounded else 1)


def test_a_tensor_is_not_read_before_it_is_needed() -> None:
    def fail() -> Any:
        raise AssertionError("read")

    tensor = wf.store("w", wf.Unread(np.dtype(np.float32), (3, 4), fail), "auto")
    assert (tensor.dtype, tensor.shape, tensor.nbytes) == ("f32", (3, 4), 48)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(hnp.arrays(np.uint16, st.integers(1, 64)))
def test_auto_never_changes_a_value(bits: np.ndarray[Any, np.dtype[Any]]) -> None:
    source = bits.view(ml_dtypes.bfloat16)
    tensor = wf.store("w", source, "auto")
    stored = np.frombuffer(b"".join(tensor.chunks()), wf.numpy_dtype(tensor.dtype))
    np.testing.assert_array_equal(stored.astype(np.float32), source.astype(np.float32))


def _unread(array: np.ndarray[Any, np.dtype[Any]], reads: list[str]) -> wf.Unread:
    """`array`, noting in `reads` each time that it is read."""

    def read() -> np.ndarray[Any, np.dtype[Any]]:
        reads.append("w")
        return array

    return wf.Unread(array.dtype, array.shape, read)


def test_padding_is_declared(tmp_path: Path) -> None:
    written = wf.write_weights(tmp_path / "w", _tensors())
    with safe_open(written.path, "np") as file:
        padding = [name for name in sorted(file.keys()) if name not in written.placements]
        assert padding and all(name.startswith("padding.") and not file.get_tensor(name).any() for name in padding)


def test_every_bf16_number_is_known_to_survive_f16_or_not() -> None:
    bits = np.arange(1 << 16, dtype=np.uint16).view(ml_dtypes.bfloat16)
    exact = bits.astype(np.float32)
    with np.errstate(over="ignore", under="ignore"):
        want = exact.astype(np.float16).astype(np.float32) == exact
    assert [wf._survives_f16(bits[i : i + 1]) for i in range(len(bits))] == want.tolist()
    assert wf._survives_f16(bits[want]) and not wf._survives_f16(bits)
    assert wf._survives_f16(bits[:0])
