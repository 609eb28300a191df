"""Runs a graph op by op with torch, in f32 on the CPU: the oracle that every other lowering is held against.

    outputs, kept = run(graph, weights, {"input_ids": ids, ...}, caches=caches, keep={"v17"})

Each op is written as `docs/graph.md` states it, with no eye to speed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F

from tools.builder.graph import Graph, Node, Value

Array = npt.NDArray[Any]
Tensor = torch.Tensor

_TORCH = {
    "bool": torch.bool,
    "i8": torch.int8,
    "u8": torch.uint8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
}


class InputError(ValueError):
    """Inputs or weights that the graph does not declare so."""


@dataclass
class Caches:
    """The key/value state of one batch: keys and values f32 [batch, heads, past, head_dim] by cache and layer."""

    layers: dict[tuple[str, int], tuple[Tensor, Tensor]] = field(default_factory=dict)

    def reset(self) -> None:
        """Empties every cache."""
        self.layers.clear()


def run(
    graph: Graph,
    weights: Mapping[str, Array],
    inputs: Mapping[str, Array],
    caches: Caches | None = None,
    keep: Collection[str] = (),
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Computes the graph's outputs by name, and the values whose ids are in `keep`.

    `weights` gives every weight of the graph by name, in any float dtype (computed in f32), `constant.*` included;
    those that the graph itself still holds may be left out. `caches` carries the state from call to call; without it
    the caches start empty. Raises `InputError` naming the input, what the graph declares and what was given.
    """
    given = {**graph.constants, **weights}
    values: dict[str, Tensor] = {}
    sizes: dict[str, int] = {}
    _bind(graph, inputs, values, sizes)
    for port in graph.weights:
        if port.name not in given:
            raise InputError(f"weight {port.name} of graph {graph.name} is not given")
        values[port.value.id] = _weight(given[port.name], port.value, port.name)
    state = Caches() if caches is None else caches
    kept: dict[str, Tensor] = {}
    last_use = _last_use(graph)
    with torch.no_grad():
        for index, node in enumerate(graph.nodes):
            args = [None if value is None else values[value.id] for value in node.inputs]
            (out,) = node.outputs
            values[out.id] = _execute(node, args, state, sizes)
            if out.id in keep:
                kept[out.id] = values[out.id]
            for value in node.inputs:
                if value is not None and last_use.get(value.id) == index:
                    values.pop(value.id, None)
    outputs = {port.name: values[port.value.id].numpy() for port in graph.outputs}
    return outputs, {id: tensor.numpy() for id, tensor in kept.items()}


def _bind(graph: Graph, inputs: Mapping[str, Array], values: dict[str, Tensor], sizes: dict[str, int]) -> None:
    names = {port.name for port in graph.inputs}
    if set(inputs) != names:
        raise InputError(f"graph {graph.name} takes the inputs {sorted(names)}; given are {sorted(inputs)}")
    for port in graph.inputs:
        tensor = torch.from_numpy(np.ascontiguousarray(inputs[port.name]))
        want = _TORCH[port.value.dtype]
        shape = port.value.shape
        if tensor.dtype != want or tensor.dim() != len(shape):
            raise InputError(f"input {port.name} is {port.value.type}; given is {tensor.dtype} {list(tensor.shape)}")
        for declared, size in zip(shape, tensor.shape, strict=True):
            bound = sizes.setdefault(str(declared), size) if not isinstance(declared, int) else declared
            if bound != size:
                raise InputError(
                    f"input {port.name} is {port.value.type}; given is {list(tensor.shape)}, {declared} = {bound}"
                )
        values[port.value.id] = tensor


def _weight(array: Array, value: Value, name: str) -> Tensor:
    if tuple(array.shape) != value.shape:
        raise InputError(f"weight {name} is {value.type}; given is {list(array.shape)}")
    kind = np.float32 if value.dtype == "f32" else {"i32": np.int32, "i64": np.int64}[value.dtype]
    return torch.from_numpy(np.array(array).astype(kind))


def _last_use(graph: Graph) -> dict[str, int]:
    """The last node that reads each computed value; outputs are never dropped."""
    last = {value.id: i for i, node in enumerate(graph.nodes) for value in node.inputs if value is not None}
    for port in [*graph.outputs, *graph.inputs, *graph.weights]:
        last.pop(port.value.id, None)
    return last


def _execute(node: Node, args: list[Tensor | None], state: Caches, sizes: dict[str, int]) -> Tensor:
    if node.op == "cached_attention":
        return _cached_attention(node, args, state)
    if node.op == "reshape":
        return _reshape(node, args)
    result: Tensor = _OPS[node.op](*args, **node.attrs)
    return result


def _reshape(node: Node, args: list[Tensor | None]) -> Tensor:
    (x,), source = args, node.inputs[0]
    assert x is not None and source is not None
    target: list[int] = []
    for axis, dim in enumerate(node.outputs[0].shape):
        if isinstance(dim, int):
            target.append(dim)
        else:  # symbolic: as in the input at this axis, or the one that is inferred
            same = axis < len(source.shape) and source.shape[axis] == dim
            target.append(x.shape[axis] if same else -1)
    return x.reshape(target)


def _attend(
    q: Tensor, k: Tensor, v: Tensor, scale: float, seen: Tensor | None, bias: Tensor | None, softcap: float | None
) -> Tensor:
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = scale * (q @ k.transpose(-1, -2))
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    if bias is not None:
        scores = scores + bias
    if seen is not None:
        scores = scores.masked_fill(~seen, torch.finfo(torch.float32).min)
    return torch.softmax(scores, -1) @ v


def _attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    *,
    scale: float,
    softcap: float | None = None,
) -> Tensor:
    return _attend(q, k, v, scale, None if mask is None else (mask != 0)[:, None, None, :], bias, softcap)


def _cached_attention(node: Node, args: list[Tensor | None], state: Caches) -> Tensor:
    q, k, v, mask, beam_idx = args
    assert q is not None and k is not None and v is not None and mask is not None and beam_idx is not None
    key = (str(node.attrs["cache"]), int(node.attrs["layer"]))
    if key in state.layers:
        past_k, past_v = (past[beam_idx.long()] for past in state.layers[key])
        k, v = torch.cat([past_k, k], 2), torch.cat([past_v, v], 2)
    state.layers[key] = (k, v)
    tokens, total = q.shape[2], k.shape[2]
    if mask.shape[1] != total:
        raise InputError(f"attention_mask covers {mask.shape[1]} positions; the cache and the new tokens are {total}")
    keys, queries = torch.arange(total)[None, :], torch.arange(total - tokens, total)[:, None]
    near = (keys <= queries) & (keys > queries - node.attrs.get("window", total))
    seen = near[None, None] & (mask != 0)[:, None, None, :]
    return _attend(q, k, v, float(node.attrs["scale"]), seen, None, node.attrs.get("softcap"))


def _rope(
    x: Tensor,
    position_ids: Tensor,
    cos: Tensor,
    sin: Tensor,
    short_cos: Tensor | None = None,
    short_sin: Tensor | None = None,
) -> Tensor:
    c, s = cos[position_ids], sin[position_ids]
    if short_cos is not None and short_sin is not None:
        limit = short_cos.shape[0]
        short, inside = position_ids.amax(1)[:, None, None] < limit, position_ids.clamp(max=limit - 1)
        c, s = torch.where(short, short_cos[inside], c), torch.where(short, short_sin[inside], s)
    c, s = c[:, None], s[:, None]
    rotary = 2 * cos.shape[1]
    x1, x2 = x[..., :rotary].chunk(2, -1)
    return torch.cat([x1 * c - x2 * s, x2 * c + x1 * s, x[..., rotary:]], -1)


def _trailing(x: Tensor, count: Tensor, *, dim: str) -> Tensor:
    kept = int(count.item())
    return x if kept == 0 else x[:, -min(kept, x.shape[1]) :]


def _linear(x: Tensor, weight: Tensor, bias: Tensor | None, *, weight_layout: str) -> Tensor:
    return F.linear(x, weight if weight_layout == "out_in" else weight.T, bias)


def _rms_norm(x: Tensor, weight: Tensor, *, eps: float) -> Tensor:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight


def _layer_norm(x: Tensor, weight: Tensor, bias: Tensor | None, *, eps: float) -> Tensor:
    return F.layer_norm(x, (x.shape[-1],), weight, bias, eps)


def _moe(x: Tensor, scores: Tensor, gate: Tensor, up: Tensor, down: Tensor, *, top_k: int, normalize: bool) -> Tensor:
    share, chosen = torch.softmax(scores, -1).topk(top_k, -1)
    if normalize:
        share = share / share.sum(-1, keepdim=True)
    y = torch.zeros_like(x)
    for expert in range(gate.shape[0]):
        row, token, place = torch.where(chosen == expert)
        h = x[row, token]
        h = F.linear(F.silu(F.linear(h, gate[expert])) * F.linear(h, up[expert]), down[expert])
        y.index_put_((row, token), h * share[row, token, place, None], accumulate=True)
    return y


def _gelu(x: Tensor, *, approximate: str) -> Tensor:
    if approximate == "tanh":
        return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x.pow(3))))
    return F.gelu(x)


def _slice(x: Tensor, *, axis: int, start: int, stop: int) -> Tensor:
    return x.narrow(axis, start, stop - start)


_OPS: Mapping[str, Callable[..., Any]] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "gelu": _gelu,
    "silu": F.silu,
    "relu": F.relu,
    "tanh": torch.tanh,
    "softmax": lambda x, *, axis: torch.softmax(x, axis),
    "cast": lambda x, *, to: x.to(_TORCH[to]),
    "embedding": lambda ids, weight: weight[ids.long()],
    "linear": _linear,
    "matmul": lambda a, b, *, transpose_b: a @ (b.transpose(-1, -2) if transpose_b else b),
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "permute": lambda x, *, axes: x.permute(axes),
    "slice": _slice,
    "concat": lambda *xs, axis: torch.cat(xs, axis),
    "trailing": _trailing,
    "positions": lambda x: torch.arange(x.shape[1]),
    "moe": _moe,
    "rope": _rope,
    "attention": _attention,
}
