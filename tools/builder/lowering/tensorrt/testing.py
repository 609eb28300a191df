"""Runs graphs through this lowering on the double, and compares with the reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tools.builder.graph import Graph
from tools.builder.lowering.tensorrt import double
from tools.builder.lowering.tensorrt.emitter import Array
from tools.builder.lowering.tensorrt.encoding import NUMPY
from tools.builder.lowering.tensorrt.engine import Engine
from tools.builder.lowering.tensorrt.lower import Options, build_network, describe
from tools.builder.lowering.tensorrt.ranges import Ranges
from tools.builder.lowering.tensorrt.session import Session


class DoubleMachine:
    """A network on NumPy; a `Machine`."""

    def __init__(self, network: Any, weights: Mapping[str, Array]) -> None:
        self._network, self._weights = network, weights
        self._buffers: dict[str, Array] = {}
        self._outputs: dict[str, Array] = {}

    def allocate(self, name: str, shape: tuple[int, ...], dtype: str) -> None:
        self._buffers[name] = np.zeros(shape, NUMPY[dtype])

    def reorder(self, name: str, rows: Array) -> None:
        self._buffers[name][: len(rows)] = self._buffers[name][rows]

    def append(self, name: str, output: str, place: int) -> None:
        new = self._outputs[output]
        self._buffers[name][: new.shape[0], :, place : place + new.shape[2]] = new

    def run(self, inputs: Mapping[str, Array], batch: int) -> dict[str, Array]:
        """See `Machine`."""
        views = {name: buffer[:batch] for name, buffer in self._buffers.items()}
        run = double.Run({**inputs, **views, **self._weights})
        for layer in self._network.layers:  # in their order, so that no value waits for a deep chain of others
            for handle in layer.outputs:
                run(handle)
        self._outputs = {handle.name: run(handle) for handle in self._network.outputs}
        return self._outputs


class DoubleExecution(Session):
    """A graph lowered for TensorRT 8.6's layers (or, `extended`, with newer ones) and computed by NumPy."""

    def __init__(
        self,
        graph: Graph,
        weights: Mapping[str, Array],
        options: Options | None = None,
        *,
        extended: bool = False,
        keys_multiple: int = 1,
        ranges: Ranges | None = None,
    ) -> None:
        engine, options = Engine(double.module(extended)), options or Options("f32")
        ranges = ranges or Ranges.of(graph)
        self.made = build_network(graph, weights, engine, ranges, options)
        self.description = describe(graph, self.made, ranges, options, engine)
        given = {**graph.constants, **weights}
        bound = {
            row["name"]: given[row["weight"]].astype(NUMPY[row["dtype"]])
            for row in self.made.interface.inputs
            if row["role"] == "weight"
        }
        super().__init__(self.description, DoubleMachine(self.made.network, bound), keys_multiple)
