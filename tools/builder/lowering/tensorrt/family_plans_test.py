"""A family's plans are built as constants and as inputs; an input that TensorRT drops fails the test."""

from __future__ import annotations

import re

import pytest

from tools.builder import ops
from tools.builder.graph import Graph
from tools.builder.lowering.openvino.testing import decoder, weights_of
from tools.builder.lowering.tensorrt import family_plans, lower
from tools.builder.lowering.tensorrt.emitter import LoweringError
from tools.builder.lowering.tensorrt.family_plans import PlanError, plans


def test_both_forms_of_weights_are_built_for_every_gpu() -> None:
    graph = decoder()
    constants, inputs = plans(graph, weights_of(graph))
    assert re.fullmatch(r"decoder \(f16, weights as constants, SM75 to SM121\): \d{5,} bytes, \d+\.\d s", constants)
    assert "weights as inputs" in inputs


def test_a_plan_that_drops_an_input_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph("module")
    graph.output("y", ops.relu(graph.input("x", "f32", (4,))))
    build = lower.build_network

    def with_another(*args: object) -> lower.Network:
        made = build(*args)  # type: ignore[arg-type]
        made.network.add_input("stray", made.emitter.engine.dtype("f32"), (4,))
        return made

    monkeypatch.setattr(lower, "build_network", with_another)
    with pytest.raises(PlanError, match="module: TensorRT does not use all that it is given: .*stray"):
        list(family_plans.plans(graph, {}))


def test_a_family_that_cannot_be_lowered_fails() -> None:
    graph = decoder()
    with pytest.raises(LoweringError, match="weights are not given"):
        list(plans(graph, {}))
