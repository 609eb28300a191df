"""Dimensions are computed from whichever input has them; equal constants are one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tools.builder.dims import Dim
from tools.builder.graph import Graph
from tools.builder.lowering.openvino.emitter import Emitter, LoweringError
from tools.builder.lowering.openvino.engine import opset, ov
from tools.builder.lowering.openvino.execute import compile_model


def _emitter() -> Emitter:
    graph = Graph("test")
    graph.input("ids", "i64", ("batch", "tokens"))
    graph.input("mask", "i64", ("batch", "past+tokens"))
    return Emitter(graph, {})


def _value(emitter: Emitter, output: ov.Output) -> list[int]:
    result = opset.result(output)
    result.output(0).tensor.set_names({"y"})
    model = ov.Model([result], list(emitter.parameters.values()), "test")
    inputs: dict[str, Any] = {"ids": np.zeros((2, 3), np.int64), "mask": np.zeros((2, 8), np.int64)}
    values: list[int] = compile_model(model)(inputs)["y"].tolist()
    return values


@pytest.mark.parametrize(
    ("dim", "size"),
    [(7, 7), ("batch", 2), ("tokens", 3), ("past", 5), ("past+tokens", 8), ("2*batch*tokens+1", 13), ("past*past", 25)],
)
def test_a_dimension_has_its_size_at_run_time(dim: Any, size: int) -> None:
    emitter = _emitter()
    assert _value(
        emitter, opset.multiply(emitter.dimension(Dim.of(dim)), emitter.size(emitter.values["v0"], 0)).output(0)
    ) == [2 * size]


def test_a_shape_of_integers_is_a_constant() -> None:
    emitter = _emitter()
    assert emitter.shape((2, 3)).get_node().get_type_name() == "Constant"
    assert emitter.shape((2, 3)) == emitter.shape((2, 3))


def test_refuses_a_dimension_that_no_input_has() -> None:
    with pytest.raises(LoweringError, match="graph test: no input has the dimension 'width'"):
        _emitter().dimension(Dim.of("width"))


def test_equal_constants_are_one_tensor_and_different_ones_are_not() -> None:
    emitter = _emitter()
    first = emitter.constant([1, 2])
    assert emitter.constant([1, 2]).get_node().get_friendly_name() == first.get_node().get_friendly_name()
    assert (
        len(
            {
                c.get_node().get_friendly_name()
                for c in (first, emitter.constant([1, 2], "i32"), emitter.constant([[1, 2]]))
            }
        )
        == 3
    )
    assert len(emitter.constants) == 3
