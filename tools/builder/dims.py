"""Dimensions of a tensor's shape: an integer, or a sum of products of named sizes.

    >>> past, tokens = Dim.of("past"), Dim.of("tokens")
    >>> str(past + tokens), str(2 * tokens * past + 1), past + tokens - past == tokens
    ('past+tokens', '1+2*past*tokens', True)

A symbolic dimension prints in one canonical way (products by degree then name, a constant first), so that equal
dimensions are equal strings in `graph.json`. Arithmetic that leaves a plain integer gives an `int`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Union

Dimension = Union[int, "Dim"]
Shape = tuple[Dimension, ...]
DimLike = Union[int, str, "Dim"]

_SYMBOL = re.compile(r"[a-z_][a-z0-9_]*")
_Product = tuple[str, ...]


@dataclass(frozen=True)
class Dim:
    """A symbolic dimension: `terms` maps each product of symbols, sorted, to its non-zero coefficient."""

    terms: tuple[tuple[_Product, int], ...]

    @staticmethod
    def of(value: DimLike) -> Dimension:
        """Reads a dimension; raises `ValueError` for a negative integer or text that is not a sum of products."""
        if isinstance(value, Dim):
            return value
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            raise ValueError(f"dimension {value!r} is neither an integer nor a symbol such as 'batch'")
        if isinstance(value, int):
            if value < 0:
                raise ValueError(f"dimension {value} is negative")
            return value
        sums: dict[_Product, int] = {}
        for term in value.split("+"):
            coefficient, symbols = 1, []
            for factor in term.split("*"):
                if factor.isascii() and factor.isdigit():
                    coefficient *= int(factor)
                elif _SYMBOL.fullmatch(factor):
                    symbols.append(factor)
                else:
                    raise ValueError(f"dimension {value!r}: {factor!r} is neither a number nor a name in lower case")
            key = tuple(sorted(symbols))
            sums[key] = sums.get(key, 0) + coefficient
        return _normal(sums)

    def __add__(self, other: Dimension) -> Dimension:
        return _combine(self, other, 1)

    def __radd__(self, other: int) -> Dimension:
        return _combine(other, self, 1)

    def __sub__(self, other: Dimension) -> Dimension:
        return _combine(self, other, -1)

    def __rsub__(self, other: int) -> Dimension:
        return _combine(other, self, -1)

    def __mul__(self, other: Dimension) -> Dimension:
        sums: dict[_Product, int] = {}
        for left, a in self.terms:
            for right, b in _terms(other):
                key = tuple(sorted(left + right))
                sums[key] = sums.get(key, 0) + a * b
        return _normal(sums)

    def __rmul__(self, other: int) -> Dimension:
        return self * other

    def __str__(self) -> str:
        return "+".join(
            "*".join(([str(k)] if k != 1 or not symbols else []) + list(symbols)) for symbols, k in self.terms
        )

    def __repr__(self) -> str:
        return f"Dim({str(self)!r})"


def _terms(dim: Dimension) -> tuple[tuple[_Product, int], ...]:
    return dim.terms if isinstance(dim, Dim) else (((), dim),)


def _normal(sums: dict[_Product, int]) -> Dimension:
    terms = sorted(((s, k) for s, k in sums.items() if k), key=lambda term: (len(term[0]), term[0]))
    if not terms:
        return 0
    if len(terms) == 1 and not terms[0][0]:
        return terms[0][1]
    return Dim(tuple(terms))


def _combine(a: Dimension, b: Dimension, sign: int) -> Dimension:
    sums = dict(_terms(a))
    for symbols, k in _terms(b):
        sums[symbols] = sums.get(symbols, 0) + sign * k
    return _normal(sums)


def product(dims: Iterable[Dimension]) -> Dimension:
    """The number of elements of a shape."""
    total: Dimension = 1
    for dim in dims:
        total = dim * total
    return total


def shape_of(dims: Sequence[DimLike]) -> Shape:
    """Reads a shape from integers, symbols and dimensions."""
    return tuple(Dim.of(dim) for dim in dims)


def to_json(shape: Shape) -> list[int | str]:
    """The form in which `graph.json` holds a shape."""
    return [dim if isinstance(dim, int) else str(dim) for dim in shape]
