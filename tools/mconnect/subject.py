"""What `debug` looks at: one module of a bundle, or of a checkpoint that is lowered for the occasion."""

from __future__ import annotations

import dataclasses
import json
import shutil
import tarfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import zstandard
from tokenizers import Tokenizer

from tools.builder import pipeline
from tools.builder.bundle.format import BundleError
from tools.builder.checkpoint import DTYPES, read_header
from tools.builder.debug import DebugError
from tools.builder.graph import Graph
from tools.builder.lowering.openvino.engine import ov
from tools.builder.resolve import Family, resolve
from tools.builder.source import GGUF_MAGIC, SourceError, locate

Array = npt.NDArray[Any]


@dataclasses.dataclass(frozen=True)
class Subject:
    """A module's graph, its IR and the weights file that both refer to, and the tokenizer of its model."""

    graph: Graph
    ir: bytes
    weights_path: Path
    tokenizer: Tokenizer

    def read(self) -> ov.Model:
        """The IR over a copy of its weights."""
        return ov.Core().read_model(self.ir, ov.Tensor(np.fromfile(self.weights_path, np.uint8)))

    def weights(self) -> dict[str, Array]:
        """Every tensor of the weights file by name, mapped."""
        raw = np.memmap(self.weights_path, np.uint8, "r")
        return {
            name: raw[tensor.offset : tensor.offset + tensor.size].view(DTYPES[tensor.dtype]).reshape(tensor.shape)
            for name, tensor in read_header(self.weights_path).items()
        }

    def steps(self, prompt: str) -> list[dict[str, Array]]:
        """The module's inputs for a prompt: all of it at once, or for a decoder all but its last token and then that.

        Raises DebugError for an input whose meaning is not known.
        """
        ids = np.array([self.tokenizer.encode(prompt).ids], np.int64)
        if not ids.size:
            raise DebugError(f"the prompt {prompt!r} has no tokens")
        cut = ids.shape[1] - 1 if self.graph.caches else 0
        parts = [part for part in (ids[:, :cut], ids[:, cut:]) if part.size]
        steps, past = [], 0
        for part in parts:
            steps.append({port.name: self._input(port.name, part, past) for port in self.graph.inputs})
            past += part.shape[1]
        return steps

    def _input(self, name: str, ids: Array, past: int) -> Array:
        known: Mapping[str, Callable[[], Array]] = {
            "input_ids": lambda: ids,
            "attention_mask": lambda: np.ones((1, past + ids.shape[1]), np.int64),
            "token_type_ids": lambda: np.zeros_like(ids),
            "position_ids": lambda: np.arange(past, past + ids.shape[1])[None],
            "beam_idx": lambda: np.zeros(1, np.int32),
            "logits_to_keep": lambda: np.zeros(1, np.int64),
        }
        if name not in known:
            raise DebugError(
                f"module {self.graph.name} has the input {name!r}, which a prompt cannot give; "
                f"known are {', '.join(known)}"
            )
        return known[name]()


def open_subject(model: str, module: str | None, families: Sequence[Family], work: Path) -> Subject:
    """Opens a module of a bundle, a checkpoint folder, a GGUF file or a hub id; `work` is a folder for temporary files.

    Raises DebugError where `module` is not one of the model's, and what reading bundles and checkpoints raises.
    """
    path = Path(model)
    if path.is_file() and not _is_gguf(path):
        return _from_bundle(path, module, work)
    source = locate(model)
    checkpoint = source.open()
    family = resolve(checkpoint.config, families)
    task = next(iter(family.tasks))
    graphs = family.record(checkpoint, task)
    chosen = _choose(module, list(graphs))
    lowered, file = pipeline.lower_all(graphs, checkpoint, "auto", work / "weights", lambda step, done, total: None)
    tokenizer = Tokenizer.from_str(pipeline.make_assets(checkpoint.folder, task)["tokenizer"].decode())
    return Subject(graphs[chosen], lowered[chosen], file.path, tokenizer)


def _is_gguf(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(len(GGUF_MAGIC)) == GGUF_MAGIC


def _from_bundle(path: Path, module: str | None, work: Path) -> Subject:
    try:
        _extract(path, work)
        manifest = json.loads((work / "manifest.json").read_text())
        chosen = _choose(module, list(manifest["modules"]))
        entry = manifest["modules"][chosen]
        variant = next(one for one in entry["variants"] if one["engine"] == "openvino")
        graph = Graph.from_json((work / entry["graph"]).read_text())
        tokenizer = Tokenizer.from_file(str(work / manifest["assets"]["tokenizer"]))
    except (KeyError, StopIteration, FileNotFoundError) as error:
        raise BundleError(f"{path} has no text module for openvino: {error} is missing") from None
    return Subject(graph, (work / variant["path"]).read_bytes(), work / variant["weights"], tokenizer)


def _extract(path: Path, folder: Path) -> None:
    with open(path, "rb") as file:
        if file.read(4) != b"\x28\xb5\x2f\xfd":
            raise SourceError(f"{path} is neither a bundle nor a checkpoint folder")
        file.seek(0)
        try:
            stream = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
            with tarfile.open(fileobj=stream, mode="r|") as archive:
                for member in archive:
                    target = folder / member.name
                    source = archive.extractfile(member)
                    if source is None or not target.resolve().is_relative_to(folder.resolve()):
                        raise BundleError(f"{path}: member {member.name!r} is not a plain file inside the bundle")
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with open(target, "wb") as out:
                        shutil.copyfileobj(source, out)
        except (zstandard.ZstdError, tarfile.TarError) as error:
            raise BundleError(f"{path} is damaged ({error}); `mconnect verify` says more") from None


def _choose(module: str | None, modules: Sequence[str]) -> str:
    if module is None and len(modules) == 1:
        return modules[0]
    if module is None or module not in modules:
        asked = "more than one module" if module is None else f"no module {module!r}"
        raise DebugError(f"the model has {asked}; --module is one of {', '.join(modules)}")
    return module
