"""Graph to OpenVINO: `build_model` for running at once, `lower` for an IR whose constants lie in a weights file."""

from __future__ import annotations

import dataclasses
import math
import mmap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tools.builder.assets.weights_file import Placement, StoredTensor, numpy_dtype
from tools.builder.graph import Graph
from tools.builder.lowering.openvino import (
    attention,  # noqa: F401  (registers its ops)
    ir,
    moe,  # noqa: F401  (registers its ops)
)
from tools.builder.lowering.openvino.emitter import Emitter, LoweringError
from tools.builder.lowering.openvino.engine import opset, ov
from tools.builder.lowering.openvino.ops import LOWERINGS

Array = npt.NDArray[Any]


@dataclasses.dataclass(frozen=True)
class Lowered:
    """A module's IR before its constants have places; `constants` are the tensors that the lowering made."""

    ir: bytes
    constants: Sequence[StoredTensor]

    def place(self, placements: Mapping[str, Placement]) -> bytes:
        """The `openvino.xml` of a bundle, given where the weights file holds each tensor."""
        return ir.place_constants(self.ir, placements)


def engine_version() -> str:
    """The version of OpenVINO whose operator sets the IR uses: major and minor."""
    return ".".join(ov.get_version().split("-")[0].split(".")[:2])


def lower(graph: Graph, stored: Mapping[str, StoredTensor]) -> Lowered:
    """Lowers a graph whose weights will be stored as `stored`. Their values are not read, only dtypes and shapes."""
    arrays = _placeholders({port.name: stored[port.name] for port in graph.weights})
    model, constants = build_model(graph, arrays)
    return Lowered(ir.serialize(model), constants)


def build_model(
    graph: Graph, weights: Mapping[str, Array], *, watch: Sequence[str] = ()
) -> tuple[ov.Model, list[StoredTensor]]:
    """The graph as an OpenVINO model over `weights`, which it refers to and does not copy, and the constants it made.

    f16 weights are expanded to f32 where they are used. `watch` names values (ids) that become outputs too, under their
    ids. Raises LoweringError for an op that has no lowering.
    """
    emitter = Emitter(graph, weights)
    for node in graph.nodes:
        if node.op not in LOWERINGS:
            raise LoweringError(f"graph {graph.name}: op {node.op!r} (scope {node.scope!r}) has no OpenVINO lowering")
        inputs = [emitter.values[value.id] if value is not None else None for value in node.inputs]
        made = LOWERINGS[node.op](emitter, node, *inputs)
        value = node.outputs[0]
        emitter.define(value, made.output(0) if isinstance(made, ov.Node) else made, node)
    results = [_result(emitter, port.value.id, port.name) for port in graph.outputs]
    results += [_result(emitter, id, id) for id in watch]
    for sink in emitter.sinks:
        emitter.name([sink], f"{sink.get_variable_id()}.assign")
    model = ov.Model(results, emitter.sinks, list(emitter.parameters.values()), graph.name)
    return model, list(emitter.constants.values())


def _result(emitter: Emitter, id: str, name: str) -> ov.Node:
    value = emitter.values[id]
    if value.get_node().get_type_name() in ("Parameter", "Constant") or value.get_names():
        value = opset.convert(value, value.get_element_type()).output(0)  # a tensor of its own, to bear the name
        emitter.name([value], f"{name}.copy")
    result = opset.result(value)
    result.output(0).tensor.set_names({name})
    result.set_friendly_name(name)
    return result


def _placeholders(stored: Mapping[str, StoredTensor]) -> dict[str, Array]:
    """Arrays of the right dtypes and shapes that share one untouched mapping, so that they take no memory."""
    size = max((tensor.nbytes for tensor in stored.values()), default=0)
    zeros = np.frombuffer(mmap.mmap(-1, max(size, 1)), np.uint8)

    def view(tensor: StoredTensor) -> Array:
        dtype = numpy_dtype(tensor.dtype)
        return zeros[: math.prod(tensor.shape) * dtype.itemsize].view(dtype).reshape(tensor.shape)

    return {name: view(tensor) for name, tensor in stored.items()}
