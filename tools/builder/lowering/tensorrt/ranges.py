"""The sizes for which a plan is built: a range for each symbolic dimension of a graph, and what lies outside.

ranges = Ranges.of(graph, batch=(1, 4, 16), cache_length=8192)
ranges.of_dimension(dim)                    # Range(least=1, usual=128, most=2048)
ranges.check("input_ids", shape, (1, 3000)) # RangeError: input_ids: tokens is 3000; this plan was built for 1 to 2048
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tools.builder.dims import Dim, Dimension
from tools.builder.graph import Graph, Value

CACHE_LENGTH = 4096
"""Places of a cache by default, where the model's context is not shorter."""


class SizeError(ValueError):
    """A range that is none, or a size outside a plan's range."""


class Range(NamedTuple):
    """Sizes from `least` to `most`; the plan is fastest for `usual`."""

    least: int
    usual: int
    most: int


_DEFAULTS = {"batch": Range(1, 1, 8), "tokens": Range(1, 128, 2048), "past": Range(0, 384, 1 << 30)}


@dataclass(frozen=True)
class Ranges:
    """A range for each symbol of a graph's inputs, and the length of its caches (None where it has none)."""

    symbols: Mapping[str, Range]
    cache_length: int | None

    @staticmethod
    def of(graph: Graph, cache_length: int | None = None, **given: Sequence[int]) -> Ranges:
        """The ranges `given` by symbol, and defaults for the others, bounded by the model's context.

        Raises SizeError for a symbol without a default, one that the graph does not have, and sizes out of order.
        """
        limit = context(graph)
        names = sorted({s for port in graph.inputs for dim in port.value.shape for s in _symbols(dim)})
        if extra := sorted(set(given) - set(names)):
            raise SizeError(f"graph {graph.name} has no dimension {extra[0]!r}; it has {', '.join(names)}")
        if graph.caches:
            cache_length = cache_length or min(CACHE_LENGTH, limit or CACHE_LENGTH)
            if cache_length < 1 or (limit is not None and cache_length > limit):
                raise SizeError(f"cache_length is {cache_length}; the model's context is {limit} tokens")
            limit = cache_length
        elif cache_length is not None:
            raise SizeError(f"cache_length is {cache_length}, but graph {graph.name} has no cache")
        symbols = {}
        for name in names:
            if name not in given and name not in _DEFAULTS:
                raise SizeError(
                    f"dimension {name!r} of graph {graph.name} has no default range; give least, usual, most"
                )
            least, usual, most = given.get(name) or _DEFAULTS[name]
            if name not in given and name != "batch" and limit is not None:
                bound = limit - 1 if name == "past" else limit
                most, usual = min(most, bound), min(usual, bound)
            if not (0 if name == "past" else 1) <= least <= usual <= most:
                raise SizeError(f"{name} is from {least} over {usual} to {most}; sizes must be positive and in order")
            if name != "batch" and limit is not None and most > limit:
                raise SizeError(
                    f"{name} reaches {most}; the limit is {limit} ({'cache_length' if graph.caches else 'context'})"
                )
            symbols[name] = Range(least, usual, most)
        return Ranges(symbols, cache_length)

    @staticmethod
    def from_json(body: Mapping[str, Any]) -> Ranges:
        """Reads what `to_json` gave."""
        return Ranges({name: Range(*r) for name, r in body["symbols"].items()}, body["cache_length"])

    @property
    def longest(self) -> int:
        """No axis but the batch is longer, also where a cache and what is new are joined."""
        return (self.cache_length or 0) + max([1, *(r.most for name, r in self.symbols.items() if name != "batch")])

    def of_dimension(self, dim: Dimension) -> Range:
        """The range of a dimension; what is cached and what is new fits into the cache together."""
        if isinstance(dim, int):
            return Range(dim, dim, dim)
        least, usual, most = (self._value(dim, i) for i in range(3))
        if "past" in _symbols(dim) and self.cache_length is not None:
            usual, most = min(usual, self.cache_length), min(most, self.cache_length)
        return Range(least, usual, most)

    def check(self, name: str, shape: Sequence[Dimension], sizes: Sequence[int]) -> None:
        """Raises SizeError for the first size that lies outside, naming dimension, limit and value."""
        if len(shape) != len(sizes):
            raise SizeError(f"{name} has {len(sizes)} dimensions; it must have {len(shape)}")
        for dim, size in zip(shape, sizes, strict=True):
            least, _, most = self.of_dimension(dim)
            if not least <= size <= most:
                allowed = f"it must be {most}" if least == most else f"this plan was built for {least} to {most}"
                raise SizeError(
                    f"{name}: {dim} is {size}; {allowed}"
                    if isinstance(dim, Dim)
                    else f"{name}: a size is {size}; {allowed}"
                )

    def to_json(self) -> dict[str, object]:
        """`{"symbols": {"batch": [1, 1, 8], ...}, "cache_length": 4096}`."""
        return {
            "cache_length": self.cache_length,
            "symbols": {name: list(r) for name, r in sorted(self.symbols.items())},
        }

    def _value(self, dim: Dim, index: int) -> int:
        total = 0
        for symbols, factor in dim.terms:
            for symbol in symbols:
                factor *= self.symbols[symbol][index]
            total += factor
        return total


def context(graph: Graph) -> int | None:
    """How many positions the graph's tables hold; None where it has no table of positions."""
    starts = {port.value.id for port in graph.inputs if port.name == "position_ids"}
    starts |= {node.outputs[0].id for node in graph.nodes if node.op == "positions"}
    tables: list[Value | None] = [node.inputs[2] for node in graph.nodes if node.op == "rope"]
    for node in graph.nodes:
        first = node.inputs[0]
        if first is None or first.id not in starts:
            continue
        if node.op in ("add", "reshape", "cast"):
            starts.add(node.outputs[0].id)  # positions that are moved by an offset are positions still
        elif node.op == "embedding":
            tables.append(node.inputs[1])
    rows = [table.shape[0] for table in tables if table is not None]
    return min((size for size in rows if isinstance(size, int)), default=None)


def _symbols(dim: Dimension) -> set[str]:
    return {symbol for symbols, _ in dim.terms for symbol in symbols} if isinstance(dim, Dim) else set()
