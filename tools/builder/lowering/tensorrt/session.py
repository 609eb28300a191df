"""Drives a plan by its description, as a runtime does: what the graph's inputs become, and who owns the cache.

Whoever writes another engine for these plans can read here what is asked of it. Runs on Python 3.10 with NumPy alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tools.builder import dims
from tools.builder.dims import Dim
from tools.builder.lowering.tensorrt.encoding import decode, encode
from tools.builder.lowering.tensorrt.ranges import Ranges, SizeError

Array = npt.NDArray[Any]


class Machine(Protocol):
    """What executes a plan and holds its buffers."""

    def allocate(self, name: str, shape: tuple[int, ...], dtype: str) -> None:
        """Makes the buffer of a cache, all zeros."""

    def reorder(self, name: str, rows: Array) -> None:
        """Row b of the buffer becomes its former row `rows[b]`."""

    def append(self, name: str, output: str, place: int) -> None:
        """Copies an output of the last run, [batch, heads, tokens, size], into the buffer's places from `place` on."""

    def run(self, inputs: Mapping[str, Array], batch: int) -> dict[str, Array]:
        """Runs on the inputs, the first `batch` rows of each buffer and the weights; the outputs other than caches'."""


class Session:
    """A plan with its state. `keys_multiple`: the attention mask is made longer, up to a multiple of this, so that
    the shapes of a run change rarely; hidden places are where the cache's form wants them."""

    def __init__(self, description: Mapping[str, Any], machine: Machine, keys_multiple: int = 1) -> None:
        self._ports, self._results = description["inputs"], description["outputs"]
        self._caches: Mapping[str, Any] = description["caches"]
        self._ranges = Ranges.from_json(description["ranges"])
        self._machine, self._multiple, self._past = machine, keys_multiple, 0
        for row in self._ports:
            if row["role"] == "cache":
                shape = dims.shape_of(row["shape"])
                machine.allocate(row["name"], tuple(self._ranges.of_dimension(dim).most for dim in shape), row["dtype"])

    def reset(self) -> None:
        """Empties the caches; what they hold is hidden from then on."""
        self._past = 0

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """The graph's outputs by name, floats in f32; the caches grow. Raises SizeError for a shape outside."""
        sizes = {"past": self._past}
        graph_inputs = [row for row in self._ports if row["role"] == "graph_input"]
        for row in graph_inputs:
            if row["name"] not in inputs:
                raise SizeError(f"input {row['name']} is not given")
            for dim, size in zip(row["shape"], inputs[row["name"]].shape, strict=True):
                if isinstance(dim, str) and dim.isidentifier():
                    sizes.setdefault(dim, size)
        if self._caches:
            self._check_room(sizes)
            self._reorder(inputs)
        given: dict[str, Array] = {}
        for row in self._ports:
            if row["role"] == "graph_input":
                given[row["name"]] = self._input(row, inputs[row["name"]], sizes)
            elif row["role"] == "write_index":
                batch = sizes[self._caches[row["cache"]]["batch"]]
                given[row["name"]] = np.full(batch, self._past, np.int32)
        made = self._machine.run(given, next((sizes[c["batch"]] for c in self._caches.values()), 0))
        for row in self._results:
            if row["role"] == "cache_rows":
                self._machine.append(f"{row['cache']}.{row['layer']}.{row['part']}", row["name"], self._past)
        self._past += next((sizes[c["tokens"]] for c in self._caches.values()), 0)
        return {r["name"]: decode(made[r["name"]], r["dtype"]) for r in self._results if r["role"] == "graph_output"}

    def _check_room(self, sizes: Mapping[str, int]) -> None:
        for name, cache in self._caches.items():
            total, length = self._past + sizes[cache["tokens"]], self._ranges.cache_length
            if length is not None and total > length:
                raise SizeError(
                    f"cache {name}: {self._past} places in use and {sizes[cache['tokens']]} new tokens are {total}; "
                    f"this plan's caches have {length}; build it with a greater cache_length"
                )

    def _reorder(self, inputs: Mapping[str, Array]) -> None:
        for name, cache in self._caches.items():
            rows = inputs[cache["reordered_by"]]
            if self._past and not np.array_equal(rows, np.arange(len(rows))):
                for row in self._ports:
                    if row["role"] == "cache" and row["cache"] == name:
                        self._machine.reorder(row["name"], rows)

    def _input(self, row: Mapping[str, Any], value: Array, sizes: Mapping[str, int]) -> Array:
        shape = dims.shape_of(row["shape"])
        self._ranges.check(row["name"], shape, value.shape)
        for dim, size in zip(shape, value.shape, strict=True):
            want = _evaluate(dim, sizes) if isinstance(dim, Dim) else dim
            if want != size:
                raise SizeError(f"{row['name']}: {dim} is {want}; given are {size}")
        for cache in self._caches.values():
            if cache["mask"] == row["name"]:
                value = self._lengthened(value, cache["form"])
        return encode(value, row["dtype"])

    def _lengthened(self, mask: Array, form: str) -> Array:
        have, most = mask.shape[1], self._ranges.cache_length or mask.shape[1]
        more = np.zeros((mask.shape[0], min(-have % self._multiple, most - have)), mask.dtype)
        at = have if form == "in_place" else self._past
        return np.concatenate([mask[:, :at], more, mask[:, at:]], 1)


def _evaluate(dim: Dim, sizes: Mapping[str, int]) -> int:
    return sum(int(np.prod([sizes[s] for s in symbols], initial=factor)) for symbols, factor in dim.terms)
