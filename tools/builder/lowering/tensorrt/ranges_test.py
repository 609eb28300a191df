"""Ranges have sensible defaults, are bounded by the model's context, and refuse sizes by name, limit and value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tools.builder import dims, ops
from tools.builder.graph import Graph
from tools.builder.lowering.openvino.testing import decoder
from tools.builder.lowering.tensorrt.ranges import Range, Ranges, SizeError, context


def _encoder(positions: int = 512, offset: bool = False) -> Graph:
    g = Graph("encoder")
    ids = g.input("input_ids", "i64", ("batch", "tokens"))
    places = ops.positions(ids)
    if offset:
        places = ops.add(places, g.constant("offset", np.array([2])))
    x = ops.embedding(ids, g.weight("words", (100, 8))) + ops.embedding(places, g.weight("places", (positions, 8)))
    g.output("y", x)
    return g


def test_defaults_end_at_the_context() -> None:
    assert Ranges.of(_encoder()).symbols == {"batch": Range(1, 1, 8), "tokens": Range(1, 128, 512)}
    assert Ranges.of(_encoder(64)).symbols["tokens"] == Range(1, 64, 64)
    assert Ranges.of(_encoder(9999)).symbols["tokens"] == Range(1, 128, 2048)


@pytest.mark.parametrize("offset", [False, True])
def test_the_context_is_the_table_of_positions(offset: bool) -> None:
    assert context(_encoder(512, offset)) == 512


def test_a_cached_decoder_ends_at_its_cache() -> None:
    ranges = Ranges.of(decoder())  # whose rope table has 64 rows
    assert ranges.cache_length == 64 and ranges.symbols["past"] == Range(0, 63, 63)
    assert ranges.of_dimension(dims.shape_of(["past+tokens"])[0]) == Range(1, 64, 64)
    assert Ranges.of(decoder(), cache_length=32).symbols["tokens"].most == 32


def test_survives_json() -> None:
    ranges = Ranges.of(decoder(), batch=(1, 2, 3))
    assert Ranges.from_json(ranges.to_json()) == ranges


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"tokens": (1, 128, 600)}, r"tokens reaches 600; the limit is 512 \(context\)"),
        ({"tokens": (4, 2, 8)}, "tokens is from 4 over 2 to 8; sizes must be positive and in order"),
        ({"batch": (0, 1, 8)}, "batch is from 0 over 1 to 8"),
        ({"frames": (1, 1, 1)}, "graph encoder has no dimension 'frames'; it has batch, tokens"),
        ({"cache_length": 9}, "cache_length is 9, but graph encoder has no cache"),
    ],
)
def test_refuses_ranges_that_are_none(given: dict[str, Any], reason: str) -> None:
    with pytest.raises(SizeError, match=reason):
        Ranges.of(_encoder(), **given)


def test_refuses_a_cache_beyond_the_context() -> None:
    with pytest.raises(SizeError, match="cache_length is 65; the model's context is 64 tokens"):
        Ranges.of(decoder(), cache_length=65)


def test_asks_for_the_range_of_an_unknown_dimension() -> None:
    g = Graph("g")
    g.output("y", ops.relu(g.input("x", "f32", ("frames",))))
    with pytest.raises(SizeError, match="dimension 'frames' of graph g has no default range; give least, usual, most"):
        Ranges.of(g)
    assert Ranges.of(g, frames=(1, 2, 3)).longest == 3


@pytest.mark.parametrize(
    ("sizes", "reason"),
    [
        ((1, 513), "ids: tokens is 513; this plan was built for 1 to 512"),
        ((9, 4), "ids: batch is 9; this plan was built for 1 to 8"),
        ((1, 0), "ids: tokens is 0;"),
        ((1,), "ids has 1 dimensions; it must have 2"),
    ],
)
def test_a_size_outside_is_named(sizes: tuple[int, ...], reason: str) -> None:
    ranges = Ranges.of(_encoder())
    ranges.check("ids", dims.shape_of(["batch", "tokens"]), (8, 512))
    with pytest.raises(SizeError, match=reason):
        ranges.check("ids", dims.shape_of(["batch", "tokens"]), sizes)
