"""The one safetensors file that holds every constant of a bundle, laid out so that engines can map it.

Format: https://huggingface.co/docs/safetensors (u64 header length, JSON header, tensor bytes without holes). On top of
it this writer promises: tensors sorted by name, each at an offset that is a multiple of 64 bytes from the start of the
file, and the same bytes for the same tensors on every machine. The format allows no holes, so the bytes between two
tensors are tensors too: `padding.<n>`, of u8.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import ml_dtypes
import numpy as np
import numpy.typing as npt

Precision = Literal["auto", "f16", "f32"]
"""How float weights are stored. `auto`: f16 where the checkpoint has bf16 or f16 and f16 holds every value exactly,
else f32. `f32`: always f32. `f16`: matrices are rounded to f16, vectors are stored as by `auto`."""

Array = npt.NDArray[Any]

ALIGNMENT = 64
_CHUNK = 1 << 22  # elements converted at a time: bounds the memory that a large tensor needs
_SAFETENSORS_NAMES = {
    "bool": "BOOL", "i8": "I8", "u8": "U8", "i16": "I16", "u16": "U16", "i32": "I32", "u32": "U32", "i64": "I64",
    "u64": "U64", "f16": "F16", "bf16": "BF16", "f32": "F32", "f64": "F64",
}  # fmt: skip
_NUMPY: dict[str, np.dtype[Any]] = {
    "bool": np.dtype(np.bool_), "i8": np.dtype(np.int8), "u8": np.dtype(np.uint8), "i16": np.dtype(np.int16),
    "u16": np.dtype(np.uint16), "i32": np.dtype(np.int32), "u32": np.dtype(np.uint32), "i64": np.dtype(np.int64),
    "u64": np.dtype(np.uint64), "f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32), "f64": np.dtype(np.float64),
}  # fmt: skip
_LEAST_SAFE, _MOST_SAFE = np.uint16(0x3700), np.uint16(0x477F)
"""Bits of the bf16 numbers 2^-17 and 65280. f16 holds all between: it has 3 bits more, and counts in steps of 2^-24."""
_FLOATS = ("f16", "bf16", "f32", "f64")
_NAMES = {dtype: name for name, dtype in _NUMPY.items()}


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The numpy dtype of one of the project's dtype names (`bf16` is that of ml_dtypes)."""
    return _NUMPY[name]


def dtype_name(dtype: np.dtype[Any]) -> str:
    """The project's name of a numpy dtype; KeyError for one that has none."""
    return _NAMES[dtype]


class UnstorableWeight(ValueError):
    """A weight whose values the wanted dtype cannot hold."""


@dataclasses.dataclass(frozen=True)
class Unread:
    """A checkpoint's tensor, which is read when its values are needed, and not kept."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    read: Callable[[], Array]


@dataclasses.dataclass(frozen=True)
class StoredTensor:
    """A tensor as it will be stored: the values of `source` in `dtype`."""

    name: str
    dtype: str
    source: Array | Unread

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.source.shape)

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * numpy_dtype(self.dtype).itemsize

    def chunks(self) -> Iterator[bytes]:
        """The little-endian, row-major bytes, a bounded piece at a time.

        Raises UnstorableWeight where a checkpoint's tensor holds NaN or infinity: no input gives such a model an
        answer.
        """
        target, array = numpy_dtype(self.dtype), _read(self.source)
        checked = isinstance(self.source, Unread) and self.dtype in _FLOATS
        for piece in _pieces(array):
            if checked and not np.isfinite(piece).all():
                broken = sum(int(piece.size - np.count_nonzero(np.isfinite(piece))) for piece in _pieces(array))
                raise UnstorableWeight(
                    f"weight {self.name!r} holds {broken} values of {array.size} that are NaN or infinite; "
                    "the checkpoint is damaged"
                )
            yield np.ascontiguousarray(piece.astype(target, copy=False)).tobytes()


@dataclasses.dataclass(frozen=True)
class Placement:
    """Where a tensor lies: `offset` is in bytes from the start of the file."""

    dtype: str
    shape: tuple[int, ...]
    offset: int
    nbytes: int


@dataclasses.dataclass(frozen=True)
class WeightsFile:
    """What was written: sha256 and size of the whole file, and the place of each tensor (padding left out)."""

    path: Path
    sha256: str
    size: int
    placements: Mapping[str, Placement]


def store(name: str, source: Array | Unread, precision: Precision) -> StoredTensor:
    """Decides the dtype in which a checkpoint's tensor is stored. Integer and bool tensors keep theirs.

    Values are read only where they decide: those of bf16, and those of a matrix that is to be rounded.

    Raises UnstorableWeight if `precision` is f16 and a finite value of a matrix lies beyond f16's range.
    """
    have = dtype_name(source.dtype)
    if have not in _FLOATS:
        return StoredTensor(name, have, source)
    if precision == "f32":
        return StoredTensor(name, "f32", source)
    if have == "f16":
        return StoredTensor(name, "f16", source)
    round = precision == "f16" and len(source.shape) >= 2
    if round or have == "bf16":
        array = _read(source)
        if have == "bf16" and _survives_f16(array):
            return StoredTensor(name, "f16", source)
        if round:
            _check_range(name, array)
            return StoredTensor(name, "f16", source)
    return StoredTensor(name, "f32", source)


def layout(tensors: Iterable[StoredTensor]) -> tuple[bytes, dict[str, Placement]]:
    """The file's head (length and header) and the place of each tensor. Raises ValueError for a name given twice."""
    ordered = sorted(tensors, key=lambda tensor: tensor.name)
    entries: dict[str, Any] = {}
    starts: list[tuple[StoredTensor, int]] = []
    end = 0
    for tensor in ordered:
        if tensor.name in entries:
            raise ValueError(f"two tensors are named {tensor.name!r}")
        start = end
        end = start + tensor.nbytes
        entries[tensor.name] = _entry(tensor.dtype, tensor.shape, start, end)
        starts.append((tensor, start))
        if gap := -end % ALIGNMENT:
            entries[f"padding.{len(starts)}"] = _entry("u8", (gap,), end, end + gap)
            end += gap
    header = json.dumps(entries, separators=(",", ":"), ensure_ascii=False).encode()
    header += b" " * (-(8 + len(header)) % ALIGNMENT)
    base = 8 + len(header)
    places = {t.name: Placement(t.dtype, t.shape, base + start, t.nbytes) for t, start in starts}
    return len(header).to_bytes(8, "little") + header, places


def write_weights(
    path: Path, tensors: Iterable[StoredTensor], progress: Callable[[int, int], None] = lambda done, total: None
) -> WeightsFile:
    """Writes `tensors` to `path`, converting a piece at a time. The order in which they come does not matter.

    `progress` is told how many bytes are written, of how many.
    """
    ordered = sorted(tensors, key=lambda tensor: tensor.name)
    head, placements = layout(ordered)
    digest = hashlib.sha256()
    total = len(head) + sum(tensor.nbytes + -tensor.nbytes % ALIGNMENT for tensor in ordered)
    size = 0
    with open(path, "wb") as file:

        def put(data: bytes) -> None:
            nonlocal size
            file.write(data)
            digest.update(data)
            size += len(data)
            progress(size, total)

        put(head)
        for tensor in ordered:
            for chunk in tensor.chunks():
                put(chunk)
            put(bytes(-size % ALIGNMENT))
    return WeightsFile(path, digest.hexdigest(), size, placements)


def _entry(dtype: str, shape: tuple[int, ...], start: int, end: int) -> dict[str, Any]:
    return {"dtype": _SAFETENSORS_NAMES[dtype], "shape": list(shape), "data_offsets": [start, end]}


def _read(source: Array | Unread) -> Array:
    return source.read() if isinstance(source, Unread) else source


def _pieces(array: Array) -> Iterator[Array]:
    flat = array.reshape(-1)
    for start in range(0, flat.size, _CHUNK):
        yield flat[start : start + _CHUNK]


def _survives_f16(array: Array) -> bool:
    """Whether f16 holds every value of a bf16 tensor. Nearly all of them tell by their bits alone, 7 times as fast."""
    for piece in _pieces(array):
        bits = piece.view(np.uint16) & 0x7FFF
        exact = piece[(bits - _LEAST_SAFE > _MOST_SAFE - _LEAST_SAFE) & (bits != 0)].astype(np.float32)
        with np.errstate(over="ignore", under="ignore"):
            if not np.array_equal(exact.astype(np.float16).astype(np.float32), exact):
                return False
    return True


def _check_range(name: str, array: Array) -> None:
    limit = float(np.finfo(np.float16).max)
    for piece in _pieces(array):
        exact = np.abs(piece.astype(np.float32))
        worst = float(np.max(exact, where=np.isfinite(exact), initial=0.0))
        if worst > limit:
            raise UnstorableWeight(
                f"weight {name!r} holds {worst:g}, beyond the limit of f16 ({limit:g}); "
                "build with --weights auto or f32"
            )
