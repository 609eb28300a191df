"""Every op gives what the reference lowering gives, over shapes and dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tools.builder import ops
from tools.builder.graph import Graph, Node, Value
from tools.builder.lowering.openvino.emitter import LoweringError
from tools.builder.lowering.openvino.execute import Execution
from tools.builder.lowering.openvino.lower import build_model
from tools.builder.lowering.openvino.ops import LOWERINGS
from tools.builder.lowering.openvino.testing import check
from tools.builder.op_rules import OPS


@pytest.mark.parametrize("op", ["add", "sub", "mul", "div"])
@pytest.mark.parametrize("shapes", [((2, 3), (2, 3)), (("batch", "tokens", 4), (4,)), (("batch", 1), (1, "tokens"))])
def test_arithmetic_broadcasts(op: str, shapes: Any) -> None:
    check(lambda g, x: getattr(ops, op)(x(shapes[0]), x(shapes[1])))


@pytest.mark.parametrize("op", ["add", "sub", "mul", "div"])
def test_arithmetic_with_a_number(op: str) -> None:
    check(lambda g, x: getattr(ops, op)(x(("batch", "tokens")), g.scalar(2.5)))


@pytest.mark.parametrize("op", ["add", "sub", "mul"])
@pytest.mark.parametrize("dtype", ["i32", "i64"])
def test_integer_arithmetic(op: str, dtype: str) -> None:
    check(lambda g, x: getattr(ops, op)(x((2, "tokens"), dtype), x(("tokens",), dtype)))


@pytest.mark.parametrize("op", ["relu", "tanh", "silu"])
@pytest.mark.parametrize("shape", [(7,), ("batch", "tokens", 5)])
def test_activations(op: str, shape: Any) -> None:
    check(lambda g, x: getattr(ops, op)(x(shape)))


@pytest.mark.parametrize("approximate", ["none", "tanh"])
@pytest.mark.parametrize("shape", [(33,), ("batch", "tokens", 16)])
def test_gelu(approximate: str, shape: Any) -> None:
    check(lambda g, x: ops.gelu(x(shape), approximate))


@pytest.mark.parametrize(
    ("dtype", "to"), [("f32", "i32"), ("f32", "i64"), ("i64", "f32"), ("i32", "i64"), ("i64", "i32"), ("f32", "f32")]
)
def test_cast(dtype: str, to: str) -> None:
    check(lambda g, x: ops.cast(x(("batch", 4), dtype) * (g.scalar(3.5) if dtype == "f32" else x((1,), dtype)), to))


@pytest.mark.parametrize("dtype", ["i32", "i64"])
@pytest.mark.parametrize("shape", [("batch", "tokens"), (4,)])
@pytest.mark.parametrize("f16", [False, True])
def test_embedding(dtype: str, shape: Any, f16: bool) -> None:
    check(lambda g, x: ops.embedding(x(shape, dtype), g.weight("table", (5, 8))), f16=f16)


@pytest.mark.parametrize("layout", ["out_in", "in_out"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [("batch", "tokens", 8), (8,), ("tokens", 8), (2, 3, "tokens", 8)])
@pytest.mark.parametrize("f16", [False, True])
def test_linear(layout: str, bias: bool, shape: Any, f16: bool) -> None:
    size = (5, 8) if layout == "out_in" else (8, 5)
    check(
        lambda g, x: ops.linear(
            x(shape), g.weight("w", size), g.weight("b", (5,)) if bias else None, weight_layout=layout
        ),
        f16=f16,
    )


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("lead", [(), ("batch",), ("batch", 4)])
def test_matmul(transpose: bool, lead: Any) -> None:
    check(lambda g, x: ops.matmul(x((*lead, "tokens", 6)), x((5, 6) if transpose else (6, 5)), transpose_b=transpose))


@pytest.mark.parametrize("shape", [("batch", "tokens", 8), (8,)])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("eps", [1e-12, 1e-5])
def test_layer_norm(shape: Any, bias: bool, eps: float) -> None:
    check(lambda g, x: ops.layer_norm(x(shape), g.weight("w", (8,)), g.weight("b", (8,)) if bias else None, eps=eps))


@pytest.mark.parametrize("shape", [("batch", "tokens", 8), ("batch", 2, "tokens", 8), (8,)])
@pytest.mark.parametrize("f16", [False, True])
def test_rms_norm(shape: Any, f16: bool) -> None:
    check(lambda g, x: ops.rms_norm(x(shape), g.weight("w", (8,)), eps=1e-6), f16=f16)


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_softmax(axis: int) -> None:
    check(lambda g, x: ops.softmax(x(("batch", "tokens", 4)), axis))


@pytest.mark.parametrize(
    ("shape", "target"),
    [
        (("batch", "tokens", 12), ("batch", "tokens", 3, 4)),
        (("batch", "tokens", 3, 4), ("batch", "tokens", 12)),
        (("batch", "tokens", 4), ("batch*tokens", 4)),
        ((2, 6), (3, 4)),
        (("batch", 1), ("batch",)),
        ((1, "tokens", 2), ("tokens", 2)),
    ],
)
@pytest.mark.parametrize("dtype", ["f32", "i64"])
def test_reshape(shape: Any, target: Any, dtype: str) -> None:
    check(lambda g, x: ops.reshape(x(shape, dtype), target))


@pytest.mark.parametrize("axes", [(0, 2, 1), (2, 1, 0), (0, 1, 2)])
@pytest.mark.parametrize("dtype", ["f32", "i64"])
def test_permute(axes: Any, dtype: str) -> None:
    check(lambda g, x: ops.permute(x(("batch", "tokens", 4), dtype), axes))


@pytest.mark.parametrize(("axis", "start", "stop"), [(2, 0, 4), (-1, 2, 4), (0, 1, 2)])
@pytest.mark.parametrize("dtype", ["f32", "i32"])
def test_slice(axis: int, start: int, stop: int, dtype: str) -> None:
    check(lambda g, x: ops.slice(x((2, "tokens", 4), dtype), axis, start, stop))


@pytest.mark.parametrize("axis", [1, -1, 0])
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("dtype", ["f32", "i64"])
def test_concat(axis: int, count: int, dtype: str) -> None:
    check(lambda g, x: ops.concat([x((2, "tokens", 4), dtype) for _ in range(count)], axis))


@pytest.mark.parametrize("count", [0, 1, 2, 3, 9])
@pytest.mark.parametrize("shape", [("batch", "tokens", 4), ("batch", "tokens")])
def test_trailing(count: int, shape: Any) -> None:
    check(lambda g, x: ops.trailing(x(shape), g.constant("count", np.array([count], np.int64))))


def test_a_dimension_that_trailing_makes_can_be_reshaped() -> None:
    def record(g: Graph, x: Any) -> Value:
        kept = ops.trailing(x(("batch", "tokens", 4)), g.constant("count", np.array([2], np.int64)))
        return ops.reshape(kept, ("batch", "kept", 2, 2))

    check(record)


@pytest.mark.parametrize("shape", [("batch", "tokens"), ("batch", "tokens", 4)])
def test_positions(shape: Any) -> None:
    check(lambda g, x: ops.positions(x(shape)))


def test_every_op_has_a_lowering() -> None:
    assert set(LOWERINGS) == set(OPS)


def test_refuses_an_op_without_a_lowering() -> None:
    graph = Graph("test")
    x = graph.input("x", "f32", (2,))
    value = ops.relu(x)
    graph.nodes[-1] = Node("dance", "layer.0", (x,), {}, (value,))
    with pytest.raises(LoweringError, match=r"op 'dance' \(scope 'layer.0'\) has no OpenVINO lowering"):
        build_model(graph, {})


def test_an_input_may_be_an_output_and_an_output_may_have_two_names() -> None:
    graph = Graph("test")
    x = graph.input("x", "f32", ("batch", 2))
    y = ops.relu(x)
    for name, value in (("same", x), ("first", y), ("second", y)):
        graph.output(name, value)
    values = np.array([[-1.0, 2.0]], np.float32)
    got = Execution(graph, {}).run({"x": values})
    assert {name: got[name].tolist() for name in ("same", "first", "second")} == {
        "same": [[-1, 2]], "first": [[0, 2]], "second": [[0, 2]]
    }  # fmt: skip
