"""Compares this lowering with the reference, and a small decoder to lower as a whole."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tools.builder import ops
from tools.builder.graph import Graph, Value
from tools.builder.lowering import reference
from tools.builder.lowering.openvino.execute import Execution

Array = npt.NDArray[Any]
Record = Callable[[Graph, Callable[..., Value]], Value]
SIZES = {"batch": 2, "tokens": 3}


def array(name: str, shape: Sequence[int], dtype: str = "f32") -> Array:
    """Values that depend on the name alone."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    if dtype == "f32":
        return rng.standard_normal(shape).astype(np.float32)
    return rng.integers(0, 5, shape).astype({"i64": np.int64, "i32": np.int32}[dtype])


def check(record: Record, sizes: Mapping[str, int] = SIZES, *, f16: bool = False, tolerance: float = 2e-6) -> None:
    """Records a graph, runs it in both lowerings and compares. `record` makes inputs by calling its second argument."""
    graph = Graph("test")
    inputs: dict[str, Array] = {}

    def declare(shape: Sequence[int | str], dtype: str = "f32") -> Value:
        name = f"x{len(inputs)}"
        inputs[name] = array(name, [sizes[d] if isinstance(d, str) else d for d in shape], dtype)
        return graph.input(name, dtype, shape)

    result = record(graph, declare)
    graph.output("y", result)
    weights = {p.name: graph.constants.get(p.name, array(p.name, p.value.shape)) for p in graph.weights}  # type: ignore[arg-type]
    if f16:
        weights = {name: value.astype(np.float16) for name, value in weights.items()}
    want, _ = reference.run(graph, weights, inputs)
    got = Execution(graph, weights).run(inputs)["y"]
    assert got.dtype == want["y"].dtype and got.shape == want["y"].shape
    np.testing.assert_allclose(got, want["y"], rtol=tolerance, atol=tolerance)


def decoder(layers: int = 2) -> Graph:
    """A decoder of today's usual form: rotary positions, grouped-query attention, RMS norm, SwiGLU, tied embeddings."""
    hidden, heads, kv_heads, size, vocab, inner = 64, 4, 2, 16, 96, 128
    g = Graph("decoder")
    ids = g.input("input_ids", "i64", ("batch", "tokens"))
    mask = g.input("attention_mask", "i64", ("batch", "past+tokens"))
    positions = g.input("position_ids", "i64", ("batch", "tokens"))
    beam = g.input("beam_idx", "i32", ("batch",))
    keep = g.input("logits_to_keep", "i64", (1,))
    angles = np.arange(64)[:, None] / 100.0 ** (np.arange(size // 2) / (size // 2))
    table = (g.constant("cos", np.cos(angles).astype(np.float32)), g.constant("sin", np.sin(angles).astype(np.float32)))
    cache = g.kv_cache(layers=layers, heads=kv_heads, head_dim=size)
    embedding = g.weight("embed.weight", (vocab, hidden))

    def split(x: Value, name: str, count: int) -> Value:
        x = ops.linear(x, g.weight(f"{name}.weight", (count * size, hidden)))
        x = ops.permute(ops.reshape(x, ("batch", "tokens", count, size)), (0, 2, 1, 3))
        return (
            x
            if name.endswith("v")
            else ops.rope(ops.rms_norm(x, g.weight(f"{name}_norm.weight", (size,)), eps=1e-6), positions, table)
        )

    x = ops.embedding(ids, embedding)
    for i in range(layers):
        with g.scope(f"layers.{i}"):
            h = ops.rms_norm(x, g.weight(f"layers.{i}.norm1.weight", (hidden,)), eps=1e-6)
            q, k, v = (split(h, f"layers.{i}.{name}", heads if name == "q" else kv_heads) for name in "qkv")
            a = ops.cached_attention(q, k, v, cache[i], attention_mask=mask, beam_idx=beam, scale=size**-0.5)
            a = ops.reshape(ops.permute(a, (0, 2, 1, 3)), ("batch", "tokens", heads * size))
            x = x + ops.linear(a, g.weight(f"layers.{i}.o.weight", (hidden, heads * size)))
            h = ops.rms_norm(x, g.weight(f"layers.{i}.norm2.weight", (hidden,)), eps=1e-6)
            gate, up = (
                ops.linear(h, g.weight(f"layers.{i}.{name}.weight", (inner, hidden))) for name in ("gate", "up")
            )
            x = x + ops.linear(ops.silu(gate) * up, g.weight(f"layers.{i}.down.weight", (hidden, inner)))
    x = ops.rms_norm(ops.trailing(x, keep), g.weight("norm.weight", (hidden,)), eps=1e-6)
    g.output("logits", ops.linear(x, embedding))
    return g


def weights_of(graph: Graph, dtype: Any = np.float32) -> dict[str, Array]:
    """Values of a magnitude that keeps activations near 1; a graph's own constants stay f32."""
    found: dict[str, Array] = {}
    for port in graph.weights:
        shape = [d for d in port.value.shape if isinstance(d, int)]
        value = array(port.name, shape) * shape[-1] ** -0.5 if len(shape) > 1 else 1 + 0.1 * array(port.name, shape)
        found[port.name] = graph.constants.get(port.name, value.astype(dtype))
    return found


def step(ids: Array, past: int = 0, keep: int = 0) -> dict[str, Array]:
    """A decoder's inputs for `ids` i64 [batch, tokens] after `past` cached tokens."""
    batch, tokens = ids.shape
    return {
        "input_ids": ids,
        "attention_mask": np.ones((batch, past + tokens), np.int64),
        "position_ids": np.tile(np.arange(past, past + tokens), (batch, 1)),
        "beam_idx": np.arange(batch, dtype=np.int32),
        "logits_to_keep": np.array([keep]),
    }
