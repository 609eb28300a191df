"""From a checkpoint to a bundle: `build`.

Nothing here needs torch or transformers. Weights are read tensor by tensor, once as they are written and once before
where their values decide how, so that a build takes little memory beyond the page cache; the same inputs give the same
bytes.
"""

from __future__ import annotations

import errno
import functools
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.builder import dims
from tools.builder.assets.chat_template import chat_template
from tools.builder.assets.reading import canonical
from tools.builder.assets.text_embedding import text_embedding
from tools.builder.assets.text_generation import text_generation
from tools.builder.assets.tokenizer import read_tokenizer
from tools.builder.assets.weights_file import (
    Precision,
    StoredTensor,
    Unread,
    WeightsFile,
    store,
    write_weights,
)
from tools.builder.bundle.work_folder import work_folder
from tools.builder.bundle.writer import write_bundle
from tools.builder.checkpoint import DTYPES, Checkpoint
from tools.builder.graph import Graph, Port
from tools.builder.lowering.openvino.lower import Lowered, engine_version, lower
from tools.builder.resolve import Family, resolve
from tools.builder.source import ZSTD_MAGIC, licence, locate

VERSION = "0.1.0"
_NAME = re.compile(r"[A-Za-z0-9._-]{1,128}")

Progress = Callable[[str, int, int], None]
"""Called with a step's name, how much of it is done, and how much it is in all (in bytes, or 1)."""


class BuildError(RuntimeError):
    """A build that failed for a reason outside the checkpoint: the target, the disk, the arguments."""


def build(
    checkpoint: str | Path,
    out: Path,
    *,
    families: Sequence[Family],
    name: str | None = None,
    weights: Precision = "auto",
    revision: str | None = None,
    progress: Progress = lambda step, done, total: None,
) -> str:
    """Builds the bundle `out` and returns its id (sha256 of its manifest).

    Args:
      checkpoint: a folder, a GGUF file, or the id `owner/name` of a hub repository.
      out: the file to write. It appears complete or not at all.
      families: those that may build it; one where the caller has chosen.
      name: the bundle's name; by default made from the checkpoint's.
      weights: how float weights are stored.
      revision: of the hub repository; its commit is recorded.
      progress: told of each step.

    Raises BuildError, SourceError, CheckpointError, FamilyError, ConfigError, WeightError, AssetError, UnstorableWeight
    or BundleError; each message names the input and what is wrong with it.
    """
    _check_target(out)
    source = locate(str(checkpoint), revision)
    name = source.name if name is None else name
    if not _NAME.fullmatch(name):
        raise BuildError(f"name {name!r} may have letters, digits, '.', '_' and '-' only, and 128 of them")
    opened = source.open()
    family = resolve(opened.config, families)
    task = next(iter(family.tasks))
    progress("record", 0, 1)
    graphs = family.record(opened, task)
    assets = make_assets(opened.folder, task)
    try:
        with work_folder(out) as work:
            lowered, file = lower_all(graphs, opened, weights, work / "weights", progress)
            members = _members(graphs, lowered, file, assets)
            manifest = {
                "assets": {asset: f"assets/{asset}.json" for asset in assets},
                "builder": VERSION,
                "checkpoint": source.manifest(opened),
                "family": family.name,
                "licence": licence(opened.folder),
                "modules": {module: _module(graph, file) for module, graph in graphs.items()},
                "name": name,
                "tasks": [task],
            }
            progress("write", 0, 1)
            identity = write_bundle(out, manifest, members, work=work)
            progress("write", 1, 1)
            return identity
    except OSError as error:
        raise _explained(error, out) from error


def make_assets(folder: Path, task: str) -> dict[str, bytes]:
    """The assets that a task needs, by name. Raises AssetError."""
    tokenizer, tokens = read_tokenizer(folder)
    assets = {"tokenizer": tokenizer.to_str().encode()}
    if task == "text-embedding":
        assets[task] = canonical(text_embedding(folder))
    elif task == "text-generation":
        assets[task] = canonical(text_generation(folder, tokenizer))
        if (template := chat_template(folder, tokens)) is not None:
            assets["chat_template"] = template
    else:
        raise BuildError(f"task {task!r} has no assets yet; supported are text-embedding and text-generation")
    return assets


def stored_weights(
    graphs: Mapping[str, Graph], checkpoint: Checkpoint, precision: Precision, progress: Progress
) -> dict[str, StoredTensor]:
    """Every weight of every module as it will be stored, by name. A family's own constants stay as they are."""
    constants = {name: array for graph in graphs.values() for name, array in graph.constants.items()}
    names = sorted({port.name for graph in graphs.values() for port in graph.weights})
    total = sum(tensor.size for name, tensor in checkpoint.tensors.items() if name in set(names))
    stored, done = {}, 0
    for name in names:
        if name in constants:
            stored[name] = store(name, constants[name], "auto")
            continue
        tensor = checkpoint.tensors[name]
        source = Unread(DTYPES[tensor.dtype], tensor.shape, functools.partial(checkpoint.read, name))
        stored[name] = store(name, source, precision)
        done += tensor.size
        progress("check", done, total)
    return stored


def lower_all(
    graphs: Mapping[str, Graph], checkpoint: Checkpoint, precision: Precision, path: Path, progress: Progress
) -> tuple[dict[str, bytes], WeightsFile]:
    """Each module's openvino.xml, and the weights file, written to `path`, that they share."""
    stored = stored_weights(graphs, checkpoint, precision, progress)
    progress("lower", 0, len(graphs))
    lowered: dict[str, Lowered] = {}
    for module, graph in graphs.items():
        lowered[module] = lower(graph, stored)
        progress("lower", len(lowered), len(graphs))
    made = {tensor.name: tensor for module in lowered.values() for tensor in module.constants}
    file = write_weights(path, [*stored.values(), *made.values()], lambda done, total: progress("store", done, total))
    return {module: ir.place(file.placements) for module, ir in lowered.items()}, file


def _members(
    graphs: Mapping[str, Graph], lowered: Mapping[str, bytes], file: WeightsFile, assets: Mapping[str, bytes]
) -> dict[str, bytes | Path]:
    members: dict[str, bytes | Path] = {_weights_path(file): file.path}
    for module, graph in graphs.items():
        members[f"modules/{module}/graph.json"] = graph.to_json().encode()
        members[f"modules/{module}/openvino.xml"] = lowered[module]
    return members | {f"assets/{asset}.json": content for asset, content in assets.items()}


def _module(graph: Graph, file: WeightsFile) -> dict[str, Any]:
    return {
        "graph": f"modules/{graph.name}/graph.json",
        "inputs": [_tensor(port) for port in graph.inputs],
        "outputs": [_tensor(port) for port in graph.outputs],
        "stateful": bool(graph.caches),
        "variants": [
            {
                "engine": "openvino",
                "path": f"modules/{graph.name}/openvino.xml",
                "requires": {"version": engine_version()},
                "weights": _weights_path(file),
            }
        ],
    }


def _tensor(port: Port) -> dict[str, Any]:
    return {"dtype": port.value.dtype, "name": port.name, "shape": dims.to_json(port.value.shape)}


def _weights_path(file: WeightsFile) -> str:
    return f"weights/{file.sha256}.safetensors"


def _check_target(out: Path) -> None:
    """Refuses before the work what would fail after it."""
    if "\0" in str(out):
        raise BuildError(f"{str(out)!r} is no file name; choose another for the bundle")
    if out.is_dir():
        raise BuildError(f"{out} is a folder; -o takes the bundle's file name, such as {out / 'model.bundle'}")
    if not out.parent.is_dir():
        raise BuildError(f"the folder {out.parent} does not exist; make it, or choose another for the bundle")
    if out.exists() and not out.is_file():
        raise BuildError(f"{out} is a device or a pipe, which a bundle would replace; -o takes the name of a file")
    if out.is_file() and not _may_be_replaced(out):
        raise BuildError(f"{out} exists and is no bundle, so it is kept; remove it, or choose another for the bundle")
    if not os.access(out.parent, os.W_OK | os.X_OK):
        raise BuildError(f"the folder {out.parent} is not writable; choose another for the bundle")


def _may_be_replaced(out: Path) -> bool:
    """Whether a file is empty or a bundle. Anything else, a checkpoint's own config.json for one, is not ours."""
    with out.open("rb") as file:
        return file.read(4) in (b"", ZSTD_MAGIC)


def _explained(error: OSError, out: Path) -> BuildError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return BuildError(f"no space is left in {out.parent}; free some, or choose another folder for the bundle")
    return BuildError(f"{out} cannot be written: {error}")
