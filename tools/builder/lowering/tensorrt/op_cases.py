"""Every op in the forms that a lowering must tell apart: recorded graphs for tests that compute and that build."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tools.builder import ops
from tools.builder.graph import Graph, Value
from tools.builder.lowering.tensorrt.emitter import Array

Declare = Callable[..., Value]
Case = Callable[[Graph, Declare], Value]
"""Records a graph with inputs that it makes by `declare(shape, dtype)`."""

SIZES = {"batch": 2, "tokens": 3}
TABLE = np.linspace(-1, 1, 24, dtype=np.float32).reshape(6, 4)
_BT = ("batch", "tokens")
_HEADS = ("batch", 4, "tokens", 8)


def _linear(shape: Sequence[Any], layout: str, bias: bool) -> Case:
    size = (5, 8) if layout == "out_in" else (8, 5)

    def record(g: Graph, x: Declare) -> Value:
        return ops.linear(x(shape), g.weight("w", size), g.weight("b", (5,)) if bias else None, weight_layout=layout)

    return record


def _norm(shape: Sequence[Any], kind: str) -> Case:
    def record(g: Graph, x: Declare) -> Value:
        if kind == "rms":
            return ops.rms_norm(x(shape), g.weight("w", (shape[-1],)), eps=1e-5)
        bias = g.weight("b", (shape[-1],)) if kind == "biased" else None
        return ops.layer_norm(x(shape), g.weight("w", (shape[-1],)), bias, eps=1e-5)

    return record


def _attention(kv_heads: int, **options: Any) -> Case:
    mask, bias, values = options.pop("mask", False), options.pop("bias", None), options.pop("values", 8)

    def record(g: Graph, x: Declare) -> Value:
        k, v = ("batch", kv_heads, "tokens", 8), ("batch", kv_heads, "tokens", values)
        return ops.attention(
            x(_HEADS), x(k), x(v), scale=0.35, mask=x(_BT, "i64") if mask else None,
            bias=x(bias) if bias else None, **options,
        )  # fmt: skip

    return record


def _rope(size: int, short: bool) -> Case:
    def record(g: Graph, x: Declare) -> Value:
        tables = [g.constant(f"t{i}", table) for i, table in enumerate((TABLE, -TABLE, TABLE[:4] * 2, TABLE[:4] - 1))]
        return ops.rope(x(("batch", 2, "tokens", size)), x(_BT, "i64"), tables[: 4 if short else 2])

    return record


def _moe(normalize: bool) -> Case:
    def record(g: Graph, x: Declare) -> Value:
        experts = [g.weight(name, (5, 16, 8)) for name in ("gate", "up")] + [g.weight("down", (5, 8, 16))]
        scores = x(("batch", "tokens", 5))
        return ops.moe(x(("batch", "tokens", 8)), scores, *experts, top_k=2, normalize=normalize)

    return record


_BROADCASTS = (((2, 3), (2, 3)), (("batch", "tokens", 4), (4,)), (("batch", 1), (1, "tokens")), ((1,), _BT))
_CASTS = (("f32", "i32"), ("f32", "i64"), ("i64", "f32"), ("i32", "i64"), ("i64", "i32"), ("f32", "f32"))

CASES: dict[str, Case] = {
    **{
        f"{op} {i}": lambda g, x, op=op, a=a, b=b: getattr(ops, op)(x(a), x(b))  # type: ignore[misc]
        for op in ("add", "sub", "mul", "div")
        for i, (a, b) in enumerate(_BROADCASTS)
    },
    "add scalar": lambda g, x: x(_BT) + 2.5,
    **{
        f"{op} {dtype}": lambda g, x, op=op, dtype=dtype: getattr(ops, op)(  # type: ignore[misc]
            x((2, "tokens"), dtype), x(("tokens",), dtype)
        )
        for op in ("add", "sub", "mul")
        for dtype in ("i32", "i64")
    },
    **{
        f"{op} {len(shape)}": lambda g, x, op=op, shape=shape: getattr(ops, op)(x(shape))  # type: ignore[misc]
        for op in ("relu", "tanh", "silu", "gelu")
        for shape in ((7,), ("batch", "tokens", 5))
    },
    "gelu tanh": lambda g, x: ops.gelu(x(("batch", "tokens", 16)), "tanh"),
    **{
        f"cast {dtype} {to}": lambda g, x, dtype=dtype, to=to: ops.cast(  # type: ignore[misc]
            ops.mul(x(("batch", 4), dtype), g.scalar(3.5) if dtype == "f32" else x((1,), dtype)), to
        )
        for dtype, to in _CASTS
    },
    **{
        f"embedding {dtype} {len(shape)}": lambda g, x, dtype=dtype, shape=shape: ops.embedding(  # type: ignore[misc]
            x(shape, dtype), g.weight("table", (5, 8))
        )
        for dtype in ("i32", "i64")
        for shape in (_BT, (4,))
    },
    **{
        f"linear {layout} {len(shape)} {'bias' if bias else ''}": _linear(shape, layout, bias)
        for layout in ("out_in", "in_out")
        for bias in (False, True)
        for shape in (("batch", "tokens", 8), (8,), ("tokens", 8), (2, 3, "tokens", 8))
    },
    "matmul": lambda g, x: ops.matmul(x(("batch", "tokens", 4)), x((4, 5))),
    "matmul transposed": lambda g, x: ops.matmul(x(("batch", 2, "tokens", 4)), x((2, "tokens", 4)), transpose_b=True),
    **{
        f"norm {kind} {len(shape)}": _norm(shape, kind)
        for kind in ("rms", "plain", "biased")
        for shape in ((8,), ("batch", "tokens", 8))
    },
    "softmax last": lambda g, x: ops.softmax(x(("batch", "tokens", 4)), -1),
    "softmax middle": lambda g, x: ops.softmax(x(("batch", 3, "tokens")), 1),
    "reshape split": lambda g, x: ops.reshape(x(("batch", "tokens", 8)), ("batch", "tokens", 2, 4)),
    "reshape join": lambda g, x: ops.reshape(x(("batch", 2, "tokens", 3)), ("batch", 2, "3*tokens")),
    "reshape ones": lambda g, x: ops.reshape(x(("batch", 4)), (1, "batch", 2, 2)),
    "permute": lambda g, x: ops.permute(x(("batch", 2, "tokens", 4)), (2, 0, 3, 1)),
    "slice": lambda g, x: ops.slice(x(("batch", 6, "tokens")), 1, 2, 5),
    "slice last": lambda g, x: ops.slice(x(("batch", "tokens", 6)), -1, 0, 1),
    "concat": lambda g, x: ops.concat([x(("batch", "tokens", 2)), x(("batch", "tokens", 3))], -1),
    "concat dynamic": lambda g, x: ops.concat([x(("batch", "tokens")), x(("batch", 2))], 1),
    "concat of two precisions": lambda g, x: ops.concat(
        [ops.relu(x(("tokens", 3))), ops.linear(x(("tokens", 8)), g.weight("w", (3, 8)))], 0
    ),
    "trailing": lambda g, x: ops.trailing(x(("batch", "tokens", 4)), g.input("count", "i64", (1,))),
    "positions": lambda g, x: ops.positions(x(("batch", "tokens", 4))),
    **{
        f"attention {kv} {name}": _attention(kv, **options)
        for kv in (4, 2, 1)
        for name, options in dict[str, dict[str, Any]]({
            "plain": {},
            "values of another size": {"values": 6},
            "mask": {"mask": True},
            "bias": {"bias": (4, "tokens", "tokens")},
            "bias of one row": {"bias": ("batch", 1, 1, "tokens")},
            "mask and bias": {"mask": True, "bias": (1, "tokens")},
            "softcap": {"softcap": 2.0},
            "softcap and bias": {"softcap": 2.0, "bias": (1, "tokens")},
        }).items()
    },
    **{f"rope {size}{' short' if short else ''}": _rope(size, short) for size in (8, 11) for short in (False, True)},
    "moe": _moe(False),
    "moe normalized": _moe(True),
}  # fmt: skip


def array(name: str, shape: Sequence[int], dtype: str = "f32") -> Array:
    """Values that depend on the name alone; integers are indices into 4 rows, of which row 0 may be hidden."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    if dtype == "f32":
        return rng.standard_normal(shape).astype(np.float32)
    return rng.integers(0, 4, shape).astype({"i64": np.int64, "i32": np.int32}[dtype])


def make(name: str, count: int = 0) -> tuple[Graph, dict[str, Array], dict[str, Array]]:
    """A case's graph, weights and inputs; `count` is that of `trailing`."""
    graph = Graph("case")
    inputs: dict[str, Array] = {}

    def declare(shape: Sequence[int | str], dtype: str = "f32") -> Value:
        key = f"x{len(inputs)}"
        inputs[key] = array(key, [SIZES[d] if isinstance(d, str) else d for d in shape], dtype)
        return graph.input(key, dtype, shape)

    graph.output("y", CASES[name](graph, declare))
    if any(port.name == "count" for port in graph.inputs):
        inputs["count"] = np.array([count])
    weights = {p.name: array(p.name, [d for d in p.value.shape if isinstance(d, int)]) for p in graph.weights}
    return graph, weights | graph.constants, inputs
