"""A family's plans are built as constants and as inputs; an input that TensorRT drops fails the test."""

from __future__ import annotations

import re

import pytest

from tools.builder import ops
from tools.builder.graph import Graph
from tools.builder.lowering.openvino.testing import decoder, weights_of
from tools.builder.lowering.tensorrt import attention, family_plans, lower
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


def test_numbers_are_compared_in_both_forms_of_the_cache() -> None:
    graph = decoder(1)
    lines = list(family_plans.numbers(graph, weights_of(graph)))
    assert len(lines) == 10 and re.fullmatch(
        r"decoder \(primitive layers\): \w.*: relative error \d\.\d\de-\d\d", lines[0]
    )


def test_a_number_that_is_off_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = decoder(1)
    monkeypatch.setattr(attention, "HIDDEN", -0.1)  # hidden keys are hardly hidden
    with pytest.raises(PlanError, match=r"decoder \(primitive layers\): chunked prefill: the relative error is"):
        list(family_plans.numbers(graph, weights_of(graph)))


def test_a_family_that_cannot_be_lowered_fails() -> None:
    graph = decoder()
    with pytest.raises(LoweringError, match="weights are not given"):
        list(plans(graph, {}))
