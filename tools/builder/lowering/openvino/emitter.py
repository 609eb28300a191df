"""What the op lowerings write with: shared constants, symbolic dimensions, and names that lead back to the graph."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tools.builder.assets.weights_file import StoredTensor, dtype_name
from tools.builder.dims import Dim, Dimension
from tools.builder.graph import Graph, Node, Value
from tools.builder.lowering.openvino.engine import opset, ov
from tools.builder.lowering.openvino.ir import DECOMPRESSION

Array = npt.NDArray[Any]
TYPES: dict[str, ov.Type] = {
    "bool": ov.Type.boolean, "i8": ov.Type.i8, "u8": ov.Type.u8, "i16": ov.Type.i16, "u16": ov.Type.u16,
    "i32": ov.Type.i32, "u32": ov.Type.u32, "i64": ov.Type.i64, "u64": ov.Type.u64, "f16": ov.Type.f16,
    "bf16": ov.Type.bf16, "f32": ov.Type.f32, "f64": ov.Type.f64,
}  # fmt: skip


class LoweringError(ValueError):
    """A graph that this engine cannot execute."""


def node_name(node: Node) -> str:
    """The name that a graph's node has in the IR: scope, op and the id of its value."""
    return ".".join(filter(None, (node.scope, node.op, node.outputs[0].id)))


class Emitter:
    """The OpenVINO nodes of one graph, while it is lowered.

    `constants` are the tensors that the lowering made (by name); `sinks` are the writes to state, `shared` is a place
    where op lowerings keep what several nodes of a graph use, such as the attention mask.
    """

    def __init__(self, graph: Graph, weights: Mapping[str, Array]) -> None:
        self.graph = graph
        self.constants: dict[str, StoredTensor] = {}
        self.sinks: list[ov.Node] = []
        self.shared: dict[str, Any] = {}
        self.values: dict[str, ov.Output] = {}
        self.parameters: dict[str, ov.Node] = {}
        self._made: dict[str, ov.Output] = {}
        self._dims: dict[str, ov.Output] = {}
        self._named: set[str] = set()
        self._born: dict[str, tuple[ov.Output, int]] = {}
        for port in graph.inputs:
            shape = ov.PartialShape([d if isinstance(d, int) else -1 for d in port.value.shape])
            node = opset.parameter(shape, TYPES[port.value.dtype])
            node.output(0).tensor.set_names({port.name})
            self._set_name(node, port.name)
            self.parameters[port.name] = node
            self.values[port.value.id] = node.output(0)
        for port in graph.weights:
            self.values[port.value.id] = self._weight(port.name, weights[port.name])

    def constant(self, value: Any, dtype: str = "i64") -> ov.Output:
        """A constant of the lowering's own; equal constants are one tensor, named by its content."""
        array = np.array(value, dtype=np.dtype(TYPES[dtype].to_dtype()))
        key = f"{dtype}{list(array.shape)}"
        name = f"openvino.{key}.{hashlib.sha256(array.tobytes()).hexdigest()[:16]}"
        if name not in self._made:
            node = opset.constant(array)
            self._set_name(node, name)
            self._made[name] = node.output(0)
            self.constants[name] = StoredTensor(name, dtype, array)
        return self._made[name]

    def size(self, value: ov.Output, axis: int) -> ov.Output:
        """The size of an axis at run time, i64 [1]."""
        return opset.gather(opset.shape_of(value, "i64"), self.constant([axis]), self.constant(0)).output(0)

    def dimension(self, dim: Dimension) -> ov.Output:
        """The value of a dimension at run time, i64 [1]. Raises LoweringError for a symbol that no input has."""
        if isinstance(dim, int):
            return self.constant([dim])
        total: ov.Output | None = None
        for symbols, factor in dim.terms:
            term = self.constant([factor]) if factor != 1 or not symbols else None
            for symbol in symbols:
                size = self._symbol(symbol)
                term = size if term is None else opset.multiply(term, size).output(0)
            assert term is not None
            total = term if total is None else opset.add(total, term).output(0)
        assert total is not None
        return total

    def shape(self, dims: Sequence[Dimension]) -> ov.Output:
        """A shape at run time, i64 [rank]."""
        if all(isinstance(dim, int) for dim in dims):
            return self.constant([dim for dim in dims if isinstance(dim, int)])
        return opset.concat([self.dimension(dim) for dim in dims], 0).output(0)

    def define(self, value: Value, output: ov.Output, node: Node) -> None:
        """Records what a graph's node lowers to and names what it is made of."""
        self.values[value.id] = output
        self.name([output], node_name(node))
        for axis, dim in enumerate(
            value.shape
        ):  # a dimension that first appears here, such as the number of kept logits
            if isinstance(dim, Dim) and str(dim) not in self._born and len(dim.terms) == 1:
                self._born[str(dim)] = (output, axis)

    def name(self, roots: Iterable[ov.Output | ov.Node], prefix: str) -> None:
        """Names every node, as yet unnamed, that `roots` are computed from: the roots `prefix`, the others below it."""
        fresh: list[ov.Node] = []
        tops = [root.get_node() if isinstance(root, ov.Output) else root for root in roots]
        stack = list(reversed(tops))
        while stack:  # depth first, so that the order is the graph's own
            node = stack.pop()
            if node.get_name() in self._named:
                continue
            self._named.add(node.get_name())
            fresh.append(node)
            stack.extend(reversed([value.get_node() for value in node.input_values()]))
        names = {top.get_name() for top in tops}
        counts: dict[str, int] = {}
        for node in fresh:
            kind = node.get_type_name()
            if node.get_name() in names and prefix not in counts:
                counts[prefix] = 1
                node.set_friendly_name(prefix)
                continue
            counts[kind] = counts.get(kind, 0) + 1
            node.set_friendly_name(f"{prefix}/{kind}.{counts[kind]}")

    def _set_name(self, node: ov.Node, name: str) -> None:
        node.set_friendly_name(name)
        self._named.add(node.get_name())

    def _weight(self, name: str, array: Array) -> ov.Output:
        node = opset.constant(array, shared_memory=True)
        self._set_name(node, name)
        if dtype_name(array.dtype) != "f16":
            return node.output(0)
        expanded = opset.convert(node, ov.Type.f32)
        self._set_name(expanded, name + DECOMPRESSION)
        return expanded.output(0)

    def _symbol(self, symbol: str) -> ov.Output:
        if symbol not in self._dims:
            self._dims[symbol] = self._read_symbol(symbol)
            self.name([self._dims[symbol]], f"dimension.{symbol}")
        return self._dims[symbol]

    def _read_symbol(self, symbol: str) -> ov.Output:
        """Reads a symbol from the shape of an input that has it alone, else of one that has it in a sum with others."""
        sums: list[tuple[str, int, Dimension]] = []
        for port in self.graph.inputs:
            for axis, dim in enumerate(port.value.shape):
                if not isinstance(dim, Dim):
                    continue
                if dim.terms == (((symbol,), 1),):
                    return self.size(self.parameters[port.name].output(0), axis)
                rest = dim - Dim((((symbol,), 1),))
                if ((symbol,), 1) in dim.terms and all(symbol not in product for product in _products(rest)):
                    sums.append((port.name, axis, rest))
        if not sums and symbol in self._born:
            return self.size(*self._born[symbol])
        if not sums:
            raise LoweringError(f"graph {self.graph.name}: no input has the dimension {symbol!r}")
        name, axis, rest = sums[0]
        return opset.subtract(self.size(self.parameters[name].output(0), axis), self.dimension(rest)).output(0)


def _products(dim: Dimension) -> list[tuple[str, ...]]:
    return [symbols for symbols, _ in dim.terms] if isinstance(dim, Dim) else []
