"""A stand-in for TensorRT's Python module that computes a network's primitive layers with NumPy.

It is strict where TensorRT is: operands of one dtype, ranks that agree, shapes that broadcast, names that exist. A
layer, an enumerator or a property that it does not know is an error. What it shows is that the decompositions of this
lowering mean what the graph means; it says nothing about kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
_ERF = np.vectorize(__import__("math").erf, otypes=[np.float32])


class _Names:
    """An enumeration: every enumerator is its own name, and one that is not listed is an error."""

    def __init__(self, *names: str) -> None:
        for name in names:
            setattr(self, name, name)


class Handle:
    """A tensor: computed on demand, once for each run."""

    def __init__(self, dtype: str, compute: Callable[[Run], Array], source: str = "layer") -> None:
        self.dtype, self.compute, self.name = dtype, compute, ""
        self.is_network_input, self.is_shape_tensor = source == "input", False


class Run:
    """One run: the values so far."""

    def __init__(self, inputs: Mapping[str, Array]) -> None:
        self.inputs, self._values = inputs, dict[int, Array]()

    def __call__(self, handle: Handle) -> Array:
        if id(handle) not in self._values:
            value = np.asarray(handle.compute(self))
            assert str(value.dtype) == handle.dtype, f"{handle.name}: {value.dtype} for {handle.dtype}"
            self._values[id(handle)] = value
        return self._values[id(handle)]


class Layer:
    """A layer. Properties are set after it was added, as with TensorRT; one that it does not declare is an error."""

    def __init__(self, outputs: Sequence[Handle], **properties: Any) -> None:
        object.__setattr__(self, "_known", {"name": "", "precision": None, **properties})
        object.__setattr__(self, "outputs", outputs)
        object.__setattr__(self, "extra", dict[int, Handle]())

    def __getattr__(self, name: str) -> Any:
        if name not in self._known:
            raise AttributeError(f"this layer has no property {name}")
        return self._known[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._known:
            raise AttributeError(f"this layer has no property {name}")
        self._known[name] = value

    def set_input(self, index: int, handle: Handle) -> None:
        self.extra[index] = handle

    def set_output_type(self, index: int, dtype: str) -> None:
        assert self.outputs[index].dtype == dtype == self.precision, f"{self.name}: {dtype} for {self.precision}"

    def get_output(self, index: int) -> Handle:
        handle: Handle = self.outputs[index]
        return handle


def _vector(run: Run, layer: Layer, index: int, fixed: Sequence[int]) -> list[int]:
    return [int(i) for i in run(layer.extra[index])] if index in layer.extra else list(fixed)


_BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "SUM": np.add, "SUB": np.subtract, "PROD": np.multiply, "DIV": np.divide, "MIN": np.minimum, "LESS": np.less,
    "GREATER": np.greater, "EQUAL": np.equal, "OR": np.logical_or,
}  # fmt: skip
_UNARY: dict[str, Callable[[Array], Array]] = {"SQRT": np.sqrt, "ERF": _ERF}
_ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "RELU": lambda x: np.maximum(x, 0),
    "TANH": np.tanh,
    "SIGMOID": lambda x: 1 / (1 + np.exp(-x)),
}
_REDUCE: dict[str, Callable[..., Array]] = {"SUM": np.sum, "AVG": np.mean, "MAX": np.max}


def _alike(run: Run, layer: Layer, *handles: Handle) -> list[Array]:
    """Values of one rank: TensorRT broadcasts axes of size 1, and adds none."""
    values = [run(handle) for handle in handles]
    assert len({value.ndim for value in values}) == 1, f"{layer.name}: {[value.shape for value in values]}"
    return values


def _axis(mask: int) -> int:
    (axis,) = (i for i in range(8) if mask >> i & 1)
    return axis


class INetworkDefinition:
    """The primitive layers. `Module(extended=True)` adds those that newer versions have and whose meaning is plain."""

    def __init__(self) -> None:
        self.inputs, self.outputs = list[Handle](), list[Handle]()
        self.layers = list[Layer]()

    def _layer(self, dtype: str, compute: Callable[[Run, Layer], Array], **properties: Any) -> Layer:
        handle = Handle(dtype, lambda run: compute(run, layer))
        layer = Layer([handle], **properties)
        self.layers.append(layer)
        return layer

    def add_input(self, name: str, dtype: str, shape: Sequence[int]) -> Handle:
        def compute(run: Run) -> Array:
            value = run.inputs[name]
            fits = len(shape) == value.ndim and all(d in (-1, s) for d, s in zip(shape, value.shape, strict=True))
            assert fits, f"input {name} is {value.shape}, declared {tuple(shape)}"
            return value

        handle = Handle(dtype, compute, "input")
        handle.name = name
        self.inputs.append(handle)
        return handle

    def get_input(self, index: int) -> Handle:
        return self.inputs[index]

    def mark_output(self, handle: Handle) -> None:
        assert handle.name and handle.name not in [h.name for h in self.outputs], "outputs need names of their own"
        self.outputs.append(handle)

    def add_constant(self, shape: Sequence[int], weights: Array) -> Layer:
        return self._layer(str(weights.dtype), lambda run, _: weights.reshape(shape))

    def add_identity(self, x: Handle) -> Layer:
        return self._layer(x.dtype, lambda run, _: run(x))

    def add_cast(self, x: Handle, to: str) -> Layer:
        return self._layer(to, lambda run, _: run(x).astype(to))

    def add_shape(self, x: Handle) -> Layer:
        return self._layer("int32", lambda run, _: np.array(run(x).shape, np.int32))

    def add_elementwise(self, a: Handle, b: Handle, operation: str) -> Layer:
        assert a.dtype == b.dtype, f"{operation} of {a.dtype} and {b.dtype}"
        dtype = "bool" if operation in ("LESS", "GREATER", "EQUAL", "OR") else a.dtype

        def compute(run: Run, layer: Layer) -> Array:
            return _BINARY[operation](*_alike(run, layer, a, b)).astype(dtype)

        return self._layer(dtype, compute)

    def add_unary(self, x: Handle, operation: str) -> Layer:
        return self._layer(x.dtype, lambda run, _: _UNARY[operation](run(x)))

    def add_activation(self, x: Handle, kind: str) -> Layer:
        return self._layer(x.dtype, lambda run, _: _ACTIVATIONS[kind](run(x)).astype(x.dtype))

    def add_reduce(self, x: Handle, operation: str, axes: int, keep: bool) -> Layer:
        def compute(run: Run, _: Layer) -> Array:
            return _REDUCE[operation](run(x), axis=_axis(axes), keepdims=keep).astype(x.dtype)

        return self._layer(x.dtype, compute)

    def add_softmax(self, x: Handle) -> Layer:
        def compute(run: Run, layer: Layer) -> Array:
            axis = _axis(layer.axes)
            power: Array = np.exp(run(x) - run(x).max(axis, keepdims=True))
            shares: Array = power / power.sum(axis, keepdims=True)
            return shares

        return self._layer(x.dtype, compute, axes=1)

    def add_matrix_multiply(self, a: Handle, turn_a: str, b: Handle, turn_b: str) -> Layer:
        assert a.dtype == b.dtype and turn_a == "NONE", f"product of {a.dtype} and {b.dtype}"

        def compute(run: Run, layer: Layer) -> Array:
            left, right = (x.astype(np.float32) for x in _alike(run, layer, a, b))
            return (left @ (right.swapaxes(-1, -2) if turn_b == "TRANSPOSE" else right)).astype(a.dtype)

        return self._layer(a.dtype, compute)

    def add_select(self, condition: Handle, a: Handle, b: Handle) -> Layer:
        assert condition.dtype == "bool" and a.dtype == b.dtype
        return self._layer(a.dtype, lambda run, layer: np.where(*_alike(run, layer, condition, a, b)))

    def add_gather(self, x: Handle, indices: Handle, axis: int) -> Layer:
        def compute(run: Run, _: Layer) -> Array:
            assert axis == 0 and indices.dtype in ("int32", "int64") and run(indices).min() >= 0
            return run(x)[run(indices)]

        return self._layer(x.dtype, compute)

    def add_concatenation(self, xs: Sequence[Handle]) -> Layer:
        assert len({x.dtype for x in xs}) == 1, [x.dtype for x in xs]
        return self._layer(xs[0].dtype, lambda run, layer: np.concatenate(_alike(run, layer, *xs), layer.axis), axis=0)

    def add_slice(self, x: Handle, start: Sequence[int], shape: Sequence[int], stride: Sequence[int]) -> Layer:
        def compute(run: Run, layer: Layer) -> Array:
            begin, size = _vector(run, layer, 1, layer.start), _vector(run, layer, 2, shape)
            ends = [b + s for b, s in zip(begin, size, strict=True)]
            inside = all(0 <= b <= e <= n for b, e, n in zip(begin, ends, run(x).shape, strict=True))
            assert inside and set(stride) == {1}, f"{layer.name}: {begin} to {ends} of {run(x).shape}"
            return run(x)[tuple(slice(b, e) for b, e in zip(begin, ends, strict=True))]

        return self._layer(x.dtype, compute, start=tuple(start))

    def add_shuffle(self, x: Handle) -> Layer:
        def compute(run: Run, layer: Layer) -> Array:
            value = run(x) if layer.first_transpose is None else run(x).transpose(layer.first_transpose)
            if layer.reshape_dims is None and 1 not in layer.extra:
                return value
            pattern = _vector(run, layer, 1, layer.reshape_dims or ())
            keep = layer.zero_is_placeholder
            target = [value.shape[i] if d == 0 and keep else d for i, d in enumerate(pattern)]
            return value.reshape(target)

        return self._layer(x.dtype, compute, first_transpose=None, reshape_dims=None, zero_is_placeholder=True)

    def add_topk(self, x: Handle, operation: str, k: int, axes: int) -> Layer:
        def order(run: Run) -> Array:
            assert operation == "MAX" and _axis(axes) == run(x).ndim - 1
            return np.argsort(-run(x), -1, kind="stable")[..., :k].astype(np.int32)

        values = Handle(x.dtype, lambda run: np.take_along_axis(run(x), order(run), -1))
        return Layer([values, Handle("int32", order)])


class Extended(INetworkDefinition):
    """With the layers of newer versions whose meaning their documentation states."""

    def add_normalization(self, x: Handle, scale: Handle, bias: Handle, axes: int) -> Layer:
        def compute(run: Run, layer: Layer) -> Array:
            value, weight, shift = _alike(run, layer, x, scale, bias)
            axis = _axis(axes)
            spread = np.sqrt(value.var(axis, keepdims=True) + np.float32(layer.epsilon))
            normal: Array = (value - value.mean(axis, keepdims=True)) / spread * weight + shift
            return normal

        return self._layer(x.dtype, compute, epsilon=1e-5)

    def add_kv_cache_update(self, cache: Handle, update: Handle, write_indices: Handle, mode: str) -> Layer:
        assert cache.is_network_input and cache.dtype == update.dtype and write_indices.dtype == "int32"
        assert mode == "LINEAR"

        def compute(run: Run, layer: Layer) -> Array:
            buffer, new = run(cache), run(update)  # written in place: the buffer is the caller's
            for row, place in enumerate(run(write_indices)):
                assert place + new.shape[2] <= buffer.shape[2], f"{layer.name}: beyond the cache"
                buffer[row, :, place : place + new.shape[2]] = new[row]
            return buffer

        return self._layer(cache.dtype, compute)


class Builder:
    """Makes networks; it builds no plans."""

    network: type[INetworkDefinition] = INetworkDefinition

    def __init__(self, logger: Any) -> None:
        self.logger = logger

    def create_network(self, flags: int) -> INetworkDefinition:
        return self.network()


class _Logger:
    Severity = SimpleNamespace(WARNING=2)


def module(extended: bool = False) -> Any:
    """What stands for `import tensorrt`. Without `extended` it is weakly typed and has the layers that TensorRT
    8.6 computes with."""
    network = Extended if extended else INetworkDefinition
    typing = "STRONGLY_TYPED" if extended else "EXPLICIT_BATCH"
    return SimpleNamespace(
        __name__=f"tensorrt_double_{network.__name__}", __version__="0", ILogger=_Logger,
        INetworkDefinition=network, Builder=type("Builder", (Builder,), {"network": network}),
        NetworkDefinitionCreationFlag=SimpleNamespace(**{typing: 0}), Weights=lambda array: array,
        ElementWiseOperation=_Names(*_BINARY), UnaryOperation=_Names(*_UNARY), ActivationType=_Names(*_ACTIVATIONS),
        ReduceOperation=_Names(*_REDUCE), MatrixOperation=_Names("NONE", "TRANSPOSE"), TopKOperation=_Names("MAX"),
        KVCacheMode=_Names("LINEAR"), float32="float32", float16="float16", int32="int32", bool="bool",
    )  # fmt: skip
