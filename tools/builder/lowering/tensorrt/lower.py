"""Graph to TensorRT: `build_network` for the network, `build_plan` for a plan and its description.

    plan = build_plan(graph, weights, precision="f16")
    plan.data                    # bytes for the engine
    plan.description             # what its inputs and outputs are; JSON
    plan.build_key               # digest of all that the plan was made from

Runs on Python 3.10 with NumPy alone, so that a machine with a GPU and an old TensorRT can build too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tools.builder import dims
from tools.builder.graph import Graph
from tools.builder.lowering.tensorrt import (
    attention,  # noqa: F401  (registers its ops)
    moe,  # noqa: F401  (registers its ops)
)
from tools.builder.lowering.tensorrt.emitter import Array, Emitter, LoweringError, Tensor
from tools.builder.lowering.tensorrt.engine import Engine, EngineError, load
from tools.builder.lowering.tensorrt.interface import Interface
from tools.builder.lowering.tensorrt.ops import LOWERINGS, source
from tools.builder.lowering.tensorrt.ranges import Ranges

CURRENT = "CURRENT"
"""The target that is the machine's own GPU."""


@dataclass(frozen=True)
class Options:
    """What a plan is built for.

    `precision` of matrix products: f32, f16 or bf16. `weights`: "constants" of the plan, or "inputs" that are bound by
    address. `targets`: compute capabilities such as "SM89" (TensorRT-RTX), or (CURRENT,); None takes all that the
    engine can build for, with a GPU or without. `level`: the builder's optimization level, 0 to 5; None is the engine's
    own.
    """

    precision: str = "f16"
    weights: str = "constants"
    targets: Sequence[str] | None = None
    level: int | None = None

    def __post_init__(self) -> None:
        for name, value, known in (
            ("precision", self.precision, ("f32", "f16", "bf16")),
            ("weights", self.weights, ("constants", "inputs")),
        ):
            if value not in known:
                raise LoweringError(f"{name} is {value!r}; it must be one of {', '.join(known)}")


@dataclass(frozen=True)
class Network:
    """A TensorRT network before it is built; `emitter` holds the memory of its constants."""

    builder: Any
    network: Any
    interface: Interface
    emitter: Emitter = field(repr=False)


@dataclass(frozen=True)
class Plan:
    """A built plan. `data` varies by a few bytes from build to build; `build_key` does not."""

    data: bytes
    description: Mapping[str, Any]
    build_key: str


def build_network(
    graph: Graph, weights: Mapping[str, Array], engine: Engine, ranges: Ranges, options: Options
) -> Network:
    """The graph as a network. `weights` gives each weight by name, in any NumPy float dtype.

    Raises LoweringError for an op that has no lowering, a missing weight, or a layer that the engine refuses.
    """
    trt = engine.trt
    try:
        builder = trt.Builder(engine.logger())
    except TypeError:  # what the bindings make of none; the logger knows why
        raise EngineError(
            f"{engine.name} {engine.version} cannot build on this machine: {'; '.join(engine.messages[-2:])}"
        ) from None
    creation = trt.NetworkDefinitionCreationFlag
    flags = [getattr(creation, name) for name in ("STRONGLY_TYPED", "EXPLICIT_BATCH") if hasattr(creation, name)]
    network = builder.create_network(1 << int(flags[0]) if flags else 0)
    emitter = Emitter(engine, network, options.precision, ranges.longest)
    given = {**graph.constants, **weights}
    if lost := sorted(port.name for port in graph.weights if port.name not in given):
        raise LoweringError(f"graph {graph.name}: weights are not given: {', '.join(lost[:5])}")
    emitter.io = interface = Interface(emitter, graph, given, ranges, options.weights == "inputs")
    values: dict[str, Tensor] = {}
    for node in graph.nodes:
        if node.op not in LOWERINGS:
            raise LoweringError(f"graph {graph.name}: op {node.op!r} (scope {node.scope!r}) has no TensorRT lowering")
        inputs = [
            None
            if value is None or (node.op == "cached_attention" and index == 4)  # rows are reordered outside the plan
            else values[value.id]
            if value.id in values
            else interface.value(value.id)
            for index, value in enumerate(node.inputs)
        ]
        emitter.start(node)
        values[node.outputs[0].id] = LOWERINGS[node.op](emitter, node, *inputs)
    for port in graph.outputs:
        found = values[port.value.id] if port.value.id in values else interface.value(port.value.id)
        interface.result(port.name, found, port.value.dtype, port.value.shape)
    interface.place()
    return Network(builder, network, interface, emitter)


def build_plan(
    graph: Graph,
    weights: Mapping[str, Array],
    options: Options | None = None,
    ranges: Ranges | None = None,
    engine: Engine | None = None,
) -> Plan:
    """Builds a plan with the TensorRT that can be imported, for the default ranges where none are given.

    Raises LoweringError, SizeError, RangeError, or EngineError with the engine's own words where it fails.
    """
    options, ranges, engine = options or Options(), ranges or Ranges.of(graph), engine or load()
    engine.messages.clear()
    made = build_network(graph, weights, engine, ranges, options)
    targets = _targets(engine, options)
    config = _config(engine, made.builder, options, targets)
    config.add_optimization_profile(_profile(made, ranges))
    data = made.builder.build_serialized_network(made.network, config)
    if data is None:
        raise EngineError(
            f"{engine.name} {engine.version} cannot build {graph.name}: {'; '.join(engine.messages[-3:])}"
        )
    description = describe(graph, made, ranges, options, engine)
    return Plan(bytes(data), description, build_key(graph, weights, options, ranges, engine))


def build_key(graph: Graph, weights: Mapping[str, Array], options: Options, ranges: Ranges, engine: Engine) -> str:
    """sha256 over all that decides a plan: graph, weights, engine, precision, ranges and targets.

    Weights that are inputs decide nothing of it but their shapes, which the graph states.
    """
    given = {**graph.constants, **weights}
    digest = hashlib.sha256()
    for port in sorted(graph.weights, key=lambda port: port.name):
        array = given[port.name]
        if options.weights == "constants" or array.ndim < 2:
            digest.update(f"{port.name}\0{array.dtype.str}{array.shape}\0".encode())
            digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    parts = {
        "engine": [engine.name, engine.version],
        "features": sorted(engine.features) if engine.features is not None else None,
        "graph": graph.digest(),
        "options": [options.precision, options.weights, options.level],
        "ranges": ranges.to_json(),
        "targets": list(_targets(engine, options)),
        "weights": digest.hexdigest(),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def describe(graph: Graph, made: Network, ranges: Ranges, options: Options, engine: Engine) -> dict[str, Any]:
    """What whoever runs the plan needs to know; `docs/tensorrt.md` specifies it."""
    return {
        "format": 1,
        "engine": {"name": engine.name, "version": engine.version},
        "graph": graph.digest(),
        "precision": options.precision,
        "weights": options.weights,
        "targets": list(_targets(engine, options)),
        "ranges": ranges.to_json(),
        "inputs": made.interface.inputs,
        "outputs": made.interface.outputs,
        "caches": {cache.name: _describe_cache(graph, cache.name, made.interface.in_place) for cache in graph.caches},
    }


def _describe_cache(graph: Graph, name: str, in_place: bool) -> dict[str, Any]:
    """How a cache is used: its form, the dimensions of what is appended, the inputs that are mask and order of rows."""
    nodes = [n for n in graph.nodes if n.op == "cached_attention" and n.attrs["cache"] == name]
    names = {port.value.id: port.name for port in graph.inputs}
    batch, _, tokens, _ = (str(dim) for dim in source(nodes[0], 1).shape)
    masks, orders = ({names.get(source(node, index).id) for node in nodes} for index in (3, 4))
    if len(orders) != 1 or None in orders or len(masks) != 1 or None in masks:
        raise LoweringError(f"cache {name}: its attention_mask and its beam_idx must each be one input of the graph")
    form = "in_place" if in_place else "rows"
    return {"form": form, "batch": batch, "tokens": tokens, "mask": masks.pop(), "reordered_by": orders.pop()}


def _targets(engine: Engine, options: Options) -> tuple[str, ...]:
    capabilities = getattr(engine.trt, "ComputeCapability", None)
    known = tuple(name for name in dir(capabilities) if name.startswith("SM")) if capabilities else ()
    if options.targets is None:
        # Turing (SM75) multiplies f16 alone, and a plan for several is refused if one of them cannot run it.
        names = (name for name in known if options.precision == "f16" or name != "SM75")
        fit = tuple(sorted(names, key=lambda name: int(name[2:])))
        return fit or (CURRENT,)
    for target in options.targets:
        if target != CURRENT and target not in known:
            raise EngineError(
                f"{engine.name} {engine.version} has no target {target!r}; it has {', '.join((*known, CURRENT))}"
            )
    return tuple(options.targets)


def _config(engine: Engine, builder: Any, options: Options, targets: Sequence[str]) -> Any:
    trt, config = engine.trt, builder.create_builder_config()
    flags = trt.BuilderFlag
    if options.precision == "f32" and hasattr(flags, "TF32"):
        config.clear_flag(flags.TF32)  # on by default, and 10 bits of f32's 23
    if not engine.strongly_typed:
        config.set_flag(flags.OBEY_PRECISION_CONSTRAINTS)
        if options.precision == "f16":
            config.set_flag(flags.FP16)
    if options.level is not None:
        config.builder_optimization_level = options.level
    if hasattr(config, "set_tactic_sources"):  # kernels of TensorRT's own alone: a plan needs no cuBLAS and no cuDNN
        config.set_tactic_sources(0)
    if tuple(targets) != (CURRENT,):
        config.num_compute_capabilities = len(targets)
        for index, target in enumerate(targets):
            config.set_compute_capability(getattr(trt.ComputeCapability, target), index)
    return config


def _profile(made: Network, ranges: Ranges) -> Any:
    profile = made.builder.create_optimization_profile()
    for row in made.interface.inputs:
        sizes = [ranges.of_dimension(dim) for dim in dims.shape_of(row["shape"])]
        if row["memory"] == "host":  # a count of tokens: its values decide a shape
            most = ranges.symbols["tokens"].most
            profile.set_shape_input(row["name"], [0], [1], [most])
        elif any(not isinstance(dim, int) for dim in row["shape"]):
            profile.set_shape(row["name"], *([size[i] for size in sizes] for i in range(3)))
    return profile
