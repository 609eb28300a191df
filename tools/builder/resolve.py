"""Which family builds a checkpoint, decided by data: each family's `family.json` is read, only the chosen one's code
imported.

    families = index([Path("families")])
    family = resolve(checkpoint.config, families)
    graphs = family.record(checkpoint)           # {"decoder": Graph}

`family.json` states `name`, `source` (the Python file beside it), the `architectures` and `model_types` of
config.json that it builds, and for each task the modules that fulfil it, which are functions of the source: `f(g,
config, weights)`. The source may also define `PREFIXES` and `UNNEEDED` (see `tools.builder.weights`).
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib.util
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from tools.builder import config, sizes
from tools.builder.checkpoint import Checkpoint
from tools.builder.files import FileError, read_json
from tools.builder.graph import Graph
from tools.builder.weights import Ledger, Weights

_FIELDS = {"name": str, "source": str, "architectures": list, "model_types": list, "tasks": dict}


class FamilyError(ValueError):
    """No family builds this checkpoint, or a family.json is malformed."""


@dataclass(frozen=True)
class Family:
    """One architecture's package, not yet imported."""

    name: str
    source: Path
    architectures: Sequence[str]
    model_types: Sequence[str]
    tasks: Mapping[str, Sequence[str]]

    @staticmethod
    def open(path: Path) -> Family:
        """Reads one `family.json`. Raises `FamilyError`."""
        try:
            body = read_json(path)
        except FileError as error:
            raise FamilyError(str(error)) from None
        except OSError as error:
            raise FamilyError(f"{path}: {error}") from None
        if not isinstance(body, dict) or set(body) != set(_FIELDS):
            raise FamilyError(f"{path} must be an object with exactly {', '.join(_FIELDS)}")
        for name, kind in _FIELDS.items():
            if not isinstance(body[name], kind):
                raise FamilyError(f"{path}: {name} is {body[name]!r}, not of type {kind.__name__}")
        source = path.parent / body["source"]
        return Family(body["name"], source, body["architectures"], body["model_types"], body["tasks"])

    def load(self) -> ModuleType:
        """Imports the family's source, once."""
        name = f"mconnect_family_{self.name}"
        if name not in sys.modules:
            spec = importlib.util.spec_from_file_location(name, self.source)
            if spec is None or spec.loader is None or not self.source.is_file():
                raise FamilyError(f"family {self.name}: {self.source} is not a Python file")
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module  # dataclasses look their module up while it runs
            try:
                spec.loader.exec_module(module)
            except BaseException:
                del sys.modules[name]
                raise
        return sys.modules[name]

    def config(self, raw: Mapping[str, Any]) -> Any:
        """The family's `Config`, read from a parsed config.json. Raises `ConfigError`."""
        return config.read(self.load().Config, raw)

    def record(self, checkpoint: Checkpoint, task: str | None = None) -> dict[str, Graph]:
        """The graphs of a task's modules (of the first task by default), every tensor of the checkpoint accounted for.

        Raises `FamilyError`, `ConfigError`, `WeightError` or `GraphError`.
        """
        task = next(iter(self.tasks)) if task is None else task
        if task not in self.tasks:
            raise FamilyError(f"family {self.name} has no task {task!r}; it has {', '.join(self.tasks)}")
        sizes.check(checkpoint.config)
        source, settings = self.load(), self.config(checkpoint.config)
        complete = {**checkpoint.config, **_integers(settings)}
        sizes.check(complete)
        sizes.check_tensors(complete, {name: tensor.shape for name, tensor in checkpoint.tensors.items()})
        ledger = Ledger(checkpoint, getattr(source, "PREFIXES", ()))
        graphs = {}
        for module in self.tasks[task]:
            graphs[module] = Graph(module)
            try:
                getattr(source, module)(graphs[module], settings, Weights(graphs[module], ledger))
            except (ArithmeticError, MemoryError) as error:  # a division by a count of 0, a table without bounds
                raise config.ConfigError(f"config.json: a size in it is impossible for {self.name}: {error}") from error
        ledger.check(getattr(source, "UNNEEDED", ()))
        return graphs


def _integers(settings: Any) -> dict[str, int | None]:
    """The sizes that a family's `Config` holds, defaults included."""
    values = vars(settings).items() if dataclasses.is_dataclass(settings) else ()
    return {name: value for name, value in values if value is None or type(value) is int}


def index(folders: Iterable[Path]) -> list[Family]:
    """Every `<folder>/<family>/family.json`, by name. Two families for one architecture or model type are an error."""
    families = [Family.open(path) for folder in folders for path in sorted(folder.glob("*/family.json"))]
    owner: dict[tuple[str, str], str] = {}
    for family in families:
        keys = [("family", family.name)]
        keys += [("architecture", a) for a in family.architectures] + [("model_type", m) for m in family.model_types]
        for key in keys:
            if owner.setdefault(key, str(family.source)) != str(family.source):
                raise FamilyError(f"{key[0]} {key[1]} is claimed by both {owner[key]} and {family.source}")
    return sorted(families, key=lambda family: family.name)


def resolve(raw: Mapping[str, Any], families: Sequence[Family]) -> Family:
    """The family that config.json names: by `architectures`; by `model_type` where it states no architecture.

    Raises `FamilyError` with near misses and everything that is supported.
    """
    architectures, model_type = raw.get("architectures"), raw.get("model_type")
    if architectures is not None and not (
        isinstance(architectures, list) and all(isinstance(a, str) for a in architectures)
    ):
        raise FamilyError(f"config.json: architectures is {architectures!r}; it must be a list of names")
    if architectures:
        for name in architectures:
            for family in families:
                if name in family.architectures:
                    return family
    elif isinstance(model_type, str):
        for family in families:
            if model_type in family.model_types:
                return family
    asked = architectures or ([model_type] if isinstance(model_type, str) else [])
    if not asked:
        raise FamilyError("config.json states neither architectures nor model_type, so its family is unknown")
    known = sorted({name for f in families for name in (f.architectures if architectures else f.model_types)})
    near = sorted({match for name in asked for match in difflib.get_close_matches(name, known, 3, 0.6)})
    hint = f" Near misses: {', '.join(near)}." if near else ""
    kind = "architecture" if architectures else "model_type"
    raise FamilyError(
        f"No family builds the {kind} {', '.join(asked)}.{hint} Supported: {', '.join(known)}. "
        f"docs/adding-a-family.md says how to add one"
    )
