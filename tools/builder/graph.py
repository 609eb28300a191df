"""A module of a model as a recorded list of semantic ops.

    g = Graph("encoder")
    ids = g.input("input_ids", "i64", ("batch", "tokens"))
    x = ops.embedding(ids, g.weight("embeddings.weight", (30522, 384)))
    g.output("last_hidden_state", x)
    g.to_json()                                  # canonical: equal graphs are equal bytes

Recording checks dtypes and shapes: a mistake raises `GraphError` with the op, its inputs and the family's line.
`docs/graph.md` specifies the JSON form and every op.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from tools.builder import dims
from tools.builder.dims import DimLike, Shape
from tools.builder.op_rules import DTYPES, OPS, OpError, Type, show

Array: TypeAlias = npt.NDArray[Any]
CONSTANT = "constant."
_HERE = Path(__file__).parent


class GraphError(ValueError):
    """A mistake in a family's code or in a `graph.json`."""


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor that a graph computes or is given."""

    graph: Graph = field(repr=False)
    id: str
    type: Type

    @property
    def dtype(self) -> str:
        """One of `DTYPES`; floats are always f32."""
        return self.type.dtype

    @property
    def shape(self) -> Shape:
        """Integers and symbolic dimensions."""
        return self.type.shape

    def __add__(self, other: Value | float) -> Value:
        return self._binary("add", other)

    def __sub__(self, other: Value | float) -> Value:
        return self._binary("sub", other)

    def __mul__(self, other: Value | float) -> Value:
        return self._binary("mul", other)

    def __truediv__(self, other: Value | float) -> Value:
        return self._binary("div", other)

    def _binary(self, op: str, other: Value | float) -> Value:
        right = other if isinstance(other, Value) else self.graph.scalar(other)
        return self.graph.record(op, [self, right])


class HasValue(Protocol):
    """What stands for a value: a tensor of a checkpoint (`tools.builder.weights.Weights`)."""

    @property
    def value(self) -> Value:
        """The value, recorded in the graph when it is first asked for."""


Operand: TypeAlias = Value | HasValue


@dataclass(frozen=True)
class Port:
    """A value under a name: an input, a weight or an output of a graph."""

    name: str
    value: Value


@dataclass(frozen=True)
class Node:
    """One recorded op. `attrs` holds JSON values only; an absent optional input is `None`."""

    op: str
    scope: str
    inputs: tuple[Value | None, ...]
    attrs: Mapping[str, Any]
    outputs: tuple[Value, ...]


@dataclass(frozen=True)
class Cache:
    """A key/value cache: keys and values f32 [batch, heads, past, head_dim] for each layer, empty at first."""

    name: str
    layers: int
    heads: int
    head_dim: int

    def __getitem__(self, layer: int) -> CacheLayer:
        if not 0 <= layer < self.layers:
            raise GraphError(f"cache {self.name} has layers 0 to {self.layers - 1}, not {layer}")
        return CacheLayer(self, layer)


@dataclass(frozen=True)
class CacheLayer:
    """One layer of a cache, as `cached_attention` takes it."""

    cache: Cache
    layer: int


class Graph:
    """Records one module. `inputs`, `weights`, `nodes`, `outputs`, `caches` mirror `graph.json`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.inputs: list[Port] = []
        self.weights: list[Port] = []
        self.nodes: list[Node] = []
        self.outputs: list[Port] = []
        self.caches: list[Cache] = []
        self.constants: dict[str, Array] = {}
        """Values of the weights named `constant.*`, f32 or integers; stored as weights, not in the JSON."""
        self._scopes: list[str] = []
        self._count = 0

    def input(self, name: str, dtype: str, shape: Sequence[DimLike]) -> Value:
        """Declares an input of the module."""
        return self._declare(self.inputs, "input", name, dtype, shape)

    def weight(self, name: str, shape: Sequence[DimLike], dtype: str = "f32") -> Value:
        """The weight that the checkpoint calls `name`; one value however often it is asked for."""
        known = next((port.value for port in self.weights if port.name == name), None)
        if known is None:
            return self._declare(self.weights, "weight", name, dtype, shape)
        if known.type != Type(dtype, dims.shape_of(shape)):
            raise GraphError(f"weight {name} is {known.type} and was asked for as {dtype}{show(dims.shape_of(shape))}")
        return known

    def constant(self, name: str, array: Array) -> Value:
        """A tensor that the family computes at build time, stored as the weight `constant.<name>.<digest>`.

        The digest is of the values: modules of one bundle share a constant where they agree, and only there.
        """
        content = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]
        return self._constant(f"{name}.{content}", array)

    def scalar(self, number: float) -> Value:
        """A number as an f32 constant of shape []."""
        return self._constant(f"scalar.{float(number)!r}", np.array(number, np.float32))

    def kv_cache(self, *, layers: int, heads: int, head_dim: int, name: str = "kv") -> Cache:
        """Declares a key/value cache, which the engine keeps between runs."""
        if min(layers, heads, head_dim) < 1:
            raise GraphError(
                f"cache {name}: layers {layers}, heads {heads}, head_dim {head_dim}; each must be positive"
            )
        if any(cache.name == name for cache in self.caches):
            raise GraphError(f"cache {name} is declared twice")
        self.caches.append(Cache(name, layers, heads, head_dim))
        return self.caches[-1]

    def output(self, name: str, value: Value) -> None:
        """Declares an output of the module."""
        if any(port.name == name for port in self.outputs):
            raise GraphError(f"output {name} is declared twice")
        self.outputs.append(Port(name, value))

    @contextlib.contextmanager
    def scope(self, name: str) -> Iterator[None]:
        """Names the part of the model that records the nodes within; scopes nest with dots."""
        self._scopes.append(name)
        try:
            yield
        finally:
            self._scopes.pop()

    def record(self, op: str, inputs: Sequence[Operand | None], **attrs: Any) -> Value:
        """Appends a node and returns its output. Family code calls the functions of `tools.builder.ops` instead."""
        values = [x if x is None or isinstance(x, Value) else x.value for x in inputs]
        try:
            for value in values:
                if value is not None and value.graph is not self:
                    raise OpError(f"value {value.id} belongs to the graph {value.graph.name}, not to {self.name}")
            result = self._infer(op, values, attrs)
        except OpError as error:
            raise GraphError(f"{op} at {_caller()}: {error}") from None
        output = self._value(result)
        self.nodes.append(Node(op, ".".join(self._scopes), tuple(values), attrs, (output,)))
        return output

    def to_json(self) -> str:
        """The canonical form: sorted keys, no spaces, a newline at the end."""
        body = {
            "format": 1,
            "name": self.name,
            "inputs": [{"name": port.name, **_value_json(port.value)} for port in self.inputs],
            "weights": [{"name": port.name, **_value_json(port.value)} for port in self.weights],
            "nodes": [
                {
                    "op": node.op,
                    "scope": node.scope,
                    "inputs": [value.id if value else None for value in node.inputs],
                    "attrs": dict(node.attrs),
                    "outputs": [_value_json(value) for value in node.outputs],
                }
                for node in self.nodes
            ],
            "outputs": [{"name": port.name, "value": port.value.id} for port in self.outputs],
            "caches": [
                {"name": c.name, "layers": c.layers, "heads": c.heads, "head_dim": c.head_dim} for c in self.caches
            ],
        }
        return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False) + "\n"

    def digest(self) -> str:
        """sha256 of `to_json()`, in hexadecimal."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    @staticmethod
    def from_json(text: str) -> Graph:
        """Reads `graph.json` back, checking every node against its op's rule. Raises `GraphError`."""
        from tools.builder.graph_json import read  # it imports this module

        return read(text)

    def _infer(self, op: str, inputs: Sequence[Value | None], attrs: Mapping[str, Any]) -> Type:
        if op not in OPS:
            raise OpError(f"there is no such op; the ops are {', '.join(sorted(OPS))}")
        types = [value.type if value else None for value in inputs]
        try:
            self._check_cache(attrs, types)
            return OPS[op].infer(types, attrs)
        except OpError as error:
            raise OpError(f"{OPS[op].describe(types)}: {error}") from None

    def _check_cache(self, attrs: Mapping[str, Any], types: Sequence[Type | None]) -> None:
        if "cache" not in attrs:
            return
        cache = next((c for c in self.caches if c.name == attrs["cache"]), None)
        if cache is None:
            raise OpError(f"the graph has no cache {attrs['cache']!r}")
        if not isinstance(attrs.get("layer"), int) or not 0 <= attrs["layer"] < cache.layers:
            raise OpError(f"cache {cache.name} has layers 0 to {cache.layers - 1}, not {attrs.get('layer')!r}")
        key = types[1] if len(types) > 1 else None
        if key is None or len(key.shape) != 4 or (key.shape[1], key.shape[3]) != (cache.heads, cache.head_dim):
            raise OpError(f"cache {cache.name} holds {cache.heads} heads of {cache.head_dim}; keys are {key}")

    def _constant(self, name: str, array: Array) -> Value:
        dtype = {"float32": "f32", "int32": "i32", "int64": "i64"}.get(array.dtype.name)
        if dtype is None:
            raise GraphError(f"constant {name} is {array.dtype.name}; it must be float32, int32 or int64")
        self.constants.setdefault(CONSTANT + name, array)
        return self.weight(CONSTANT + name, array.shape, dtype)

    def _declare(self, ports: list[Port], kind: str, name: str, dtype: str, shape: Sequence[DimLike]) -> Value:
        if any(port.name == name for port in ports):
            raise GraphError(f"{kind} {name} is declared twice")
        if dtype not in DTYPES:
            raise GraphError(f"{kind} {name} has the dtype {dtype!r}; dtypes are {', '.join(DTYPES)}")
        try:
            value = self._value(Type(dtype, dims.shape_of(shape)))
        except ValueError as error:
            raise GraphError(f"{kind} {name}: {error}") from None
        ports.append(Port(name, value))
        return value

    def _value(self, type: Type) -> Value:
        self._count += 1
        return Value(self, f"v{self._count - 1}", type)


def _value_json(value: Value) -> dict[str, Any]:
    return {"id": value.id, "dtype": value.dtype, "shape": dims.to_json(value.shape)}


def _caller() -> str:
    """The line, outside the recording code itself, that asked for the op."""
    frame = sys._getframe(1)
    while frame.f_back:
        path = Path(frame.f_code.co_filename)
        if path != Path(__file__) and (path.parent != _HERE / "ops" or path.name.endswith("_test.py")):
            break
        frame = frame.f_back
    path = Path(frame.f_code.co_filename)
    root = _HERE.parents[1]  # of the repository: below it, the path by which a reader knows the file
    return f"{path.relative_to(root) if path.is_relative_to(root) else path}:{frame.f_lineno}"
