"""The rule of each op: what types its inputs may have, and what types its outputs then have.

A rule is a function of the inputs' types and, by keyword, the attributes. It returns the output's type, or raises
`OpError` with a reason; the graph adds the op's name, the inputs and the line of the family that recorded it.
A parameter with the default `None` is an input that may be absent; so may an attribute that has a default.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tools.builder import dims
from tools.builder.dims import Shape

DTYPES = ("bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64")


class OpError(ValueError):
    """Why an op does not accept its inputs or attributes."""


@dataclass(frozen=True)
class Type:
    """A value's dtype (`DTYPES`) and shape."""

    dtype: str
    shape: Shape

    def __str__(self) -> str:
        return f"{self.dtype}{show(self.shape)}"


def show(shape: Shape) -> str:
    """A shape as messages print it: `[batch,tokens,64]`."""
    return f"[{','.join(map(str, shape))}]"


Rule = Callable[..., Type]


@dataclass(frozen=True)
class Op:
    """An op's rule with what its signature says about inputs and attributes."""

    name: str
    rule: Rule
    signature: inspect.Signature
    attributes: Mapping[str, Any]

    def describe(self, types: Sequence[Type | None]) -> str:
        """The inputs by parameter name, for messages: `x f32[batch,64], weight f32[8,32]`."""
        names = [p.name for p in self.signature.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
        names += [f"input {i}" for i in range(len(names), len(types))]
        return ", ".join(f"{name} {t}" for name, t in zip(names, types, strict=False) if t is not None)

    def infer(self, types: Sequence[Type | None], attrs: Mapping[str, Any]) -> Type:
        """The output's type. Raises `OpError`."""
        try:
            bound = self.signature.bind(*types, **attrs)
        except TypeError as error:
            raise OpError(str(error)) from None
        for name, value in bound.arguments.items():
            parameter = self.signature.parameters[name]
            if value is None and parameter.default is not None:
                raise OpError(f"input {name} is absent")
        for name, kind in self.attributes.items():
            if name not in attrs:  # it has a default: `bind` has made sure
                continue
            if not _fits(attrs[name], kind):
                raise OpError(f"attribute {name} is {attrs[name]!r}, not of type {getattr(kind, '__name__', kind)}")
        return self.rule(*types, **attrs)


def _fits(value: Any, kind: Any) -> bool:
    if typing.get_origin(kind) is list:
        element = typing.get_args(kind)[0]
        return isinstance(value, list) and all(_fits(v, element) for v in value)
    if typing.get_args(kind):
        return any(_fits(value, k) for k in typing.get_args(kind))
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


OPS: dict[str, Op] = {}


def rule(name: str) -> Callable[[Rule], Rule]:
    """Registers a rule as the op `name`."""

    def register(function: Rule) -> Rule:
        if name in OPS:
            raise ValueError(f"op {name} has two rules")
        signature = inspect.signature(function)
        hints = typing.get_type_hints(function)
        attributes = {p.name: hints[p.name] for p in signature.parameters.values() if p.kind is p.KEYWORD_ONLY}
        OPS[name] = Op(name, function, signature, attributes)
        return function

    return register


def need(condition: bool, reason: str) -> None:
    """Raises `OpError(reason)` unless `condition` holds."""
    if not condition:
        raise OpError(reason)


def need_float(**types: Type | None) -> None:
    """Every type given (an absent input is `None`) is f32."""
    for name, t in types.items():
        need(t is None or t.dtype == "f32", f"{name} is {t.dtype if t else ''}; it must be f32")


def need_rank(rank: int, **types: Type | None) -> None:
    """Every type given (an absent input is `None`) has `rank` dimensions."""
    for name, t in types.items():
        need(
            t is None or len(t.shape) == rank, f"{name} has {len(t.shape) if t else 0} dimensions; it must have {rank}"
        )


def axis_of(axis: int, rank: int) -> int:
    """A possibly negative axis as an index. Raises `OpError` where it lies outside."""
    need(-rank <= axis < rank, f"axis {axis} lies outside the {rank} dimensions of the input")
    return axis % rank


def broadcast(a: Shape, b: Shape) -> Shape:
    """The common shape by NumPy's rule: aligned at the right, a dimension of 1 repeats."""
    rank = max(len(a), len(b))
    out = []
    for x, y in zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True):
        need(x == y or x == 1 or y == 1, f"{show(a)} and {show(b)} do not broadcast: {x} against {y}")
        out.append(y if x == 1 else x)
    return tuple(out)


def read_shape(shape: Sequence[int | str]) -> Shape:
    """A shape from an attribute. Raises `OpError`."""
    try:
        return dims.shape_of(shape)
    except ValueError as error:
        raise OpError(str(error)) from None
