"""The GPU's executor, on memory of this machine: addresses, pitches, shapes; the double computes the plan."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tools.builder.lowering.openvino.testing import decoder, step, weights_of
from tools.builder.lowering.tensorrt import double, execute, references
from tools.builder.lowering.tensorrt.emitter import Array
from tools.builder.lowering.tensorrt.encoding import NUMPY
from tools.builder.lowering.tensorrt.engine import Engine, EngineError
from tools.builder.lowering.tensorrt.execute import GpuMachine, errors
from tools.builder.lowering.tensorrt.lower import Options, Plan
from tools.builder.lowering.tensorrt.session import Session
from tools.builder.lowering.tensorrt.testing import DoubleExecution

GRAPH = decoder()
WEIGHTS = weights_of(GRAPH)


class _HostCuda:
    """`Cuda` with this machine's memory as the GPU's. Every area is followed by bytes that nobody may write."""

    GUARD = 64
    stream = 7

    def __init__(self) -> None:
        self._areas: list[tuple[Array, int]] = []

    def allocate(self, size: int) -> int:
        area = np.zeros(max(size, 1) + self.GUARD, np.uint8)
        area[size:] = 0xAB
        self._areas.append((area, size))
        return int(area.ctypes.data)

    def upload(self, address: int, array: Array) -> None:
        ctypes.memmove(address, array.ctypes.data, array.nbytes)

    def download(self, address: int, array: Array) -> None:
        ctypes.memmove(array.ctypes.data, address, array.nbytes)

    def copy(self, target: int, source: int, size: int) -> None:
        assert abs(target - source) >= size, "areas overlap"
        ctypes.memmove(target, source, size)

    def copy_rows(self, target: int, target_pitch: int, source: int, source_pitch: int, width: int, rows: int) -> None:
        assert width <= min(target_pitch, source_pitch)
        for row in range(rows):
            ctypes.memmove(target + row * target_pitch, source + row * source_pitch, width)

    def synchronize(self) -> None:
        for area, size in self._areas:
            assert (area[size:] == 0xAB).all(), "written beyond an area"


class _Context:
    """An execution context whose plan is a network of the double."""

    def __init__(self, made: Any, description: Mapping[str, Any]) -> None:
        self._network, self._rows = (
            made.network,
            {r["name"]: r for r in [*description["inputs"], *description["outputs"]]},
        )
        self._shapes = {r["name"]: tuple(r["shape"]) for r in description["inputs"] if r["role"] == "weight"}
        self._addresses: dict[str, int] = {}
        self._sizes: dict[str, tuple[int, ...]] = {}

    def set_input_shape(self, name: str, shape: tuple[int, ...]) -> bool:
        self._shapes[name] = tuple(shape)
        return len(shape) == len(self._rows[name]["shape"])

    def set_tensor_address(self, name: str, address: int) -> None:
        self._addresses[name] = address

    def infer_shapes(self) -> list[str]:
        self._sizes = {name: value.shape for name, value in self._compute().items()}
        return [h.name for h in self._network.inputs if h.name not in self._shapes or h.name not in self._addresses]

    def get_tensor_shape(self, name: str) -> tuple[int, ...]:
        return self._sizes[name]

    def execute_async_v3(self, stream: int) -> bool:
        assert stream == _HostCuda.stream
        for name, value in self._compute(write=True).items():
            if not name.endswith(".out"):  # written in place already
                made = np.ascontiguousarray(value)
                ctypes.memmove(self._addresses[name], made.ctypes.data, made.nbytes)
        return True

    def _compute(self, write: bool = False) -> dict[str, Array]:
        inputs = {}
        for handle in self._network.inputs:
            shape, dtype = self._shapes[handle.name], np.dtype(NUMPY[self._rows[handle.name]["dtype"]])
            size = int(np.prod(shape)) * dtype.itemsize
            raw = (ctypes.c_ubyte * size).from_address(self._addresses[handle.name])
            view = np.frombuffer(raw, dtype).reshape(shape)
            inputs[handle.name] = view if write else view.copy()
        run = double.Run(inputs)
        for layer in self._network.layers:
            for handle in layer.outputs:
                run(handle)
        return {handle.name: run(handle) for handle in self._network.outputs}


def _machine(monkeypatch: pytest.MonkeyPatch, options: Options, extended: bool) -> tuple[Session, Plan]:
    made = DoubleExecution(GRAPH, WEIGHTS, options, extended=extended)
    plan = Plan(b"plan", made.description, "key")
    trt = double.module(extended)
    context = _Context(made.made, made.description)
    plan_engine = SimpleNamespace(create_execution_context=lambda: context)
    trt.Runtime = lambda logger: SimpleNamespace(deserialize_cuda_engine=lambda data: plan_engine)
    monkeypatch.setattr(execute, "Cuda", _HostCuda)
    return Session(plan.description, GpuMachine(plan, Engine(trt), {**GRAPH.constants, **WEIGHTS}), 16), plan


@pytest.mark.parametrize("extended", [False, True])
@pytest.mark.parametrize("options", [Options("f32"), Options("f32", weights="inputs"), Options("f16")], ids=str)
def test_every_case_agrees(monkeypatch: pytest.MonkeyPatch, options: Options, extended: bool) -> None:
    session, _ = _machine(monkeypatch, options, extended)
    found = errors(session, references.record("decoder", GRAPH, WEIGHTS), "decoder")
    assert len(found) == 5 and max(found.values()) <= (1e-5 if options.precision == "f32" else 2e-2)


def test_a_plan_that_asks_for_more_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    session, _ = _machine(monkeypatch, Options("f32"), False)
    monkeypatch.setattr(_Context, "infer_shapes", lambda self: ["beam_idx"])
    with pytest.raises(EngineError, match="the plan still asks for beam_idx"):
        session.run(step(np.zeros((1, 3), np.int64)))


def test_a_run_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    session, _ = _machine(monkeypatch, Options("f32"), False)
    monkeypatch.setattr(_Context, "execute_async_v3", lambda self, stream: False)
    with pytest.raises(EngineError, match="the plan did not run"):
        session.run(step(np.zeros((1, 3), np.int64)))


def test_a_plan_that_is_refused_is_an_error() -> None:
    trt = double.module()
    trt.Runtime = lambda logger: SimpleNamespace(deserialize_cuda_engine=lambda data: None)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(EngineError, match="refuses the plan"):
        patch.setattr(execute, "Cuda", _HostCuda)
        GpuMachine(Plan(b"", {"inputs": []}, "key"), Engine(trt), {})
