"""Builds a module's plan with the TensorRT that can be imported, runs it on the GPU, and compares with a reference.

    python -m tools.builder.lowering.tensorrt.execute unpacked/qwen3 --references qwen3.npz --precision f16
    python -m tools.builder.lowering.tensorrt.execute graph.json --weights weights.safetensors --references one.npz

The first argument is a bundle's folder (`mconnect unpack`) or a graph.json. The references are made where torch is, by
`references.py` beside this file. Prints for each module and case the greatest error, relative to the reference's
greatest value; exits with 1 where one exceeds `--limit`. Runs on Python 3.10 with NumPy and TensorRT's bindings alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tools.builder.graph import Graph
from tools.builder.lowering.tensorrt.cuda import Cuda, Memory
from tools.builder.lowering.tensorrt.emitter import Array
from tools.builder.lowering.tensorrt.encoding import NUMPY, decode, encode
from tools.builder.lowering.tensorrt.engine import Engine, EngineError, load
from tools.builder.lowering.tensorrt.lower import CURRENT, Options, Plan, build_plan
from tools.builder.lowering.tensorrt.ranges import Ranges
from tools.builder.lowering.tensorrt.session import Session

_STORED = {"F32": "f32", "F16": "f16", "BF16": "bf16", "I64": "i64", "I32": "i32"}


class SourceError(ValueError):
    """What is to be run cannot be read."""


class GpuMachine:
    """A plan on a GPU; a `Machine`. `weights` by name are needed for a plan that takes them as inputs."""

    def __init__(self, plan: Plan, engine: Engine, weights: Mapping[str, Array]) -> None:
        self._cuda = Cuda()
        self._runtime = engine.trt.Runtime(engine.logger())
        self._engine = self._runtime.deserialize_cuda_engine(plan.data)
        if self._engine is None:
            raise EngineError(f"{engine.name} {engine.version} refuses the plan: {'; '.join(engine.messages[-3:])}")
        self._context = self._engine.create_execution_context()
        self._description = plan.description
        self._inputs = {row["name"]: row for row in plan.description["inputs"]}
        self._buffers: dict[str, tuple[int, tuple[int, ...], int]] = {}
        self._memory: dict[str, Memory] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}
        for row in plan.description["inputs"]:
            if row["role"] == "weight":
                array = encode(weights[row["weight"]], row["dtype"])
                address = self._cuda.allocate(array.nbytes)
                self._cuda.upload(address, array)
                self._context.set_tensor_address(row["name"], address)

    def allocate(self, name: str, shape: tuple[int, ...], dtype: str) -> None:
        size = NUMPY[dtype]().itemsize
        self._buffers[name] = (self._cuda.allocate(int(np.prod(shape)) * size), shape, size)

    def reorder(self, name: str, rows: Array) -> None:
        address, shape, size = self._buffers[name]
        row = int(np.prod(shape[1:])) * size
        scratch = self._take("scratch", row * len(rows))
        for index, source in enumerate(rows):
            self._cuda.copy(scratch + index * row, address + int(source) * row, row)
        self._cuda.copy(address, scratch, row * len(rows))

    def append(self, name: str, output: str, place: int) -> None:
        address, (_, heads, length, width), size = self._buffers[name]
        batch, _, tokens, _ = self._shapes[output]
        row = width * size
        source = self._take(output, 0)
        self._cuda.copy_rows(address + place * row, length * row, source, tokens * row, tokens * row, batch * heads)

    def run(self, inputs: Mapping[str, Array], batch: int) -> dict[str, Array]:
        """See `Machine`."""
        context, held = self._context, list[Array]()
        for name, array in inputs.items():
            array = np.ascontiguousarray(array)
            held.append(array)
            self._shape(name, array.shape)
            if self._inputs[name]["memory"] == "host":
                context.set_tensor_address(name, array.ctypes.data)
            else:
                address = self._take(name, array.nbytes)
                self._cuda.upload(address, array)
                context.set_tensor_address(name, address)
        for name, (address, shape, _) in self._buffers.items():
            self._shape(name, (batch, *shape[1:]))
            context.set_tensor_address(name, address)
        if missing := context.infer_shapes():
            raise EngineError(f"the plan still asks for {', '.join(missing)}")
        outputs = self._description["outputs"]
        for row in outputs:
            shape = tuple(int(size) for size in context.get_tensor_shape(row["name"]))
            self._shapes[row["name"]] = shape
            if row["role"] == "cache":  # written where it is read
                address = self._buffers[f"{row['cache']}.{row['layer']}.{row['part']}"][0]
            else:
                address = self._take(row["name"], int(np.prod(shape)) * NUMPY[row["dtype"]]().itemsize)
            context.set_tensor_address(row["name"], address)
        if not context.execute_async_v3(self._cuda.stream):
            raise EngineError("the plan did not run")
        made = {}
        for row in outputs:
            if row["role"] == "graph_output":
                made[row["name"]] = np.empty(self._shapes[row["name"]], NUMPY[row["dtype"]])
                self._cuda.download(self._take(row["name"], 0), made[row["name"]])
        self._cuda.synchronize()
        return made

    def _shape(self, name: str, shape: tuple[int, ...]) -> None:
        if not self._context.set_input_shape(name, shape):
            raise EngineError(f"the plan refuses {name} of the shape {list(shape)}")

    def _take(self, name: str, size: int) -> int:
        return self._memory.setdefault(name, Memory(self._cuda)).of(size)


def read_weights(path: Path) -> dict[str, Array]:
    """The tensors of a safetensors file by name, mapped; bf16 in f32. Raises SourceError."""
    data = np.memmap(path, np.uint8, "r")
    length = int(data[:8].view("<u8")[0])
    header = json.loads(bytes(data[8 : 8 + length]))
    tensors = {}
    for name, row in header.items():
        if name == "__metadata__" or row["dtype"] not in _STORED:
            continue
        begin, end = (8 + length + offset for offset in row["data_offsets"])
        dtype = _STORED[row["dtype"]]
        if end > len(data):
            raise SourceError(f"{path}: {name} ends at {end} of {len(data)} bytes; the file is cut off")
        array = np.frombuffer(data[begin:end].tobytes() if begin % 8 else data[begin:end], NUMPY[dtype])
        array = array.reshape(row["shape"])
        tensors[name] = decode(array, dtype) if dtype == "bf16" else array
    return tensors


def read_modules(source: Path, weights: Path | None) -> dict[str, tuple[Graph, dict[str, Array]]]:
    """Graph and weights of each module of a bundle's folder, or of the one that a graph.json is. Raises SourceError."""
    if source.is_file():
        if weights is None:
            raise SourceError(f"{source} is a graph; name its safetensors file with --weights")
        graph = Graph.from_json(source.read_text(encoding="utf-8"))
        return {graph.name: (graph, read_weights(weights))}
    manifest = source / "manifest.json"
    if not manifest.is_file():
        raise SourceError(
            f"{source} has no manifest.json; it must be a bundle's folder (mconnect unpack) or a graph.json"
        )
    modules = {}
    for name, module in json.loads(manifest.read_text(encoding="utf-8"))["modules"].items():
        stored = next((v["weights"] for v in module["variants"] if v["weights"]), None)
        if stored is None:
            raise SourceError(f"{source}: no variant of the module {name} has weights")
        graph = Graph.from_json((source / module["graph"]).read_text(encoding="utf-8"))
        modules[name] = (graph, read_weights(source / stored))
    return modules


def errors(session: Session, references: Mapping[str, Array], module: str) -> dict[str, float]:
    """The greatest error of each case of a module, relative to the reference's greatest value.

    References are named `module/case/step/in/name` and `.../out/name`, in the order of the runs; where an output is not
    a number, it has no meaning (a query that sees no key) and is not compared.
    """
    found: dict[str, float] = {}
    cases = sorted({tuple(key.split("/")[1:3]) for key in references if key.split("/")[0] == module})
    for case, step in cases:
        if int(step) == 0:
            session.reset()
        part: dict[str, dict[str, Array]] = {"in": {}, "out": {}}
        for key, value in references.items():
            if key.split("/")[:3] == [module, case, step]:
                part[key.split("/")[3]][key.split("/")[4]] = value
        made = session.run(part["in"])
        for name, want in part["out"].items():
            found[case] = max(found.get(case, 0.0), _relative(made[name], want))
    return found


def _relative(got: Array, want: Array) -> float:
    means = ~np.isnan(want)
    if got.shape != want.shape or not np.isfinite(got[means]).all():
        return float("inf")
    gap = np.abs(got[means].astype(np.float64) - want[means])
    return float(gap.max(initial=0.0) / max(float(np.abs(want[means]).max(initial=0.0)), 1e-30))


def main(argv: Sequence[str]) -> int:
    """Exit codes: 0 all errors within the limit, 1 some are not."""
    parser = argparse.ArgumentParser(
        "execute", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", type=Path, help="a bundle's folder, or a graph.json")
    parser.add_argument("--weights", type=Path, help="safetensors file, for a graph.json")
    parser.add_argument("--references", type=Path, required=True, help="made by references.py")
    parser.add_argument("--precision", default="f16", choices=["f32", "f16", "bf16"])
    parser.add_argument("--weights-as", default="constants", choices=["constants", "inputs"])
    parser.add_argument("--level", type=int, help="the builder's optimization level, 0 to 5")
    parser.add_argument(
        "--keys-multiple", type=int, default=1, help="lengthen the attention mask to a multiple of this"
    )
    parser.add_argument("--decompose", action="store_true", help="use primitive layers alone")
    parser.add_argument("--limit", type=float, help="greatest relative error; by default 1e-4 in f32, else 2e-2")
    args = parser.parse_args(argv)
    engine = load()
    engine = Engine(engine.trt, frozenset()) if args.decompose else engine
    limit = args.limit if args.limit is not None else 1e-4 if args.precision == "f32" else 2e-2
    options = Options(args.precision, args.weights_as, (CURRENT,), args.level)
    good = True
    with np.load(args.references) as references:
        held: dict[str, Any] = dict(references)
    for module, (graph, weights) in read_modules(args.source, args.weights).items():
        start = time.monotonic()
        plan = build_plan(graph, weights, options, Ranges.of(graph), engine)
        took = time.monotonic() - start
        print(f"{module}: {engine.name} {engine.version}, {len(plan.data)} bytes in {took:.1f} s", flush=True)
        session = Session(
            plan.description, GpuMachine(plan, engine, {**graph.constants, **weights}), args.keys_multiple
        )
        found = errors(session, held, module)
        if not found:
            raise SourceError(f"{args.references} has no cases of the module {module}")
        for case, error in found.items():
            good &= error <= limit
            print(f"{'ok  ' if error <= limit else 'FAIL'} {module}: {case}: relative error {error:.2e}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
