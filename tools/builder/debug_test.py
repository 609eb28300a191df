"""A wrong op planted in the lowering is the one that `compare` names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tools.builder.debug import DebugError, Report, compare
from tools.builder.graph import Graph
from tools.builder.lowering.openvino import lower
from tools.builder.lowering.openvino.engine import opset, ov
from tools.builder.lowering.openvino.ops import LOWERINGS
from tools.builder.lowering.openvino.testing import decoder, step, weights_of

IDS = np.arange(6).reshape(1, 6)
STEPS = [step(IDS[:, :5]), step(IDS[:, 5:], past=5)]


def _compare(graph: Graph, **options: Any) -> Report:
    weights = weights_of(graph)
    return compare(graph, lambda: lower.build_model(graph, weights)[0], weights, STEPS, **options)


def test_nothing_departs_in_a_right_lowering() -> None:
    report = _compare(decoder())
    assert report.first is None and not report.fused
    assert len(report.rows) == len(decoder().nodes)
    assert [row.op for row in report.outputs] == ["logits"]


def test_names_the_op_that_was_made_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    right = LOWERINGS["silu"]

    def wrong(e: Any, node: Any, x: Any) -> Any:
        return right(e, node, x) if node.scope != "layers.1" else opset.relu(x)

    monkeypatch.setitem(LOWERINGS, "silu", wrong)
    report = _compare(decoder())
    assert report.first is not None
    assert (report.first.op, report.first.scope, report.fused) == ("silu", "layers.1", False)
    assert report.first.max_rel > report.tolerance
    assert report.worst(1)[0].max_rel >= report.first.max_rel


def test_an_error_in_the_cache_shows_in_a_later_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first cached key is hidden once there is a past, so the first step alone does not show it."""
    right = LOWERINGS["cached_attention"]

    def wrong(e: Any, node: Any, q: Any, k: Any, v: Any, mask: Any, beam: Any) -> ov.Node:
        past = opset.subtract(e.size(mask, 1), e.size(q, 2))
        places = opset.range(e.constant(0), opset.squeeze(e.size(mask, 1)), e.constant(1), "i64")
        first = opset.equal(places, e.constant(0))
        hidden = opset.logical_and(first, opset.greater(past, e.constant(0)))
        made: ov.Node = right(e, node, q, k, v, opset.select(hidden, e.constant(0), mask).output(0), beam)
        return made

    monkeypatch.setitem(LOWERINGS, "cached_attention", wrong)
    weights = weights_of(decoder())

    def read() -> ov.Model:
        return lower.build_model(decoder(), weights)[0]

    assert compare(decoder(), read, weights, STEPS[:1]).first is None
    report = compare(decoder(), read, weights, STEPS)
    assert report.first is not None and (report.first.op, report.first.scope) == ("cached_attention", "layers.0")


def test_a_looser_tolerance_accepts_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LOWERINGS, "silu", lambda e, node, x: opset.relu(x))
    assert _compare(decoder(), tolerance=100.0).first is None


def test_refuses_an_ir_of_another_graph() -> None:
    graph, other = decoder(layers=2), decoder(layers=1)
    weights = weights_of(graph)
    with pytest.raises(DebugError, match="was not made from this graph"):
        compare(graph, lambda: lower.build_model(other, weights_of(other))[0], weights, STEPS)


def test_finds_where_only_the_fused_graph_departs() -> None:
    """The outputs are wrong while every value is right: as if a fusion were wrong from one op on."""
    graph = decoder()
    weights = weights_of(graph)
    calls: list[int] = []

    def read() -> ov.Model:
        calls.append(1)
        model = lower.build_model(graph, weights)[0]
        if len(calls) == 1:  # every value is watched
            return model
        for node in model.get_ordered_ops():
            if (
                node.get_friendly_name().startswith("layers.1.cached_attention.")
                and node.get_type_name() == "ScaledDotProductAttention"
            ):
                targets = node.output(0).get_target_inputs()
                doubled = opset.add(node, node)
                doubled.set_friendly_name(node.get_friendly_name())
                node.set_friendly_name("inner")
                for target in targets:
                    target.replace_source_output(doubled.output(0))
        return model

    report = compare(graph, read, weights, STEPS)
    assert report.fused and report.first is not None
    assert (report.first.op, report.first.scope) == ("cached_attention", "layers.1")
