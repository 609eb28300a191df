"""Mixture of experts gives what the reference lowering gives, and the engine computes the chosen experts alone."""

from __future__ import annotations

import numpy as np
import pytest

from tools.builder import ops
from tools.builder.graph import Graph
from tools.builder.lowering.openvino.execute import compile_model
from tools.builder.lowering.openvino.lower import build_model
from tools.builder.lowering.openvino.testing import Array, array, check

EXPERTS, INNER, HIDDEN = 6, 32, 64


@pytest.mark.parametrize("top_k", [1, 2, EXPERTS])
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("f16", [False, True])
def test_moe(top_k: int, normalize: bool, f16: bool) -> None:
    check(
        lambda g, x: ops.moe(
            ops.mul(x(("batch", "tokens", HIDDEN)), g.scalar(0.1)), x(("batch", "tokens", EXPERTS)),
            g.weight("gate", (EXPERTS, INNER, HIDDEN)), g.weight("up", (EXPERTS, INNER, HIDDEN)),
            g.weight("down", (EXPERTS, HIDDEN, INNER)), top_k=top_k, normalize=normalize,
        ),
        f16=f16, tolerance=2e-5,
    )  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_the_engine_computes_the_chosen_experts_alone(dtype: type) -> None:
    graph = Graph("test")
    x = graph.input("x", "f32", ("batch", "tokens", HIDDEN))
    scores = ops.linear(x, graph.weight("router", (EXPERTS, HIDDEN)))
    shapes = {"gate": (EXPERTS, INNER, HIDDEN), "up": (EXPERTS, INNER, HIDDEN), "down": (EXPERTS, HIDDEN, INNER)}
    experts = [graph.weight(name, shape) for name, shape in shapes.items()]
    graph.output("y", ops.moe(x, scores, *experts, top_k=2, normalize=True))
    weights: dict[str, Array] = {
        p.name: array(p.name, [int(str(d)) for d in p.value.shape]).astype(dtype) for p in graph.weights
    }
    model, _constants = build_model(graph, weights)
    kinds = [str(node.get_rt_info()["layerType"].value) for node in compile_model(model).get_runtime_model().get_ops()]
    assert sum("GatherMatmul" in kind for kind in kinds) in (2, 3), kinds
    assert "Tile" not in kinds
