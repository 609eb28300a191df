"""A plan's inputs and outputs, and the description of them that whoever runs the plan reads (`docs/tensorrt.md`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tools.builder import dims
from tools.builder.dims import Dimension
from tools.builder.graph import Cache, Graph
from tools.builder.lowering.tensorrt.emitter import Array, Emitter, Tensor
from tools.builder.lowering.tensorrt.ranges import Ranges

OPERANDS = {"linear": (1,), "matmul": (0, 1), "embedding": (1,), "moe": (2, 3, 4), "attention": (0, 1, 2)}
"""The inputs of each op that are in the plan's precision; weights elsewhere (norms, biases, tables) are f32."""


class Interface:
    """Declares a network's inputs where an op first asks for them, and its outputs. `ports` describes them.

    `as_inputs`: matrices are inputs named `w:<name>`, which are bound by address; norms and biases are constants.
    """

    def __init__(self, e: Emitter, graph: Graph, weights: Mapping[str, Array], ranges: Ranges, as_inputs: bool) -> None:
        self.in_place = e.engine.has("add_kv_cache_update")
        self.inputs: list[dict[str, Any]] = []
        self.outputs: list[dict[str, Any]] = []
        self._e, self._graph, self._weights, self._ranges, self._as_inputs = e, graph, weights, ranges, as_inputs
        self._made: dict[str, Tensor] = {}
        self._marked: set[int] = set()
        self._ports = {port.value.id: port for port in [*graph.inputs, *graph.weights]}
        self._operands = {
            value.id
            for node in graph.nodes
            for index, value in enumerate(node.inputs)
            if value is not None and index in OPERANDS.get(node.op, ())
        }

    def value(self, id: str) -> Tensor:
        """The tensor of a graph's input or weight."""
        if id not in self._made:
            port = self._ports[id]
            if port.name in self._weights and port in self._graph.weights:
                self._made[id] = self._weight(port.name, id, port.value.dtype)
            else:
                shape = port.value.shape
                more = {"graph_input": port.name}
                self._made[id] = self._input(port.name, "graph_input", port.value.dtype, shape, **more)
        return self._made[id]

    def cache(self, cache: str, layer: int, part: str, batch: Dimension) -> Tensor:
        """The buffer of a layer's keys (`part` is "key") or values."""
        found = self._cache(cache)
        assert self._ranges.cache_length is not None
        shape = (batch, found.heads, self._ranges.cache_length, found.head_dim)
        more = {"cache": cache, "layer": layer, "part": part}
        return self._input(f"{cache}.{layer}.{part}", "cache", self._e.precision, shape, **more)

    def write_index(self, cache: str, batch: Dimension) -> Tensor:
        """How many places of each row of a cache are in use, i32 [batch]."""
        key = f"{cache}.write_index"
        if key not in self._made:
            self._made[key] = self._input(key, "write_index", "i32", (batch,), cache=cache)
        return self._made[key]

    def updated(self, cache: str, layer: int, part: str, x: Tensor, shape: Sequence[Dimension]) -> None:
        """Makes `x` the output that holds a layer's new keys or values: the buffer itself, or its new rows."""
        more = {"cache": cache, "layer": layer, "part": part}
        if self.in_place:
            assert self._ranges.cache_length is not None
            shape = (shape[0], shape[1], self._ranges.cache_length, shape[3])
        role = "cache" if self.in_place else "cache_rows"
        self._output(f"{cache}.{layer}.{part}.{'out' if self.in_place else 'new'}", role, x, shape, **more)

    def result(self, name: str, x: Tensor, dtype: str, shape: Sequence[Dimension]) -> None:
        """Makes `x` the graph's output `name`."""
        self._output(name, "graph_output", self._e.cast(x, dtype), shape, graph_output=name)

    def place(self) -> None:
        """States of each input whether it is read from the host's memory (a count that decides a shape) once all is
        declared."""
        network = self._e.network
        for index, row in enumerate(self.inputs):
            row["memory"] = "host" if network.get_input(index).is_shape_tensor else "device"

    def _weight(self, name: str, id: str, dtype: str) -> Tensor:
        array = self._weights[name]
        if dtype == "f32":
            dtype = self._e.precision if id in self._operands else "f32"
        if self._as_inputs and array.ndim >= 2:
            return self._input(f"w:{name}", "weight", dtype, array.shape, weight=name)
        self._e.prefix = name
        return self._e.constant(array, dtype)

    def _cache(self, name: str) -> Cache:
        return next(cache for cache in self._graph.caches if cache.name == name)

    def _input(self, name: str, role: str, dtype: str, shape: Sequence[Dimension], **more: Any) -> Tensor:
        e = self._e
        sizes = tuple(dim if isinstance(dim, int) else -1 for dim in shape)
        dtype = e.engine.stored(dtype)
        handle = e.network.add_input(name, e.engine.dtype(dtype), sizes)
        self.inputs.append({"name": name, "role": role, "dtype": dtype, "shape": dims.to_json(tuple(shape)), **more})
        return Tensor(handle, dtype, len(sizes))

    def _output(self, name: str, role: str, x: Tensor, shape: Sequence[Dimension], **more: Any) -> None:
        e = self._e
        e.prefix = name
        if x.handle.is_network_input or id(x.handle) in self._marked:
            x = e.layer(e.network.add_identity(x.handle), "identity", x.dtype, x.rank)
        self._marked.add(id(x.handle))
        self._made[f"output.{name}"] = x  # keeps the handle, and so its id
        x.handle.name = name
        e.network.mark_output(x.handle)
        self.outputs.append({"name": name, "role": role, "dtype": x.dtype, "shape": dims.to_json(tuple(shape)), **more})
