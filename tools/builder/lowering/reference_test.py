from typing import Any

import numpy as np
import pytest

from tools.builder import ops
from tools.builder.graph import Graph
from tools.builder.lowering.reference import Caches, InputError, run
from tools.builder.op_rules import OPS


def small() -> Graph:
    g = Graph("g")
    x = g.input("x", "f32", ("batch", "tokens"))
    y = x * g.weight("w", (1,))
    g.output("y", ops.relu(y) + g.input("z", "f32", ("batch", "tokens")))
    return g


X: Any = np.array([[1.0, -2.0]], np.float32)
W: Any = {"w": np.array([3.0], np.float16)}


def test_ComputesInF32WhateverTheWeightsAreStoredIn() -> None:
    y = run(small(), W, {"x": X, "z": X})[0]["y"]
    assert y.dtype == np.float32
    np.testing.assert_array_equal(y, [[4, -2]])


def test_KeepsTheValuesThatAreAskedFor() -> None:
    g = small()
    product, relu = g.nodes[0].outputs[0].id, g.nodes[1].outputs[0].id
    outputs, kept = run(g, W, {"x": X, "z": X}, keep={product, relu})
    np.testing.assert_array_equal(kept[product], [[3, -6]])
    np.testing.assert_array_equal(kept[relu], [[3, 0]])
    assert set(outputs) == {"y"} and set(kept) == {product, relu}


@pytest.mark.parametrize(
    "inputs, reason",
    [
        ({"x": X}, r"takes the inputs \['x', 'z'\]; given are \['x'\]"),
        ({"x": X, "z": X, "q": X}, "given are"),
        ({"x": X.astype(np.float64), "z": X}, r"input x is f32\[batch,tokens\]; given is torch.float64"),
        ({"x": X[0], "z": X}, r"input x is f32\[batch,tokens\]; given is torch.float32 \[2\]"),
        ({"x": X, "z": X[:, :1]}, r"input z is .*given is \[1, 1\], tokens = 2"),
    ],
)
def test_RefusesInputsThatTheGraphDoesNotDeclare(inputs: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        run(small(), W, inputs)


def test_RefusesMissingAndMisshapenWeights() -> None:
    with pytest.raises(InputError, match="weight w of graph g is not given"):
        run(small(), {}, {"x": X, "z": X})
    with pytest.raises(InputError, match=r"weight w is f32\[1\]; given is \[2\]"):
        run(small(), {"w": np.zeros(2)}, {"x": X, "z": X})


def attention() -> Graph:
    g = Graph("g")
    q = g.input("q", "f32", ("batch", 1, "tokens", 2))
    mask, beam_idx = g.input("mask", "i64", ("batch", "past+tokens")), g.input("beam_idx", "i32", ("batch",))
    cache = g.kv_cache(layers=1, heads=1, head_dim=2)
    g.output("y", ops.cached_attention(q, q, q, cache[0], attention_mask=mask, beam_idx=beam_idx, scale=1.0))
    return g


def step(caches: Caches | None, mask: int) -> Any:
    q: Any = np.ones((1, 1, 1, 2), np.float32)
    inputs = {"q": q, "mask": np.ones((1, mask), np.int64), "beam_idx": np.zeros(1, np.int32)}
    return run(attention(), {}, inputs, caches)[0]["y"]


def test_ACacheGrowsUntilItIsReset() -> None:
    caches = Caches()
    step(caches, 1)
    step(caches, 2)
    with pytest.raises(InputError, match="attention_mask covers 2 positions; the cache and the new tokens are 3"):
        step(caches, 2)
    caches.reset()
    step(caches, 1)
    step(None, 1)


def test_EveryOpHasALowering() -> None:
    from tools.builder.lowering import reference

    assert set(OPS) - set(reference._OPS) == {"cached_attention", "reshape"}
