"""A GGUF file as a checkpoint like another: its tensors under the reference library's names, and the small files that
such a checkpoint would have, made from its metadata.

    checkpoint = GgufCheckpoint.open(Path("Qwen3-0.6B-Q4_K_M.gguf"))
    checkpoint.config["hidden_size"]
    checkpoint.read("model.norm.weight")         # f32; blocks are dequantised when a tensor is read
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tools.builder.checkpoint import Array, Checkpoint, Tensor
from tools.builder.gguf.architectures import Place, places
from tools.builder.gguf.config import config
from tools.builder.gguf.quantisation import PLAIN, values
from tools.builder.gguf.reader import Gguf, read_gguf
from tools.builder.gguf.tokenizer import tokenizer_files


class GgufCheckpoint(Checkpoint):
    """Reading a tensor takes the memory of its values, and one tensor's alone."""

    def __init__(self, folder: Path, config: dict[str, Any], found: Mapping[str, Place]) -> None:
        super().__init__(folder, config, {name: _tensor(name, place) for name, place in found.items()})
        self._places = found

    @staticmethod
    def open(path: Path) -> GgufCheckpoint:
        """Opens a file, or any part of a split one. Raises `CheckpointError`, which names the file and what it is in
        it that cannot be read."""
        gguf = read_gguf(Path(path))
        settings = config(gguf)
        found = places(gguf, settings["num_attention_heads"], settings["num_key_value_heads"])
        work = tempfile.TemporaryDirectory(prefix="mconnect-", ignore_cleanup_errors=True)
        folder = Path(work.name) / gguf.path.name
        folder.mkdir()
        _write_files(folder, gguf, settings)
        opened = GgufCheckpoint(folder, settings, found)
        opened._work = work  # removed with the checkpoint
        return opened

    _work: tempfile.TemporaryDirectory[str]

    def read(self, name: str) -> Array:
        """The tensor's values: f32 where the file has blocks, else in the stored dtype."""
        if name not in self._places:  # a tensor that a family has made of the file's
            return super().read(name)
        place, tensor = self._places[name], self.tensors[name]
        raw = self._raw(name)
        if place.change == "rotary":
            rows = raw.reshape(place.heads, tensor.shape[0] // place.heads // 2, 2, -1)
            raw = np.ascontiguousarray(rows.swapaxes(1, 2)).reshape(-1)
        array = values(raw, place.source.kind, tensor.shape)
        if place.change == "minus_one":
            with np.errstate(all="ignore"):  # a value that is not finite is refused when it is stored
                return array - np.float32(1)
        return array

    def same(self, a: str, b: str) -> bool:
        """Whether two tensors are the same bytes of the same type, changed alike."""
        x, y = self._places[a], self._places[b]
        alike = (x.source.kind, x.source.shape, x.change, x.heads) == (y.source.kind, y.source.shape, y.change, y.heads)
        return alike and super().same(a, b)


def _tensor(name: str, place: Place) -> Tensor:
    source = place.source
    dtype = "F32" if place.change == "minus_one" or source.kind not in PLAIN else source.kind
    if place.expert is None:
        return Tensor(name, dtype, source.shape, source.file, source.offset, source.size)
    size = source.size // source.shape[0]
    return Tensor(name, dtype, source.shape[1:], source.file, source.offset + place.expert * size, size)


def _write_files(folder: Path, gguf: Gguf, settings: Mapping[str, Any]) -> None:
    """The small files of a checkpoint, so that every asset is made of them as of any other's."""
    tokenizer, options = tokenizer_files(gguf.path, gguf.metadata)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(options), encoding="utf-8")
    (folder / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    licence = gguf.metadata.get("general.license")
    if isinstance(licence, str) and re.fullmatch(r"[\w.+-]{1,64}", licence):
        (folder / "README.md").write_text(f"---\nlicense: {licence}\n---\n", encoding="utf-8")
