"""A checkpoint folder as a model maker ships it: `config.json` and safetensors, whole or in shards.

    checkpoint = Checkpoint.open(Path("Qwen3-0.6B"))
    checkpoint.config["hidden_size"], checkpoint.tensors["model.norm.weight"].shape
    checkpoint.read("model.norm.weight")         # numpy, mapped from the file, in its stored dtype

Pickled weights (`.bin`, `.pt`, `.pth`) are refused: loading one can run any code. The files are of unknown origin, so
every offset is checked before it is used. Format: https://huggingface.co/docs/safetensors (format section).
"""

from __future__ import annotations

import math
import mmap
import os
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tools.builder.files import FileError, check_members, open_plain, parse_json, read_json

Array: TypeAlias = npt.NDArray[Any]

DTYPES: Mapping[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("i1"),
    "U8": np.dtype("u1"),
    "BOOL": np.dtype("?"),
}
FLOATS = ("F64", "F32", "F16", "BF16")
MAX_HEADER = 100_000_000  # the format's own limit, in bytes
MAX_DIMS, MAX_ELEMENTS = 8, 1 << 48
MEMBERS = (
    "*.json", "*.txt", "*.safetensors", "*.jinja", "*.model", "*.tiktoken", "*/config.json",
    "additional_chat_templates/*.jinja", "README.md", "LICENSE*",
)  # fmt: skip
"""What a build may read of a folder."""
_SINGLE, _INDEX = "model.safetensors", "model.safetensors.index.json"


class CheckpointError(ValueError):
    """A checkpoint that is incomplete, damaged or in a form that is not read."""


@dataclass(frozen=True)
class Tensor:
    """Where a tensor lies: `size` bytes at `offset` of `file`, row-major, little-endian."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    file: Path
    offset: int
    size: int


class Checkpoint:
    """Lazily read: opening reads headers only, `read` maps."""

    def __init__(self, folder: Path, config: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        self.folder = folder
        self.config = config
        """`config.json`, as parsed."""
        self.tensors = tensors
        self._maps: dict[Path, mmap.mmap] = {}
        self._made: dict[str, Callable[[], Array]] = {}

    @staticmethod
    def open(folder: Path) -> Checkpoint:
        """Reads `config.json` and every header. Raises `CheckpointError`, which names the file and the tensor."""
        folder = Path(folder)
        if not folder.is_dir():
            raise CheckpointError(
                f"{folder} is not a folder; a checkpoint is a folder with config.json and *.safetensors"
            )
        try:
            check_members(folder, MEMBERS)
        except FileError as error:
            raise CheckpointError(str(error)) from None
        config = _read_json(folder / "config.json")
        if (folder / _SINGLE).exists():
            return Checkpoint(folder, config, read_header(folder / _SINGLE))
        if (folder / _INDEX).exists():
            return Checkpoint(folder, config, _read_shards(folder))
        pickles = sorted(p.name for p in folder.iterdir() if p.suffix in (".bin", ".pt", ".pth", ".ckpt"))
        if pickles:
            raise CheckpointError(
                f"{folder} has weights only as pickle ({', '.join(pickles[:3])}), and loading a pickle can run any "
                f"code. Ask the maker for safetensors, or convert it where you trust it (model.save_pretrained)"
            )
        raise CheckpointError(f"{folder} has no weights: neither {_SINGLE} nor {_INDEX}")

    def read(self, name: str) -> Array:
        """The tensor in its stored dtype, mapped from the file; what is written to it stays in memory."""
        if name in self._made:
            return self._made[name]()
        tensor = self.tensors[name]
        return self._raw(name).view(DTYPES[tensor.dtype]).reshape(tensor.shape)

    def stack(self, name: str, parts: Sequence[str]) -> None:
        """Adds the tensor `name`: `parts`, of one dtype and shape, along a new first axis. Raises `CheckpointError`."""
        first = self.tensors[parts[0]]
        for other in (self.tensors[part] for part in parts):
            if (other.dtype, other.shape) != (first.dtype, first.shape):
                raise CheckpointError(
                    f"{self.folder}: {first.name} is {first.dtype}{list(first.shape)} and {other.name} "
                    f"{other.dtype}{list(other.shape)}; they belong together and must be alike"
                )
        shape = (len(parts), *first.shape)
        self.tensors[name] = Tensor(name, first.dtype, shape, first.file, first.offset, first.size * len(parts))
        self._made[name] = lambda: np.stack([self.read(part) for part in parts])

    def part(self, name: str, whole: str, axis: int, start: int, stop: int) -> None:
        """Adds the tensor `name`: what lies from `start` to `stop` (exclusive) along an axis of the tensor `whole`."""
        tensor = self.tensors[whole]
        shape = (*tensor.shape[:axis], stop - start, *tensor.shape[axis + 1 :])
        size = math.prod(shape) * DTYPES[tensor.dtype].itemsize
        self.tensors[name] = Tensor(name, tensor.dtype, shape, tensor.file, tensor.offset, size)
        index = (slice(None),) * axis + (slice(start, stop),)
        self._made[name] = lambda: np.ascontiguousarray(self.read(whole)[index])

    def same(self, a: str, b: str) -> bool:
        """Whether two tensors hold the same bytes under the same type."""
        x, y = self.tensors[a], self.tensors[b]
        return (x.dtype, x.shape, x.size) == (y.dtype, y.shape, y.size) and np.array_equal(self._raw(a), self._raw(b))

    def _raw(self, name: str) -> npt.NDArray[np.uint8]:
        tensor = self.tensors[name]
        if tensor.size == 0:
            return np.empty(0, np.uint8)
        return np.frombuffer(self._map(tensor.file), np.uint8, tensor.size, tensor.offset)

    def _map(self, path: Path) -> mmap.mmap:
        if path not in self._maps:
            with _opened(path) as file:
                self._maps[path] = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        return self._maps[path]


def _opened(path: Path) -> IO[bytes]:
    try:
        return open_plain(path)
    except FileError as error:
        raise CheckpointError(str(error)) from None


def read_header(path: Path) -> dict[str, Tensor]:
    """The tensors of one safetensors file. Raises `CheckpointError` for anything the format does not allow."""

    def fail(reason: str) -> CheckpointError:
        return CheckpointError(f"{path}: {reason}. The file is damaged or incomplete: fetch it again")

    with _opened(path) as file:
        total = os.fstat(file.fileno()).st_size
        prefix = file.read(8)
        if len(prefix) < 8:
            raise fail(f"{total} bytes cannot hold a header length of 8")
        (length,) = struct.unpack("<Q", prefix)
        if length > MAX_HEADER or 8 + length > total:
            raise fail(f"the header is {length} bytes long, the file {total}, and a header at most {MAX_HEADER}")
        text = file.read(length)
    try:
        header = parse_json(text.decode("utf-8"), "the header", _unique)
    except UnicodeDecodeError as error:
        raise fail(f"the header is not UTF-8 ({error.reason} at byte {error.start})") from None
    except FileError as error:
        raise fail(str(error)) from None
    if not isinstance(header, dict):
        raise fail("the header is not a JSON object")
    header.pop("__metadata__", None)
    start = 8 + length
    tensors = {name: _tensor(path, name, entry, start, fail) for name, entry in header.items()}
    end, last = start, "the header"
    for tensor in sorted(tensors.values(), key=lambda t: (t.offset, t.size)):
        if tensor.offset != end:
            relation = "overlaps" if tensor.offset < end else "leaves a gap after"
            raise fail(f"tensor {tensor.name} {relation} {last}")
        end, last = tensor.offset + tensor.size, tensor.name
    if end != total:
        raise fail(f"the tensors end at byte {end} and the file at {total}")
    return tensors


def _tensor(path: Path, name: str, entry: Any, start: int, fail: Any) -> Tensor:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise fail(f"tensor {name} is not described by dtype, shape and data_offsets")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise CheckpointError(f"{path}: tensor {name} has the dtype {dtype!r}; supported are {', '.join(DTYPES)}")
    if not _naturals(shape):
        raise fail(f"tensor {name} has the shape {shape!r}")
    # A tensor without elements may claim anything of its other dimensions; arrays have limits all the same.
    if len(shape) > MAX_DIMS or math.prod(size or 1 for size in shape) > MAX_ELEMENTS:
        raise CheckpointError(
            f"{path}: tensor {name} has the shape {str(shape):.80}; a tensor has up to {MAX_DIMS} dimensions and "
            f"{MAX_ELEMENTS} elements, dimensions of 0 counted as 1"
        )
    if not _naturals(offsets) or len(offsets) != 2:
        raise fail(f"tensor {name} has the data_offsets {offsets!r}")
    size = math.prod(shape) * DTYPES[dtype].itemsize
    if offsets[1] - offsets[0] != size:
        raise fail(f"tensor {name} is {dtype} {shape}, which is {size} bytes, but its data_offsets are {offsets}")
    return Tensor(name, dtype, tuple(shape), path, start + offsets[0], size)


def _naturals(value: Any) -> bool:
    return isinstance(value, list) and all(type(v) is int and v >= 0 for v in value)


def _read_shards(folder: Path) -> dict[str, Tensor]:
    index = _read_json(folder / _INDEX)
    weight_map = index.get("weight_map")
    if not isinstance(weight_map, dict) or not all(isinstance(s, str) for s in weight_map.values()):
        raise CheckpointError(f"{folder / _INDEX}: weight_map must give a file name for each tensor")
    shards = sorted(set(weight_map.values()))
    for shard in shards:
        if Path(shard).name != shard or not shard.endswith(".safetensors"):
            raise CheckpointError(f"{folder / _INDEX}: {shard!r} is not the plain name of a safetensors file")
    absent = [shard for shard in shards if not (folder / shard).is_file()]
    if absent:
        raise CheckpointError(f"{folder} lacks {len(absent)} of {len(shards)} shards: {', '.join(absent[:5])}")
    tensors: dict[str, Tensor] = {}
    for shard in shards:
        for name, tensor in read_header(folder / shard).items():
            if weight_map.get(name) != shard:
                place = weight_map.get(name, "no shard")
                raise CheckpointError(f"{folder / shard} holds {name}, which {_INDEX} places in {place}")
            tensors[name] = tensor
    lost = sorted(set(weight_map) - set(tensors))
    if lost:
        raise CheckpointError(f"{folder}: {len(lost)} tensors of {_INDEX} are in no shard: {', '.join(lost[:5])}")
    return tensors


def _read_json(path: Path) -> dict[str, Any]:
    try:
        body = read_json(path)
    except FileNotFoundError:
        raise CheckpointError(f"{path.parent} has no {path.name}") from None
    except FileError as error:
        raise CheckpointError(str(error)) from None
    if not isinstance(body, dict):
        raise CheckpointError(f"{path} is not a JSON object")
    return body


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} stands twice")
    return table
