from typing import Any

import numpy as np
import pytest

from tools.builder import ops
from tools.builder.graph import Graph, GraphError
from tools.builder.lowering.reference import run

RANDOM = np.random.Generator(np.random.Philox(2))
SHAPES = {"x": (2, 3, 6), "scores": (2, 3, 5), "gate": (5, 4, 6), "up": (5, 4, 6), "down": (5, 6, 4)}


def record(top_k: int = 2, normalize: bool = False, **shapes: Any) -> Graph:
    g = Graph("g")
    all_shapes = {**SHAPES, **shapes}
    values = [g.input(n, "f32", all_shapes[n]) if n in ("x", "scores") else g.weight(n, all_shapes[n]) for n in SHAPES]
    g.output("y", ops.moe(*values, top_k=top_k, normalize=normalize))
    return Graph.from_json(g.to_json())


@pytest.mark.parametrize("top_k", [1, 2, 5])
@pytest.mark.parametrize("normalize", [False, True])
def test_EachTokenIsTheWeightedSumOfItsLikeliestExperts(top_k: int, normalize: bool) -> None:
    a = {name: RANDOM.standard_normal(shape).astype(np.float32) for name, shape in SHAPES.items()}
    weights = {name: a[name] for name in ("gate", "up", "down")}
    y = run(record(top_k, normalize), weights, {"x": a["x"], "scores": a["scores"]})[0]["y"]
    for b, t in np.ndindex(2, 3):
        p = np.exp(a["scores"][b, t].astype(np.float64))
        p /= p.sum()
        chosen = sorted(range(5), key=lambda e: -p[e])[:top_k]
        total = sum(p[e] for e in chosen) if normalize else 1.0
        want = np.zeros(6)
        for e in chosen:
            gated = a["gate"][e] @ a["x"][b, t]
            inner = gated / (1 + np.exp(-gated)) * (a["up"][e] @ a["x"][b, t])
            want += p[e] / total * (a["down"][e] @ inner)
        np.testing.assert_allclose(y[b, t], want, atol=1e-5)


@pytest.mark.parametrize(
    "wrong, reason",
    [
        ({"top_k": 0}, "top_k is 0; it must be 1 to 5"),
        ({"top_k": 6}, "top_k is 6"),
        ({"up": (5, 3, 6)}, "differ"),
        ({"down": (5, 4, 6)}, r"down is \[5,4,6\]; it must be \[5,6,4\]"),
        ({"scores": (2, 3, 4)}, "scores are of 4 experts and there are 5"),
        ({"scores": (2, 2, 5)}, "differ before the last axis"),
        ({"x": (2, 3, 7)}, "x has 7 numbers for each token and the experts take 6"),
        ({"gate": (5, 4)}, "gate has 2 dimensions"),
    ],
)
def test_RefusesWhatDoesNotFit(wrong: dict[str, Any], reason: str) -> None:
    with pytest.raises(GraphError, match=reason):
        record(**wrong)
