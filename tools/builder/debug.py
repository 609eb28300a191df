"""Finds the first op where an engine departs from the reference lowering.

The engine's own artifact is run: its IR is read, every op's value is made an output, and each is compared with what
torch computes op by op from the same inputs and weights. Outputs in the middle of a graph keep the engine from fusing
across them, so the unchanged IR is run too: where only that one departs, a fusion is at fault, and the first value that
departs when it alone is watched is searched for.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tools.builder.graph import Graph, Node
from tools.builder.lowering import reference
from tools.builder.lowering.openvino.emitter import node_name
from tools.builder.lowering.openvino.engine import opset, ov
from tools.builder.lowering.openvino.execute import EnginePrecision, compile_model
from tools.builder.pipeline import BuildError

Array = npt.NDArray[Any]
Inputs = Mapping[str, Array]
TOLERANCE: Mapping[str, float] = {"f32": 1e-4, "bf16": 0.1}
"""How far a value may lie from the reference, relative to the largest magnitude of the value (at least 1)."""


class DebugError(BuildError):
    """A module that cannot be compared."""


@dataclasses.dataclass(frozen=True)
class Row:
    """How far one op's value lies from the reference, at the worst of all steps and elements."""

    op: str
    scope: str
    value: str
    shape: tuple[int, ...]
    max_abs: float
    max_rel: float
    """`max_abs` over the reference's largest magnitude (at least 1); infinite where shapes differ or NaN appears."""


@dataclasses.dataclass(frozen=True)
class Report:
    """`rows` are all ops in the order of the graph; `first` is the first beyond the tolerance.

    `fused` tells that no op departs by itself and `first` only does so in the graph as the engine fuses it.
    """

    rows: Sequence[Row]
    outputs: Sequence[Row]
    first: Row | None
    fused: bool
    tolerance: float

    def worst(self, count: int) -> list[Row]:
        """The `count` ops that depart most."""
        return sorted(self.rows, key=lambda row: -row.max_rel)[:count]


def compare(
    graph: Graph,
    read: Callable[[], ov.Model],
    weights: Mapping[str, Array],
    steps: Sequence[Inputs],
    *,
    precision: EnginePrecision = "f32",
    tolerance: float | None = None,
) -> Report:
    """Runs `steps` one after the other, the cache growing, in torch and in the model that `read` gives anew each time.

    Raises DebugError if the IR is not a lowering of `graph`.
    """
    limit = TOLERANCE[precision] if tolerance is None else tolerance
    nodes = {node.outputs[0].id: node for node in graph.nodes}
    want = _reference(graph, weights, steps, nodes)
    rows = _rows(nodes, want, _engine(read(), nodes.values(), steps, precision), list(nodes))
    names = [port.name for port in graph.outputs]
    outputs = [_row(Node(name, "", (), {}, ()), name, want, _engine(read(), (), steps, precision)) for name in names]
    first = next((row for row in rows if row.max_rel > limit), None)
    if first is not None or all(row.max_rel <= limit for row in outputs):
        return Report(rows, outputs, first, False, limit)

    def alone(index: int) -> Row:
        id = rows[index].value
        return _row(nodes[id], id, want, _engine(read(), [nodes[id]], steps, precision))

    low, high = 0, len(rows) - 1  # the last op departs; errors stay once they appear
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if alone(middle).max_rel > limit else (middle + 1, high)
    return Report(rows, outputs, alone(low), True, limit)


def _reference(
    graph: Graph, weights: Mapping[str, Array], steps: Sequence[Inputs], keep: Iterable[str]
) -> list[dict[str, Array]]:
    caches = reference.Caches()
    results = []
    for inputs in steps:
        outputs, kept = reference.run(graph, weights, inputs, caches, set(keep))
        results.append({**kept, **outputs})
    return results


def _engine(
    model: ov.Model, watch: Iterable[Node], steps: Sequence[Inputs], precision: EnginePrecision
) -> list[dict[str, Array]]:
    """Outputs by name and watched values by id, for each step."""
    by_name = {node.get_friendly_name(): node for node in model.get_ordered_ops()}
    results = []
    for node in watch:
        if node_name(node) not in by_name:
            raise DebugError(f"the IR has no node {node_name(node)!r}: it was not made from this graph")
        result = opset.result(
            opset.convert(by_name[node_name(node)].output(0), by_name[node_name(node)].get_element_type())
        )
        result.output(0).tensor.set_names({node.outputs[0].id})
        results.append(result)
    model.add_results(results)
    model.validate_nodes_and_infer_types()
    request = compile_model(model, precision).create_infer_request()
    values = []
    for inputs in steps:
        found = request.infer(dict(inputs))
        values.append({name: np.array(value) for output, value in found.items() for name in output.get_names()})
    return values


def _rows(
    nodes: Mapping[str, Node],
    want: Sequence[Mapping[str, Array]],
    got: Sequence[Mapping[str, Array]],
    ids: Sequence[str],
) -> list[Row]:
    return [_row(nodes[id], id, want, got) for id in ids]


def _row(node: Node, id: str, want: Sequence[Mapping[str, Array]], got: Sequence[Mapping[str, Array]]) -> Row:
    errors = [_error(a[id], b[id]) for a, b in zip(want, got, strict=True)]
    max_abs, max_rel = max(errors, key=lambda error: error[1])
    return Row(node.op, node.scope, id, tuple(want[0][id].shape), max_abs, max_rel)


def _error(want: Array, got: Array) -> tuple[float, float]:
    if want.shape != got.shape or not np.isfinite(got.astype(np.float64)).all():
        return float("inf"), float("inf")
    if not want.size:
        return 0.0, 0.0
    exact = want.astype(np.float64)
    error = float(np.abs(exact - got.astype(np.float64)).max())
    return error, error / max(1.0, float(np.abs(exact).max()))
