"""Runs a graph through the OpenVINO lowering in this process, for tests and for `mconnect debug`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tools.builder.graph import Graph
from tools.builder.lowering.openvino.engine import opset, ov
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


def freeze_input(model: ov.Model, name: str, value: Array) -> None:
    """Replaces an input by a constant, in place.

    A peer that knows no `logits_to_keep` loads a decoder once that is frozen: `freeze_input(model, "logits_to_keep",
    np.array([0]))`.
    """
    parameter = model.input(name).get_node()
    constant = opset.constant(value)
    for target in parameter.output(0).get_target_inputs():
        target.replace_source_output(constant.output(0))
    model.remove_parameter(parameter)
    model.validate_nodes_and_infer_types()
