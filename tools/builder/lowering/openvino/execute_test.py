"""Watched values come beside the outputs, and a reset empties the cache."""

from __future__ import annotations

import numpy as np
import pytest

from tools.builder.lowering import reference
from tools.builder.lowering.openvino.execute import EnginePrecision, Execution, compile_model, freeze_input
from tools.builder.lowering.openvino.lower import build_model
from tools.builder.lowering.openvino.testing import decoder, step, weights_of

IDS = np.arange(10).reshape(2, 5)


def test_watched_values_are_those_of_the_reference() -> None:
    graph = decoder()
    watched = [node.outputs[0].id for node in graph.nodes]
    got = Execution(graph, weights_of(graph), watch=watched).run(step(IDS))
    outputs, kept = reference.run(graph, weights_of(graph), step(IDS), keep=watched)
    assert set(got) == {"logits", *watched}
    for name, value in {**outputs, **kept}.items():
        np.testing.assert_allclose(got[name], value, atol=1e-5)


def test_reset_forgets_what_was_cached() -> None:
    graph = decoder()
    engine = Execution(graph, weights_of(graph))
    first = engine.run(step(IDS))["logits"]
    engine.reset()
    np.testing.assert_array_equal(engine.run(step(IDS))["logits"], first)


@pytest.mark.parametrize(("precision", "most"), [("f32", 1e-5), ("bf16", 0.2)])
def test_arithmetic_is_in_the_precision_asked_for(precision: EnginePrecision, most: float) -> None:
    """A CPU without bf16 computes in f32 when asked for bf16."""
    graph = decoder()
    got = Execution(graph, weights_of(graph), precision=precision).run(step(IDS))["logits"]
    assert np.abs(got - reference.run(graph, weights_of(graph), step(IDS))[0]["logits"]).max() <= most


@pytest.mark.parametrize(("keep", "kept"), [(0, 5), (1, 1)])
def test_a_frozen_input_is_no_input_any_more(keep: int, kept: int) -> None:
    graph = decoder()
    weights = weights_of(graph)
    model, _ = build_model(graph, weights)
    freeze_input(model, "logits_to_keep", np.array([keep]))
    compiled = compile_model(model)
    names = [name for port in compiled.inputs for name in port.get_names()]
    assert names == ["input_ids", "attention_mask", "position_ids", "beam_idx"]
    got = compiled({name: step(IDS)[name] for name in names})["logits"]
    want = reference.run(graph, weights, step(IDS, keep=keep))[0]["logits"]
    assert got.shape == (2, kept, 96)
    np.testing.assert_allclose(got, want, atol=1e-5)
