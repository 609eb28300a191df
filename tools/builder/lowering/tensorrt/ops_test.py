"""Every op, in primitive layers, means what the reference lowering computes; TensorRT-RTX builds each of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tools.builder import ops
from tools.builder.graph import Graph, Node
from tools.builder.lowering import reference
from tools.builder.lowering.tensorrt.emitter import LoweringError
from tools.builder.lowering.tensorrt.lower import Options, build_plan
from tools.builder.lowering.tensorrt.op_cases import CASES, make
from tools.builder.lowering.tensorrt.ops import LOWERINGS
from tools.builder.lowering.tensorrt.ranges import Ranges
from tools.builder.lowering.tensorrt.testing import DoubleExecution
from tools.builder.op_rules import OPS

SMALL = {"batch": (1, 2, 4), "tokens": (1, 3, 6)}


def _ranges(graph: Graph) -> Ranges:
    names = {str(dim) for port in graph.inputs for dim in port.value.shape if not isinstance(dim, int)}
    given: dict[str, Any] = {name: size for name, size in SMALL.items() if name in names}
    return Ranges.of(graph, **given)


def test_every_op_has_a_lowering_and_a_case() -> None:
    assert set(LOWERINGS) == set(OPS)
    cased = {node.op for name in CASES for node in make(name)[0].nodes}
    assert cased == set(OPS) - {"cached_attention"}  # which has a test of its own


@pytest.mark.parametrize("extended", [False, True])
@pytest.mark.parametrize("options", [Options("f32"), Options("f32", weights="inputs"), Options("f16")], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_means_what_the_reference_computes(name: str, options: Options, extended: bool) -> None:
    graph, weights, inputs = make(name)
    want = reference.run(graph, weights, inputs)[0]["y"]
    got = DoubleExecution(graph, weights, options, extended=extended, ranges=_ranges(graph)).run(inputs)["y"]
    tolerance = 3e-6 if options.precision == "f32" else 2e-2
    assert got.shape == want.shape
    if got.dtype == np.int32:  # as i64 is in TensorRT 8.6
        np.testing.assert_array_equal(got, want)
    else:
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 9])
def test_trailing_keeps_what_the_count_says(count: int) -> None:
    graph, weights, inputs = make("trailing", count)
    want = reference.run(graph, weights, inputs)[0]["y"]
    got = DoubleExecution(graph, weights, Options("f32"), ranges=_ranges(graph)).run(inputs)["y"]
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("precision", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("name", CASES)
def test_tensorrt_builds_it(name: str, precision: str) -> None:
    graph, weights, _ = make(name)
    plan = build_plan(graph, weights, Options(precision, level=0), _ranges(graph))
    assert len(plan.data) > 1000
    assert [row["name"] for row in plan.description["outputs"]] == ["y"]


def test_an_op_without_a_lowering_is_named() -> None:
    graph = Graph("odd")
    x = graph.input("x", "f32", (2,))
    graph.output("y", ops.relu(x))
    node = graph.nodes[0]
    graph.nodes[0] = Node("fold", "layers.3", node.inputs, {}, node.outputs)
    with pytest.raises(LoweringError, match=r"graph odd: op 'fold' \(scope 'layers.3'\) has no TensorRT lowering"):
        DoubleExecution(graph, {})


def test_a_weight_that_is_not_given_is_named() -> None:
    graph, _, _ = make("linear out_in 3 bias")
    with pytest.raises(LoweringError, match="graph case: weights are not given: b, w"):
        DoubleExecution(graph, {})


@pytest.mark.parametrize("option", [{"precision": "f8"}, {"weights": "elsewhere"}])
def test_options_are_of_a_closed_set(option: dict[str, Any]) -> None:
    (name,) = option
    with pytest.raises(LoweringError, match=f"{name} is '{option[name]}'; it must be one of"):
        Options(**option)
