"""What is given to a session is checked, and masks are lengthened where the form of the cache wants it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from tools.builder.lowering.openvino.testing import decoder, step, weights_of
from tools.builder.lowering.tensorrt.emitter import Array
from tools.builder.lowering.tensorrt.ranges import SizeError
from tools.builder.lowering.tensorrt.session import Session
from tools.builder.lowering.tensorrt.testing import DoubleExecution

GRAPH = decoder(1)


class _Recorder:
    """A machine that runs nothing."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.inputs: Mapping[str, Array] = {}

    def allocate(self, name: str, shape: tuple[int, ...], dtype: str) -> None:
        self.calls.append(("allocate", name, shape, dtype))

    def reorder(self, name: str, rows: Array) -> None:
        self.calls.append(("reorder", name, rows.tolist()))

    def append(self, name: str, output: str, place: int) -> None:
        self.calls.append(("append", name, output, place))

    def run(self, inputs: Mapping[str, Array], batch: int) -> dict[str, Array]:
        self.calls.append(("run", batch))
        self.inputs = inputs
        return {"logits": np.zeros((batch, 1, 96), np.float32)}


def _session(extended: bool, keys_multiple: int = 1) -> tuple[Session, _Recorder]:
    machine = _Recorder()
    description = DoubleExecution(GRAPH, weights_of(GRAPH), extended=extended).description
    return Session(description, machine, keys_multiple), machine


def test_caches_are_allocated_for_the_largest_batch() -> None:
    _, machine = _session(False)
    assert machine.calls == [("allocate", f"kv.0.{part}", (8, 2, 64, 16), "f32") for part in ("key", "value")]


def test_rows_are_appended_where_the_form_asks_for_it() -> None:
    rows = [("append", f"kv.0.{part}", f"kv.0.{part}.new", 3) for part in ("key", "value")]
    for extended, expected in ((False, rows), (True, [])):
        session, machine = _session(extended)
        session.run(step(np.zeros((2, 3), np.int64)))
        machine.calls.clear()
        session.run(step(np.zeros((2, 1), np.int64), past=3))
        assert machine.calls == [("run", 2), *expected]


def test_rows_are_reordered_before_the_run_and_only_where_the_order_changes() -> None:
    session, machine = _session(True)
    first = step(np.zeros((2, 3), np.int64))
    first["beam_idx"] = np.array([1, 0], np.int32)
    session.run(first)
    assert not [call for call in machine.calls if call[0] == "reorder"]  # nothing is cached yet
    second = step(np.zeros((2, 1), np.int64), past=3)
    second["beam_idx"] = np.array([1, 1], np.int32)
    machine.calls.clear()
    session.run(second)
    assert machine.calls == [("reorder", "kv.0.key", [1, 1]), ("reorder", "kv.0.value", [1, 1]), ("run", 2)]


@pytest.mark.parametrize(("extended", "mask"), [(False, [1, 1, 1, 0, 0, 0, 1, 1]), (True, [1, 1, 1, 1, 1, 0, 0, 0])])
def test_a_mask_is_lengthened_by_hidden_places(extended: bool, mask: list[int]) -> None:
    session, machine = _session(extended, 8)
    session.run(step(np.zeros((1, 3), np.int64)))
    session.run(step(np.zeros((1, 2), np.int64), past=3))
    assert machine.inputs["attention_mask"].tolist() == [mask]


def test_integers_are_given_as_the_plan_takes_them() -> None:
    session, machine = _session(True)
    session.run(step(np.zeros((1, 3), np.int64)))
    assert machine.inputs["input_ids"].dtype == np.int32  # the double is a TensorRT without i64
    assert machine.inputs["kv.write_index"].tolist() == [0]


def test_a_missing_input_is_named() -> None:
    session, _ = _session(True)
    inputs = step(np.zeros((1, 3), np.int64))
    del inputs["position_ids"]
    with pytest.raises(SizeError, match="input position_ids is not given"):
        session.run(inputs)


def test_inputs_must_agree_on_their_dimensions() -> None:
    session, _ = _session(True)
    inputs = step(np.zeros((1, 3), np.int64))
    inputs["position_ids"] = np.zeros((1, 4), np.int64)
    with pytest.raises(SizeError, match="position_ids: tokens is 3; given are 4"):
        session.run(inputs)
