"""Writes safetensors and checkpoint folders for tests, good ones and damaged ones."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
NAMES = {"float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64"}


def header_of(tensors: Mapping[str, Array]) -> dict[str, Any]:
    """The header of tensors that follow each other in order."""
    header, end = {}, 0
    for name, array in tensors.items():
        entry = {
            "dtype": NAMES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [end, end + array.nbytes],
        }
        header[name], end = entry, end + array.nbytes
    return header


def pack(header: Any, data: bytes) -> bytes:
    """A file of any header and any data."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def file_of(tensors: Mapping[str, Array]) -> bytes:
    """A well-formed safetensors file."""
    return pack(header_of(tensors), b"".join(array.tobytes() for array in tensors.values()))


def checkpoint_folder(folder: Path, config: Mapping[str, Any], tensors: Mapping[str, Array]) -> Path:
    """A checkpoint with one weights file."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").write_bytes(file_of(tensors))
    return folder


def zeros(**shapes: tuple[int, ...]) -> dict[str, Array]:
    """f32 tensors; `__` in a keyword stands for a dot."""
    return {name.replace("__", "."): np.zeros(shape, np.float32) for name, shape in shapes.items()}
