"""Cached attention in both forms of the cache gives what the reference lowering gives, over any schedule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tools.builder import ops
from tools.builder.graph import Graph
from tools.builder.lowering import reference
from tools.builder.lowering.tensorrt.emitter import Array
from tools.builder.lowering.tensorrt.engine import Engine, load
from tools.builder.lowering.tensorrt.lower import Options, build_plan
from tools.builder.lowering.tensorrt.ranges import Ranges, SizeError
from tools.builder.lowering.tensorrt.testing import DoubleExecution

F32 = Options("f32")
LENGTH = 24


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


def _inputs(rng: np.random.Generator, heads: int, kv_heads: int, tokens: int, mask: Array) -> dict[str, Array]:
    return {
        name: rng.standard_normal((2, heads if name == "q" else kv_heads, tokens, 16)).astype(np.float32)
        for name in "qkv"
    } | {"attention_mask": mask, "beam_idx": np.arange(2, dtype=np.int32)}


def _execution(graph: Graph, extended: bool = False, keys_multiple: int = 1, options: Options = F32) -> DoubleExecution:
    ranges = Ranges.of(graph, cache_length=LENGTH, tokens=(1, 3, LENGTH))
    return DoubleExecution(graph, {}, options, extended=extended, keys_multiple=keys_multiple, ranges=ranges)


@pytest.mark.parametrize("extended", [False, True])
@pytest.mark.parametrize(("keys_multiple", "padding"), [(1, 0), (8, 2)])
@pytest.mark.parametrize(("heads", "kv_heads"), [(4, 4), (4, 2), (4, 1)])
@pytest.mark.parametrize("chunks", [[6], [1, 1, 1], [3, 2, 1], [24]])
@pytest.mark.parametrize("options", [{}, {"window": 2}, {"window": 3, "softcap": 2.0}, {"window": 100}])
def test_any_schedule(
    extended: bool, keys_multiple: int, padding: int, heads: int, kv_heads: int, chunks: list[int], options: Any
) -> None:
    graph = _cached(heads, kv_heads, **options)
    engine, caches = _execution(graph, extended, keys_multiple), reference.Caches()
    rng = np.random.default_rng(heads + kv_heads)
    for _ in range(2):  # the second time after a reset, which must leave nothing behind
        total = 0
        for tokens in chunks:
            total += tokens
            mask = np.ones((2, total), np.int64)
            mask[0, :padding] = 0
            inputs = _inputs(rng, heads, kv_heads, tokens, mask)
            want = reference.run(graph, {}, inputs, caches)[0]["y"]
            got = engine.run(inputs)["y"]
            seen = slice(max(0, padding - (total - tokens)), None)  # queries that see no key have no meaning
            np.testing.assert_allclose(got[0, :, seen], want[0, :, seen], atol=3e-6)
            np.testing.assert_allclose(got[1], want[1], atol=3e-6)
            assert np.isfinite(got).all()
        engine.reset()
        caches.reset()


@pytest.mark.parametrize("extended", [False, True])
def test_a_key_hidden_amid_the_text_stays_hidden(extended: bool) -> None:
    graph = _cached(2, 1, window=4)
    engine, caches = _execution(graph, extended, 8), reference.Caches()
    rng = np.random.default_rng(7)
    for total in (5, 6, 7):
        mask = np.ones((2, total), np.int64)
        mask[:, 2] = 0
        mask[1, 4] = 0
        inputs = _inputs(rng, 2, 1, 5 if total == 5 else 1, mask)
        want = reference.run(graph, {}, inputs, caches)[0]["y"]
        np.testing.assert_allclose(engine.run(inputs)["y"], want, atol=3e-6)


@pytest.mark.parametrize("extended", [False, True])
def test_beam_idx_moves_rows_of_the_cache(extended: bool) -> None:
    graph = _cached(2, 2)
    engine, caches = _execution(graph, extended), reference.Caches()
    rng = np.random.default_rng(1)
    for total, beam in ((3, [0, 1]), (4, [1, 1]), (5, [1, 0])):
        inputs = _inputs(rng, 2, 2, 3 if total == 3 else 1, np.ones((2, total), np.int64))
        inputs["beam_idx"] = np.array(beam, np.int32)
        want = reference.run(graph, {}, inputs, caches)[0]["y"]
        np.testing.assert_allclose(engine.run(inputs)["y"], want, atol=3e-6)


def test_f16_keeps_the_softmax_in_f32() -> None:
    graph = _cached(4, 2)
    engine, caches = _execution(graph, options=Options("f16")), reference.Caches()
    inputs = _inputs(np.random.default_rng(2), 4, 2, 6, np.ones((2, 6), np.int64))
    want = reference.run(graph, {}, inputs, caches)[0]["y"]
    np.testing.assert_allclose(engine.run(inputs)["y"], want, atol=5e-3)


@pytest.mark.parametrize("extended", [False, True])
def test_refuses_more_tokens_than_the_cache_has_places(extended: bool) -> None:
    engine = _execution(_cached(2, 2), extended)
    rng = np.random.default_rng(3)
    engine.run(_inputs(rng, 2, 2, 20, np.ones((2, 20), np.int64)))
    with pytest.raises(
        SizeError, match=r"cache kv: 20 places in use and 5 new tokens are 25; this plan's caches have 24"
    ):
        engine.run(_inputs(rng, 2, 2, 5, np.ones((2, 25), np.int64)))


@pytest.mark.parametrize("precision", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("form", ["rows", "in_place"])
@pytest.mark.parametrize("options", [{}, {"window": 3}, {"softcap": 2.0}])
def test_tensorrt_builds_both_forms(precision: str, form: str, options: Any) -> None:
    graph = _cached(4, 2, **options)
    engine = load() if form == "in_place" else Engine(load().trt, features=frozenset())
    plan = build_plan(graph, {}, Options(precision, level=0), Ranges.of(graph, cache_length=LENGTH), engine)
    assert plan.description["caches"]["kv"]["form"] == form
    assert not [message for message in engine.messages if "nused" in message]  # every input counts
