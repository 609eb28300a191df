"""Mutated safetensors files: reading their header and every tensor ends with CheckpointError or well.

bazel run //tools/builder/fuzzing:safetensors_fuzz -- --seconds 600
"""

from __future__ import annotations

import copy
import json
import random
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tools.builder.checkpoint import DTYPES, Checkpoint, CheckpointError, read_header
from tools.builder.fuzzing.runner import INTERESTING, Target, damaged, main

_VALUES: tuple[Callable[[], Any], ...] = (
    lambda: None, lambda: True, lambda: -1, lambda: 1.5, lambda: 10**30, lambda: float("nan"), lambda: "F32",
    lambda: "F8_E4M3", lambda: "", lambda: "\ud800", lambda: [], lambda: {}, lambda: [[]], lambda: [0, 0],
    lambda: [4, 0], lambda: [2**32, 2**32], lambda: [2**63, 0], lambda: {"format": "pt"},
)  # fmt: skip


def header(rng: random.Random) -> tuple[dict[str, Any], int]:
    """A well-formed header of a few tensors, and how many bytes follow it."""
    entries: dict[str, Any] = {"__metadata__": {"format": "pt"}} if rng.random() < 0.5 else {}
    end = 0
    for number in range(rng.randrange(5)):
        dtype = rng.choice(list(DTYPES))
        shape = [rng.choice((0, 1, 2, 3, 5)) for _ in range(rng.randrange(4))]
        size = int(np.prod(shape, dtype=np.int64)) * DTYPES[dtype].itemsize
        entries[f"model.layers.{number}.weight"] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + size]}
        end += size
    return entries, end


def places(value: Any) -> list[tuple[Any, Any]]:
    """(container, key) of everything in a JSON value."""
    keys: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value)))
    found = [(value, key) for key in keys]
    return found + [place for _, key in found if isinstance(value[key], dict | list) for place in places(value[key])]


def disturb(rng: random.Random, value: Any) -> None:
    """Changes one thing in a JSON value."""
    if not (where := places(value)):
        return
    container, key = rng.choice(where)
    choice = rng.randrange(6)
    old = container[key]
    if choice == 0:
        del container[key]
    elif choice == 1 and isinstance(container, dict):
        container[rng.choice(("a", "", "__metadata__", "dtype", "x" * 300, "\ud800"))] = copy.deepcopy(old)
    elif choice == 2 and isinstance(container, list):
        container.insert(key, copy.deepcopy(old))
    elif choice == 3 and type(old) is int:
        container[key] = old + rng.choice((-1, 1, 8, -old, *INTERESTING))
    else:
        container[key] = rng.choice(_VALUES)()


def mutated(rng: random.Random) -> bytes:
    """A file whose header, bytes, or both are wrong in a few places; now and then a good one."""
    entries, size = header(rng)
    for _ in range(rng.randrange(4)):
        disturb(rng, entries)
    text = json.dumps(entries).encode()
    if rng.random() < 0.1:
        text = rng.choice((b"[", b'{"a":')) * rng.choice((10, 200, 5000)) + text
    if rng.random() < 0.1:
        text = text.replace(b"0", b"0" * rng.choice((1, 9, 5000)), 1)
    length = len(text) if rng.random() < 0.9 else rng.choice(INTERESTING)
    content = struct.pack("<Q", length) + text + bytes(size)
    return damaged(rng, content, rng.choice((0, 0, 1, 2, 8)))


def read(path: Path) -> None:
    """Reads all that a build reads."""
    checkpoint = Checkpoint(path.parent, {}, read_header(path))
    for name, tensor in checkpoint.tensors.items():
        array = checkpoint.read(name)
        assert (array.shape, array.dtype) == (tensor.shape, DTYPES[tensor.dtype])
        assert array.nbytes == tensor.size


TARGET = Target(mutated, read, (CheckpointError,), ".safetensors")

if __name__ == "__main__":
    sys.exit(main(TARGET, sys.argv[1:], __doc__))
