"""The container: metadata and the places of tensors, from one GGUF file or from all parts of a split one.

Nothing is believed that the file's size does not bear out: every count, length and offset is checked before it is
used, so that a damaged or hostile file costs an error and no memory. Format:
https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import math
import mmap
import os
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tools.builder.checkpoint import CheckpointError
from tools.builder.files import FileError, open_plain
from tools.builder.gguf.quantisation import BLOCKS, SUPPORTED, type_name

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MAX_ITEMS = 1 << 24  # of one array: 60 times the largest vocabulary in use
MAX_DIMS = 4
_SCALARS: Mapping[int, str] = {
    0: "<u1", 1: "<i1", 2: "<u2", 3: "<i2", 4: "<u4", 5: "<i4", 6: "<f4", 7: "<u1", 10: "<u8", 11: "<i8", 12: "<f8",
}  # fmt: skip
_BOOL, _STRING, _ARRAY = 7, 8, 9
_PART = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.gguf")


@dataclass(frozen=True)
class GgufTensor:
    """Where a tensor lies: `size` bytes at `offset` of `file`, in blocks along the last axis of the row-major shape."""

    name: str
    kind: str
    shape: tuple[int, ...]
    file: Path
    offset: int
    size: int


@dataclass(frozen=True)
class Gguf:
    """What a file says: its metadata and its tensors, which are not read yet."""

    path: Path
    metadata: Mapping[str, Any]
    tensors: Mapping[str, GgufTensor]


def read_gguf(path: Path) -> Gguf:
    """Reads a file, and where it is a part of a split model all parts. Raises CheckpointError, which names the file."""
    first = read_file(path)
    count = first.metadata.get("split.count", 1)
    if not isinstance(count, int) or count <= 1:
        return first
    named = _PART.fullmatch(path.name)
    if named is None or int(named[3]) != count:
        raise CheckpointError(
            f"{path} is one of {count} parts, but its name does not end in -00001-of-{count:05}.gguf; "
            f"give the parts the names with which they were made"
        )
    paths = [path.with_name(f"{named[1]}-{number:05}-of-{count:05}.gguf") for number in range(1, count + 1)]
    if absent := [part.name for part in paths if not part.is_file()]:
        raise CheckpointError(f"{path.parent} lacks {len(absent)} of {count} parts: {', '.join(absent[:5])}")
    parts = [first if part == path else read_file(part) for part in paths]
    tensors: dict[str, GgufTensor] = {}
    for number, part in enumerate(parts):
        stated = (part.metadata.get("split.no"), part.metadata.get("split.count"))
        if stated != (number, count):
            raise CheckpointError(f"{part.path} calls itself part {stated[0]} of {stated[1]}, its name {number}")
        if twice := tensors.keys() & part.tensors.keys():
            raise CheckpointError(f"{part.path} holds {min(twice)}, which an earlier part holds too")
        tensors |= part.tensors
    total = parts[0].metadata.get("split.tensors.count")
    if total is not None and total != len(tensors):
        raise CheckpointError(f"{parts[0].path} states {total} tensors in all, and the parts hold {len(tensors)}")
    return Gguf(parts[0].path, parts[0].metadata, tensors)


def read_file(path: Path) -> Gguf:
    """Reads one file's head. Raises CheckpointError for anything that the format does not allow."""
    try:
        file = open_plain(path)
    except FileError as error:
        raise CheckpointError(str(error)) from None
    with file:
        size = os.fstat(file.fileno()).st_size
        if size < 24:
            raise CheckpointError(f"{path}: {size} bytes cannot hold the head of a GGUF file, which has 24")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _Cursor(path, data).read()


class _Cursor:
    """Reads forward through the head; every step is checked against the end of the file."""

    def __init__(self, path: Path, data: mmap.mmap) -> None:
        self._path, self._data, self._at = path, data, 0

    def fail(self, reason: str) -> CheckpointError:
        return CheckpointError(f"{self._path}: {reason}. The file is damaged or incomplete: fetch it again")

    def read(self) -> Gguf:
        magic, version, tensors, pairs = struct.unpack("<4sIQQ", self._take(24, "the head"))
        if magic != MAGIC:
            raise CheckpointError(f"{self._path} is no GGUF file: it begins with {magic!r}")
        if version not in VERSIONS:
            hint = "big-endian files are not read" if version & 0xFFFF == 0 else "convert the model again"
            raise CheckpointError(f"{self._path} is GGUF version {version}; supported are 2 and 3 ({hint})")
        metadata: dict[str, Any] = {}
        for _ in range(self._counted(pairs, 13, "metadata entries")):
            key = self._string("a metadata key")
            if key in metadata:
                raise self.fail(f"the metadata key {key} stands twice")
            metadata[key] = self._value(self._number("<I", key), key)
        alignment = metadata.get("general.alignment", 32)
        if not isinstance(alignment, int) or alignment <= 0 or alignment % 8:
            raise self.fail(f"general.alignment is {alignment!r}, not a positive multiple of 8")
        infos = [self._info() for _ in range(self._counted(tensors, 24, "tensors"))]
        start = self._at + -self._at % alignment
        return Gguf(self._path, metadata, self._placed(infos, start, alignment))

    def _info(self) -> tuple[str, int, tuple[int, ...], int]:
        name = self._string("a tensor's name")
        dims = self._number("<I", name)
        if dims > MAX_DIMS:
            raise self.fail(f"tensor {name} has {dims} dimensions; a tensor has up to {MAX_DIMS}")
        shape = struct.unpack(f"<{dims}Q", self._take(8 * dims, name))
        kind, offset = struct.unpack("<IQ", self._take(12, name))
        return name, kind, tuple(reversed(shape)), offset  # the file's first dimension is the innermost one

    def _placed(
        self, infos: list[tuple[str, int, tuple[int, ...], int]], start: int, alignment: int
    ) -> dict[str, GgufTensor]:
        tensors: dict[str, GgufTensor] = {}
        end, last = start, "the head"
        for name, number, shape, offset in sorted(infos, key=lambda info: info[3]):
            kind = type_name(number)
            if kind not in BLOCKS:
                raise CheckpointError(
                    f"{self._path}: tensor {name} has the type {kind}, which is not read; read are "
                    f"{', '.join(SUPPORTED)}"
                )
            items, block = BLOCKS[kind]
            if not shape or 0 in shape or shape[-1] % items:
                raise self.fail(f"tensor {name} is {kind} of shape {list(shape)}; its rows have blocks of {items}")
            if name in tensors:
                raise self.fail(f"tensor {name} stands twice")
            size = math.prod(shape) // items * block
            if offset % alignment:
                raise self.fail(f"tensor {name} lies at {offset}, which is no multiple of {alignment}")
            if start + offset < end:
                raise self.fail(f"tensor {name} overlaps {last}")
            end, last = start + offset + size, name
            if end > len(self._data):
                raise self.fail(f"tensor {name} ends at byte {end} and the file at {len(self._data)}")
            tensors[name] = GgufTensor(name, kind, shape, self._path, start + offset, size)
        return tensors

    def _value(self, kind: int, key: str) -> Any:
        if kind == _STRING:
            return self._string(key)
        if kind == _ARRAY:
            item, count = struct.unpack("<IQ", self._take(12, key))
            if item == _STRING:
                return [self._string(key) for _ in range(self._counted(count, 8, key))]
            dtype = np.dtype(self._scalar(item, key))
            values = np.frombuffer(self._take(self._counted(count, dtype.itemsize, key) * dtype.itemsize, key), dtype)
            return (values != 0).tolist() if item == _BOOL else values.tolist()
        dtype = np.dtype(self._scalar(kind, key))
        value = np.frombuffer(self._take(dtype.itemsize, key), dtype)[0]
        # An f32 by its shortest decimal: 1e-06 as config.json has it, not 9.999999974752427e-07.
        return bool(value) if kind == _BOOL else float(str(value)) if kind == 6 else value.item()

    def _scalar(self, kind: int, key: str) -> str:
        if kind not in _SCALARS:
            raise self.fail(f"the metadata {key} has the value type {kind}; there are 0 to 12, and no arrays of arrays")
        return _SCALARS[kind]

    def _counted(self, count: int, least: int, what: str) -> int:
        """`count` things of at least `least` bytes each, if the rest of the file can hold them."""
        if count > MAX_ITEMS or count * least > len(self._data) - self._at:
            raise self.fail(f"{what}: {count} items do not fit into the {len(self._data) - self._at} bytes that follow")
        return count

    def _string(self, what: str) -> str:
        raw = self._take(self._number("<Q", what), what)
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.fail(f"{what} is not UTF-8 ({error.reason} at byte {error.start} of {raw[:40]!r})") from None

    def _number(self, form: str, what: str) -> int:
        return int(struct.unpack(form, self._take(struct.calcsize(form), what))[0])

    def _take(self, size: int, what: str) -> bytes:
        if size > len(self._data) - self._at:
            raise self.fail(f"{what} has {size} bytes at {self._at} and the file ends at {len(self._data)}")
        self._at += size
        return self._data[self._at - size : self._at]
