import math
from typing import Any

import numpy as np
import pytest

from tools.builder import ops
from tools.builder.graph import Graph, GraphError
from tools.builder.lowering.reference import Caches, run

RANDOM = np.random.Generator(np.random.Philox(1))


def noise(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attend(q: Any, k: Any, v: Any, scale: float, seen: Any = None, bias: Any = 0.0, cap: float = math.inf) -> Any:
    """Attention, written once more: one query and one head at a time."""
    out = np.zeros((*q.shape[:3], v.shape[3]))
    for b, h, t in np.ndindex(*q.shape[:3]):
        head = h // (q.shape[1] // k.shape[1])
        keys = np.arange(k.shape[2]) if seen is None else np.flatnonzero(seen[b, t])
        if len(keys):
            scores = scale * k[b, head, keys].astype(np.float64) @ q[b, h, t]
            scores = scores if cap == math.inf else cap * np.tanh(scores / cap)
            scores += np.broadcast_to(bias, (*q.shape[:3], k.shape[2]))[b, h, t, keys]
            out[b, h, t] = softmax(scores) @ v[b, head, keys]
    return out


def test_AttentionWithGroupsMaskAndBias() -> None:
    q, k, v = noise(2, 4, 3, 8), noise(2, 2, 5, 8), noise(2, 2, 5, 6)
    mask, bias = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int64), noise(4, 3, 5)
    g = Graph("g")
    values = [g.input("q", "f32", q.shape), g.input("k", "f32", k.shape), g.input("v", "f32", v.shape)]
    m, b = g.input("m", "i64", mask.shape), g.input("b", "f32", bias.shape)
    g.output("plain", ops.attention(*values, scale=0.3))
    g.output("masked", ops.attention(*values, scale=0.3, mask=m, bias=b))
    y = run(Graph.from_json(g.to_json()), {}, {"q": q, "k": k, "v": v, "m": mask, "b": bias})[0]
    np.testing.assert_allclose(y["plain"], attend(q, k, v, 0.3), atol=1e-5)
    seen = np.repeat(mask[:, None] != 0, 3, 1)
    np.testing.assert_allclose(y["masked"], attend(q, k, v, 0.3, seen, bias), atol=1e-5)


def test_AQueryThatSeesNothingIsFinite() -> None:
    g = Graph("g")
    q = g.input("q", "f32", (1, 1, 1, 2))
    g.output("y", ops.attention(q, q, q, scale=1.0, mask=g.input("m", "i64", (1, 1))))
    y = run(g, {}, {"q": noise(1, 1, 1, 2), "m": np.zeros((1, 1), np.int64)})[0]["y"]
    assert np.isfinite(y).all()


def test_ASoftcapBoundsTheScoresBeforeTheBias() -> None:
    q, k, bias = noise(2, 4, 3, 8), noise(2, 2, 5, 8), noise(3, 5)
    g = Graph("g")
    values = [g.input("q", "f32", q.shape), g.input("k", "f32", k.shape)]
    y = ops.attention(values[0], values[1], values[1], scale=2.0, bias=g.input("b", "f32", bias.shape), softcap=1.5)
    g.output("y", y)
    got = run(Graph.from_json(g.to_json()), {}, {"q": q, "k": k, "b": bias})[0]["y"]
    np.testing.assert_allclose(got, attend(q, k, k, 2.0, bias=bias, cap=1.5), atol=1e-5)
    with pytest.raises(GraphError, match="softcap is 0; it must be positive"):
        ops.attention(values[0], values[1], values[1], scale=2.0, softcap=0)


def cached(**options: Any) -> Graph:
    g = Graph("g")
    q = g.input("q", "f32", ("batch", 4, "tokens", 8))
    k, v = (g.input(name, "f32", ("batch", 2, "tokens", 8)) for name in "kv")
    mask, beam_idx = g.input("mask", "i64", ("batch", "past+tokens")), g.input("beam_idx", "i32", ("batch",))
    cache = g.kv_cache(layers=2, heads=2, head_dim=8)
    g.output("y", ops.cached_attention(q, k, v, cache[1], attention_mask=mask, beam_idx=beam_idx, scale=0.3, **options))
    return Graph.from_json(g.to_json())


@pytest.mark.parametrize("window", [None, 1, 3, 100])
@pytest.mark.parametrize("softcap", [None, 0.5])
def test_CachedAttentionIsCausalOverPastAndNewTokens(window: int | None, softcap: float | None) -> None:
    q, k, v = noise(2, 4, 7, 8), noise(2, 2, 7, 8), noise(2, 2, 7, 8)
    mask = np.ones((2, 7), np.int64)
    mask[0, :2] = 0
    distance = np.arange(7)[:, None] - np.arange(7)[None, :]
    seen = ((distance >= 0) & (distance < (window or 7)))[None] & (mask[:, None] != 0)
    want = attend(q, k, v, 0.3, seen, cap=softcap or math.inf)
    graph = cached(window=window, softcap=softcap)
    for cuts in ([7], [4, 7], [1, 2, 3, 4, 5, 6, 7]):
        caches, start = Caches(), 0
        for stop in cuts:
            inputs = {n: a[:, :, start:stop] for n, a in (("q", q), ("k", k), ("v", v))}
            inputs |= {"mask": mask[:, :stop], "beam_idx": np.arange(2, dtype=np.int32)}
            y = run(graph, {}, inputs, caches)[0]["y"]
            for row, first in ((0, max(0, 2 - start)), (1, 0)):
                np.testing.assert_allclose(y[row, :, first:], want[row, :, start + first : stop], atol=1e-5)
            start = stop


def test_BeamIdxMovesRowsOfTheCache() -> None:
    q, k, v = noise(2, 4, 3, 8), noise(2, 2, 3, 8), noise(2, 2, 3, 8)
    caches = Caches()
    start = {"q": q[:, :, :2], "k": k[:, :, :2], "v": v[:, :, :2], "mask": np.ones((2, 2), np.int64)}
    run(cached(), {}, {**start, "beam_idx": np.arange(2, dtype=np.int32)}, caches)
    rows = np.array([1, 1], np.int32)
    last = {"q": q[:, :, 2:], "k": k[:, :, 2:], "v": v[:, :, 2:], "mask": np.ones((2, 3), np.int64), "beam_idx": rows}
    y = run(cached(), {}, last, caches)[0]["y"]
    keys, values = (np.concatenate([a[rows, :, :2], a[:, :, 2:]], 2) for a in (k, v))
    np.testing.assert_allclose(y, attend(q[:, :, 2:], keys, values, 0.3), atol=1e-5)


def test_RopeTurnsHalvesTogether() -> None:
    x, positions = noise(2, 3, 4, 6), np.array([[0, 1, 2, 3], [5, 0, 0, 1]], np.int64)
    angles = np.arange(6)[:, None] * np.array([1.0, 0.5, 0.25])
    cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    g = Graph("g")
    table = (g.weight("cos", cos.shape), g.weight("sin", sin.shape))
    g.output("y", ops.rope(g.input("x", "f32", x.shape), g.input("p", "i64", positions.shape), table))
    y = run(Graph.from_json(g.to_json()), {"cos": cos, "sin": sin}, {"x": x, "p": positions})[0]["y"]
    turned = (x[..., :3] + 1j * x[..., 3:]) * np.exp(1j * angles)[positions][:, None]
    np.testing.assert_allclose(y, np.concatenate([turned.real, turned.imag], -1), atol=1e-6)


def test_RopeLeavesWhatTheTableDoesNotReach() -> None:
    x, positions = noise(1, 2, 3, 7), np.array([[0, 1, 2]], np.int64)
    cos, sin = noise(3, 2), noise(3, 2)
    g = Graph("g")
    table = (g.weight("cos", cos.shape), g.weight("sin", sin.shape))
    g.output("y", ops.rope(g.input("x", "f32", x.shape), g.input("p", "i64", positions.shape), table))
    y = run(g, {"cos": cos, "sin": sin}, {"x": x, "p": positions})[0]["y"]
    np.testing.assert_allclose(y[..., :2], x[..., :2] * cos - x[..., 2:4] * sin, atol=1e-6)
    np.testing.assert_allclose(y[..., 2:4], x[..., 2:4] * cos + x[..., :2] * sin, atol=1e-6)
    np.testing.assert_array_equal(y[..., 4:], x[..., 4:])


def test_RowsWithinTheShortTableTakeIt() -> None:
    x = np.ones((2, 1, 2, 2), np.float32)
    tables = {"cos": np.ones((9, 1)), "sin": np.zeros((9, 1)), "s_cos": np.zeros((4, 1)), "s_sin": np.ones((4, 1))}
    g = Graph("g")
    values = [g.weight(name, array.shape) for name, array in tables.items()]
    g.output("y", ops.rope(g.input("x", "f32", x.shape), g.input("p", "i64", (2, 2)), values))
    positions = np.array([[3, 4], [2, 3]], np.int64)  # the first row is a long text: all of it
    weights = {name: array.astype(np.float32) for name, array in tables.items()}
    y = run(Graph.from_json(g.to_json()), weights, {"x": x, "p": positions})[0]["y"]
    np.testing.assert_array_equal(y[:, 0], [[[1, 1], [1, 1]], [[-1, 1], [-1, 1]]])


@pytest.mark.parametrize(
    "q, k, v, reason",
    [
        ((2, 4, 3, 8), (2, 3, 5, 8), (2, 3, 5, 8), "4 query heads are not a multiple of 3 key heads"),
        ((2, 4, 3, 8), (2, 2, 5, 6), (2, 2, 5, 6), "q has heads of 8 and k of 6"),
        ((2, 4, 3, 8), (2, 2, 5, 8), (2, 2, 4, 8), "differ before the last axis"),
        ((1, 4, 3, 8), (2, 2, 5, 8), (2, 2, 5, 8), "q has the batch 1 and k 2"),
        ((4, 3, 8), (2, 2, 5, 8), (2, 2, 5, 8), "q has 3 dimensions; it must have 4"),
    ],
)
def test_RefusesHeadsThatDoNotMatch(q: Any, k: Any, v: Any, reason: str) -> None:
    g = Graph("g")
    with pytest.raises(GraphError, match=reason):
        ops.attention(g.input("q", "f32", q), g.input("k", "f32", k), g.input("v", "f32", v), scale=1.0)


def test_AttentionRefusesAMaskOrBiasOfAnotherShape() -> None:
    g = Graph("g")
    q, k = g.input("q", "f32", (2, 4, 3, 8)), g.input("k", "f32", (2, 2, 5, 8))
    with pytest.raises(GraphError, match=r"mask is i64\[2,3\]; it must be i64\[2,5\]"):
        ops.attention(q, k, k, scale=1.0, mask=g.input("m", "i64", (2, 3)))
    with pytest.raises(GraphError, match="do not broadcast"):
        ops.attention(q, k, k, scale=1.0, bias=g.input("b", "f32", (3, 3)))
    with pytest.raises(GraphError, match="does not broadcast to"):
        ops.attention(q, k, k, scale=1.0, bias=g.input("c", "f32", (1, 1, 1, 1, 1)))


def test_CachedAttentionChecksItsCacheAndInputs() -> None:
    g = Graph("g")
    q, k = g.input("q", "f32", ("batch", 4, "tokens", 8)), g.input("k", "f32", ("batch", 2, "tokens", 8))
    mask, beam_idx = g.input("mask", "i64", ("batch", "past+tokens")), g.input("beam_idx", "i32", ("batch",))
    wrong, right = g.kv_cache(layers=1, heads=4, head_dim=8, name="wrong"), g.kv_cache(layers=1, heads=2, head_dim=8)
    with pytest.raises(GraphError, match="cache wrong holds 4 heads of 8"):
        ops.cached_attention(q, k, k, wrong[0], attention_mask=mask, beam_idx=beam_idx, scale=1.0)
    with pytest.raises(GraphError, match=r"attention_mask is i32\[batch\]; it must be i64\[batch,past\+tokens\]"):
        ops.cached_attention(q, k, k, right[0], attention_mask=beam_idx, beam_idx=beam_idx, scale=1.0)
    with pytest.raises(GraphError, match="window is 0; it must be positive"):
        ops.cached_attention(q, k, k, right[0], attention_mask=mask, beam_idx=beam_idx, scale=1.0, window=0)
    with pytest.raises(GraphError, match="beam_idx is i64"):
        ops.cached_attention(q, k, k, right[0], attention_mask=mask, beam_idx=mask, scale=1.0)


def test_RopeChecksTableAndPositions() -> None:
    g = Graph("g")
    x, p = g.input("x", "f32", ("batch", 2, "tokens", 6)), g.input("p", "i64", ("batch", "tokens"))
    good, small = g.weight("good", (9, 3)), g.weight("small", (9, 2))
    wide = g.weight("wide", (9, 4))
    with pytest.raises(GraphError, match="the table rotates 2·4 dimensions and a head has 6"):
        ops.rope(x, p, (wide, wide))
    with pytest.raises(GraphError, match="rotate differently much"):
        ops.rope(x, p, (good, good, small, small))
    with pytest.raises(GraphError, match="they are alike"):
        ops.rope(x, p, (good, good, good, small))
    with pytest.raises(GraphError, match=r"cos \[9,3\] and sin \[9,2\] differ"):
        ops.rope(x, p, (good, small))
    with pytest.raises(GraphError, match=r"it must be i64\[batch,tokens\]"):
        ops.rope(x, g.input("q", "i64", ("tokens",)), (good, good))
