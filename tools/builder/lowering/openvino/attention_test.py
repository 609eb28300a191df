"""Attention with masks, bias, grouped heads and a cache gives what the reference lowering gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tools.builder import ops
from tools.builder.graph import Graph
from tools.builder.lowering import reference
from tools.builder.lowering.openvino.execute import Execution
from tools.builder.lowering.openvino.testing import check

Array = npt.NDArray[Any]


@pytest.mark.parametrize(("heads", "kv_heads"), [(4, 4), (4, 2), (4, 1)])
@pytest.mark.parametrize("bias", [None, ("batch", 1, 1, "tokens"), (4, "tokens", "tokens")])
@pytest.mark.parametrize("scale", [0.35, 1.0])
def test_attention(heads: int, kv_heads: int, bias: Sequence[int | str] | None, scale: float) -> None:
    check(
        lambda g, x: ops.attention(
            x(("batch", heads, "tokens", 8)), x(("batch", kv_heads, "tokens", 8)), x(("batch", kv_heads, "tokens", 6)),
            scale=scale, bias=None if bias is None else x(bias),
        )
    )  # fmt: skip


@pytest.mark.parametrize("bias", [False, True])
def test_a_masked_key_has_no_influence(bias: bool) -> None:
    graph = Graph("test")
    q, k, v = (graph.input(name, "f32", ("batch", 2, "tokens", 8)) for name in "qkv")
    mask = graph.input("mask", "i64", ("batch", "tokens"))
    extra = graph.input("bias", "f32", (1, 1, "tokens")) if bias else None
    graph.output("y", ops.attention(q, k, v, scale=0.3, mask=mask, bias=extra))
    rng = np.random.default_rng(0)
    inputs: dict[str, Array] = {name: rng.standard_normal((2, 2, 5, 8)).astype(np.float32) for name in "qkv"}
    inputs["mask"] = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    if bias:
        inputs["bias"] = rng.standard_normal((1, 1, 5)).astype(np.float32)
    engine = Execution(graph, {})
    first = engine.run(inputs)["y"]
    np.testing.assert_allclose(first, reference.run(graph, {}, inputs)[0]["y"], atol=2e-6)
    inputs["k"][0, :, 3:] = 1e4
    inputs["v"][0, :, 3:] = -1e4
    np.testing.assert_array_equal(engine.run(inputs)["y"], first)


def test_a_query_that_sees_no_key_stays_finite() -> None:
    graph = Graph("test")
    q, k, v = (graph.input(name, "f32", ("batch", 2, "tokens", 8)) for name in "qkv")
    graph.output("y", ops.attention(q, k, v, scale=0.3, mask=graph.input("mask", "i64", ("batch", "tokens"))))
    inputs: dict[str, Array] = {name: np.ones((1, 2, 3, 8), np.float32) for name in "qkv"}
    inputs["mask"] = np.zeros((1, 3), np.int64)
    assert np.isfinite(Execution(graph, {}).run(inputs)["y"]).all()


@pytest.mark.parametrize("bias", [False, True])
def test_a_softcap_bounds_the_scores(bias: bool) -> None:
    check(
        lambda g, x: ops.attention(
            x(("batch", 4, "tokens", 8)), x(("batch", 2, "tokens", 8)), x(("batch", 2, "tokens", 6)),
            scale=3.0, softcap=2.0, bias=x((1, "tokens")) if bias else None,
        )
    )  # fmt: skip


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("heads", [1, 4])
@pytest.mark.parametrize("size", [8, 11])
def test_rope(batch: int, heads: int, size: int) -> None:
    table = np.linspace(-1, 1, 24, dtype=np.float32).reshape(6, 4)

    def record(g: Graph, x: Any) -> Any:
        cos, sin = g.constant("cos", table), g.constant("sin", table[::-1].copy())
        return ops.rope(x(("batch", heads, "tokens", size)), x(("batch", "tokens"), "i64"), (cos, sin))

    check(record, {"batch": batch, "tokens": 3})


def test_rope_takes_the_short_table_where_all_positions_lie_in_it() -> None:
    graph = Graph("test")
    x, positions = graph.input("x", "f32", ("batch", 1, "tokens", 4)), graph.input("p", "i64", ("batch", "tokens"))
    rng = np.random.default_rng(3)
    tables = [rng.standard_normal((rows, 2)).astype(np.float32) for rows in (9, 9, 4, 4)]
    graph.output("y", ops.rope(x, positions, [graph.constant(f"t{i}", table) for i, table in enumerate(tables)]))
    inputs: dict[str, Array] = {
        "x": rng.standard_normal((3, 1, 2, 4)).astype(np.float32),
        "p": np.array([[0, 3], [3, 4], [8, 0]]),
    }
    want = reference.run(graph, {}, inputs)[0]["y"]
    np.testing.assert_allclose(Execution(graph, graph.constants).run(inputs)["y"], want, atol=1e-6)


def _cached(heads: int, kv_heads: int, **options: Any) -> Graph:
    graph = Graph("decoder")
    q = graph.input("q", "f32", ("batch", heads, "tokens", 16))
    k, v = (graph.input(name, "f32", ("batch", kv_heads, "tokens", 16)) for name in "kv")
    mask = graph.input("attention_mask", "i64", ("batch", "past+tokens"))
    beam = graph.input("beam_idx", "i32", ("batch",))
    cache = graph.kv_cache(layers=2, heads=kv_heads, head_dim=16)
    first = ops.cached_attention(q, k, v, cache[0], attention_mask=mask, beam_idx=beam, scale=0.25, **options)
    graph.output("y", ops.cached_attention(first, k, v, cache[1], attention_mask=mask, beam_idx=beam, scale=0.25))
    return graph


@pytest.mark.parametrize(("heads", "kv_heads"), [(4, 4), (4, 2), (4, 1)])
@pytest.mark.parametrize("chunks", [[6], [1, 1, 1], [4, 1, 1], [3, 2, 1]])
@pytest.mark.parametrize("padding", [0, 2])
@pytest.mark.parametrize("options", [{}, {"window": 2}, {"window": 3, "softcap": 2.0}])
def test_cached_attention_over_any_schedule(
    heads: int, kv_heads: int, chunks: list[int], padding: int, options: dict[str, Any]
) -> None:
    graph = _cached(heads, kv_heads, **options)
    engine, caches = Execution(graph, {}), reference.Caches()
    rng = np.random.default_rng(heads + kv_heads)
    for _ in range(2):  # the second time after a reset, which must leave nothing behind
        total = 0
        for tokens in chunks:
            total += tokens
            mask = np.ones((2, total), np.int64)
            mask[0, :padding] = 0
            inputs: dict[str, Array] = {
                name: rng.standard_normal((2, heads if name == "q" else kv_heads, tokens, 16)).astype(np.float32)
                for name in "qkv"
            }
            inputs |= {"attention_mask": mask, "beam_idx": np.arange(2, dtype=np.int32)}
            want = reference.run(graph, {}, inputs, caches)[0]["y"]
            got = engine.run(inputs)["y"]
            seen = slice(max(0, padding - (total - tokens)), None)  # queries that see no key have no meaning
            np.testing.assert_allclose(got[0, :, seen], want[0, :, seen], atol=3e-6)
            np.testing.assert_allclose(got[1], want[1], atol=3e-6)
        engine.reset()
        caches.reset()


def test_beam_idx_moves_rows_of_the_cache() -> None:
    graph = _cached(2, 2)
    engine, caches = Execution(graph, {}), reference.Caches()
    rng = np.random.default_rng(1)
    for total, beam in ((3, [0, 1]), (4, [1, 1]), (5, [1, 0])):
        tokens = 3 if total == 3 else 1
        inputs: dict[str, Array] = {name: rng.standard_normal((2, 2, tokens, 16)).astype(np.float32) for name in "qkv"}
        inputs |= {"attention_mask": np.ones((2, total), np.int64), "beam_idx": np.array(beam, np.int32)}
        np.testing.assert_allclose(engine.run(inputs)["y"], reference.run(graph, {}, inputs, caches)[0]["y"], atol=3e-6)
