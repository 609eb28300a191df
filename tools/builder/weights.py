"""A checkpoint's tensors as a family names them, and the account of which were used.

    layer = w[f"model.layers.{i}"]                       # a scope
    x = ops.linear(x, layer["self_attn.q_proj.weight"])  # a tensor, recorded in the graph when an op takes it

Every tensor of the checkpoint must be used by some module or declared unneeded by the family: `Ledger.check` lists
the rest.
"""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Sequence

import numpy as np

from tools.builder.checkpoint import FLOATS, Checkpoint
from tools.builder.graph import Array, Graph, Value


class WeightError(ValueError):
    """The tensors of a checkpoint and what the family asks for do not agree."""


class Ledger:
    """Which tensors of one checkpoint have been used, over all modules of a model.

    `prefixes` may stand before every name in the checkpoint (a model saved inside a larger one: `"bert."`).
    """

    def __init__(self, checkpoint: Checkpoint, prefixes: Sequence[str] = ()) -> None:
        self.checkpoint = checkpoint
        self.prefixes = ("", *prefixes)
        self.used: set[str] = set()

    def find(self, name: str) -> str | None:
        """The checkpoint's own name of a tensor, or `None`."""
        return next((p + name for p in self.prefixes if p + name in self.checkpoint.tensors), None)

    def use(self, name: str) -> str:
        """Marks a tensor as used; returns the checkpoint's name of it. Raises `WeightError`."""
        full = self.find(name)
        if full is None:
            free = sorted(set(self.checkpoint.tensors) - self.used)
            near = difflib.get_close_matches(name, free, 3, 0.5)
            hint = f"; the nearest that is not used yet: {', '.join(near)}" if near else ""
            raise WeightError(
                f"{self.checkpoint.folder} has no tensor {name} "
                f"({len(self.checkpoint.tensors)} tensors, {len(free)} not used){hint}"
            )
        if self.checkpoint.tensors[full].dtype not in FLOATS:
            raise WeightError(
                f"tensor {full} is {self.checkpoint.tensors[full].dtype}; a weight is one of {', '.join(FLOATS)}"
            )
        self.used.add(full)
        return full

    def check(self, unneeded: Sequence[str] = ()) -> None:
        """Raises `WeightError` listing the tensors not used that match no `fnmatch` pattern of `unneeded`."""
        rest = sorted(n for n in set(self.checkpoint.tensors) - self.used if not _matches(n, unneeded))
        if rest:
            more = f" and {len(rest) - 20} more" if len(rest) > 20 else ""
            raise WeightError(
                f"{len(rest)} tensors of {self.checkpoint.folder} are not used: {', '.join(rest[:20])}{more}. "
                f"The checkpoint is of another architecture than its config.json says, "
                f"or the family must declare them unneeded"
            )


class Weights:
    """A name, or the beginning of names, in a checkpoint, for one graph. Ops take it where they take a value."""

    def __init__(self, graph: Graph, ledger: Ledger, path: str = "") -> None:
        self._graph, self._ledger, self._path = graph, ledger, path

    def __getitem__(self, name: str) -> Weights:
        return Weights(self._graph, self._ledger, f"{self._path}.{name}" if self._path else name)

    def __contains__(self, name: str) -> bool:
        return self._ledger.find(self[name]._path) is not None

    @property
    def value(self) -> Value:
        """The tensor of this very name, recorded in the graph. Raises `WeightError` where there is none."""
        name = self._ledger.use(self._path)
        return self._graph.weight(name, self._ledger.checkpoint.tensors[name].shape)

    def stacked(self, name: str, parts: Sequence[str]) -> Weights:
        """The tensors `parts`, of one shape, along a new first axis; the bundle stores them as one tensor, `name`."""
        found = [self._ledger.use(self[part]._path) for part in parts]
        self._ledger.checkpoint.stack(self[name]._path, found)
        return self[name]

    def part(self, name: str, whole: str, axis: int, index: int, parts: int) -> Weights:
        """One of `parts` equal parts of the tensor `whole` along an axis; the bundle stores it as `name`."""
        found, checkpoint = self._ledger.use(self[whole]._path), self._ledger.checkpoint
        size = checkpoint.tensors[found].shape[axis : axis + 1]
        if not size or size[0] % parts:
            raise WeightError(
                f"tensor {found} is {list(checkpoint.tensors[found].shape)}; axis {axis} must divide into {parts}"
            )
        step = size[0] // parts
        checkpoint.part(self[name]._path, found, axis, index * step, (index + 1) * step)
        return self[name]

    def tied(self, embedding: str, head: str, stated: bool | None) -> tuple[Weights, Weights]:
        """The input embedding and the output head, which may be one tensor. `stated` is config.json's word, or `None`.

        The tensors decide, as in the reference library: where both exist and differ they stay apart whatever is stated;
        where both are equal, or one is absent, they are one. Absent although stated to be apart is an error.
        """
        ledger, checkpoint = self._ledger, self._ledger.checkpoint
        found = {name: ledger.find(self[name]._path) for name in (embedding, head)}
        first, second = found[embedding], found[head]
        if first and second:
            if not checkpoint.same(first, second):
                return self[embedding], self[head]
            ledger.used.add(second)
            return self[embedding], self[embedding]
        if stated is False or not (first or second):
            lost = ", ".join(self[name]._path for name, full in found.items() if not full)
            raise WeightError(
                f"{checkpoint.folder} has no tensor {lost}, and tie_word_embeddings is {stated} in config.json"
            )
        one = self[embedding if first else head]
        return one, one


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def arrays(graph: Graph, checkpoint: Checkpoint) -> dict[str, Array]:
    """Every weight of a graph by name, in f32 (constants in their own dtype), for running it in this process."""
    return {
        port.name: graph.constants[port.name]
        if port.name in graph.constants
        else checkpoint.read(port.name).astype(np.float32, copy=False)
        for port in graph.weights
    }
