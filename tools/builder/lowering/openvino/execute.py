"""Runs a graph through the OpenVINO lowering in this process, for tests and for `mconnect debug`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import openvino as ov

from tools.builder.graph import Graph
from tools.builder.lowering.openvino.lower import build_model

Array = npt.NDArray[Any]
EnginePrecision = Literal["f32", "bf16"]


def compile_model(model: ov.Model, precision: EnginePrecision = "f32") -> ov.CompiledModel:
    """Compiles for the CPU; arithmetic and the key/value cache are in `precision`."""
    return ov.Core().compile_model(
        model, "CPU", {"INFERENCE_PRECISION_HINT": precision, "KV_CACHE_PRECISION": precision}
    )


class Execution:
    """A compiled graph with its state. `watch` names values (ids) that `run` returns beside the outputs."""

    def __init__(
        self,
        graph: Graph,
        weights: Mapping[str, Array],
        *,
        precision: EnginePrecision = "f32",
        watch: Sequence[str] = (),
    ) -> None:
        self._weights = weights  # the model refers to them
        model, self._constants = build_model(graph, weights, watch=watch)
        self._request = compile_model(model, precision).create_infer_request()

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Outputs by name and watched values by id; the cache grows."""
        results = self._request.infer(dict(inputs))
        return {name: np.array(value) for output, value in results.items() for name in output.get_names()}

    def reset(self) -> None:
        """Empties the cache."""
        self._request.reset_state()
