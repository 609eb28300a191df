"""What the op lowerings write with: typed tensors, shared constants, shapes at run time, names that lead back.

A `Tensor` knows its dtype and rank itself, because a weakly typed network (TensorRT 8.6) does not, and because types
are decided here: operands of matrix products are in the plan's precision, all else computes in f32.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tools.builder.graph import Node
from tools.builder.lowering.tensorrt.encoding import encode
from tools.builder.lowering.tensorrt.engine import FLOATS, Engine

Array = npt.NDArray[Any]
_MOVES = ("shuffle", "slice", "concatenation", "gather", "constant", "shape", "cast", "select", "topk")


class LoweringError(ValueError):
    """A graph that this engine cannot execute."""


@dataclass(frozen=True)
class Tensor:
    """A tensor of a network; `dtype` is one of `engine.TYPES`."""

    handle: Any = field(repr=False)
    dtype: str
    rank: int


class Emitter:
    """The network of one graph, while it is lowered.

    `precision` is that of matrix products: f32, f16 or bf16. `shared` is a place where op lowerings keep what several
    nodes of a graph use, such as the attention mask; `io` is the network's `Interface`. `longest` bounds every index
    that a run may need.
    """

    def __init__(self, engine: Engine, network: Any, precision: str, longest: int) -> None:
        self.engine, self.network, self.precision, self.longest = engine, network, precision, longest
        self.io: Any = None
        self.shared: dict[str, Any] = {}
        self.prefix = ""
        self._keep: list[Array] = []  # TensorRT reads constants when it builds
        self._constants: dict[str, Tensor] = {}
        self._shapes: dict[int, Tensor] = {}
        self._layers = 0
        trt = engine.trt
        self._elementwise, self._unary = trt.ElementWiseOperation, trt.UnaryOperation

    def start(self, node: Node) -> None:
        """Names the layers that follow after a graph's node: scope, op and the id of its value."""
        self.prefix = ".".join(filter(None, (node.scope, node.op, node.outputs[0].id)))

    def method(self, *names: str) -> Any:
        """The first of the network's methods that this TensorRT has, or None."""
        return next((getattr(self.network, name) for name in names if self.engine.has(name)), None)

    def layer(self, layer: Any, kind: str, dtype: str, rank: int, output: int = 0) -> Tensor:
        """A layer's output. Sets its name and, in a weakly typed network, its types. Raises LoweringError for None."""
        if layer is None:
            raise LoweringError(
                f"{self.engine.name} {self.engine.version} refuses a {kind} layer for {self.prefix}: "
                f"{'; '.join(self.engine.messages[-2:]) or 'without a reason'}"
            )
        self._layers += 1
        layer.name = f"{self.prefix}/{kind}.{self._layers}"
        if not self.engine.strongly_typed and dtype in FLOATS and kind not in _MOVES:
            layer.precision = self.engine.dtype(dtype)
            layer.set_output_type(output, self.engine.dtype(dtype))
        return Tensor(layer.get_output(output), dtype, rank)

    def constant(self, values: Any, dtype: str) -> Tensor:
        """A constant; equal ones are one tensor."""
        dtype = self.engine.stored(dtype)
        array = encode(np.asarray(values), dtype)
        key = f"{dtype}{array.shape}{hashlib.sha256(array.tobytes()).hexdigest()}"
        if key not in self._constants:
            self._keep.append(array)
            made = self.network.add_constant(array.shape, self._weights(array, dtype))
            self._constants[key] = self.layer(made, "constant", dtype, array.ndim)
        return self._constants[key]

    def _weights(self, array: Array, dtype: str) -> Any:
        if dtype == "bf16":  # which NumPy has not: by address, a form that came with bf16 itself
            return self.engine.trt.Weights(self.engine.dtype(dtype), array.ctypes.data, array.size)
        return self.engine.trt.Weights(array)

    def scalar(self, value: float, like: Tensor) -> Tensor:
        """A number of the dtype of `like` that broadcasts against it."""
        return self.constant(np.full((1,) * like.rank, value), like.dtype)

    def cast(self, x: Tensor, dtype: str) -> Tensor:
        """`x` as `dtype`; floats become integers towards zero."""
        dtype = self.engine.stored(dtype)
        if x.dtype == dtype:
            return x
        key = f"cast.{id(x.handle)}.{dtype}"
        if key not in self.shared:
            made = self.layer(self.network.add_cast(x.handle, self.engine.dtype(dtype)), "cast", dtype, x.rank)
            self.shared[key] = (made, x)  # with the source, whose id must not be used again
        found: Tensor = self.shared[key][0]
        return found

    def f32(self, x: Tensor) -> Tensor:
        """`x` in f32, in which everything but matrix products computes."""
        return self.cast(x, "f32")

    def operand(self, x: Tensor) -> Tensor:
        """`x` in the precision of matrix products."""
        return self.cast(x, self.precision)

    def elementwise(self, operation: str, a: Tensor, b: Tensor) -> Tensor:
        """`SUM`, `PROD`, `LESS`, ... of two tensors of one dtype, broadcast as NumPy does; comparisons give bool."""
        if a.dtype != b.dtype:
            raise LoweringError(f"{self.prefix}: {operation} of {a.dtype} and {b.dtype}")
        rank = max(a.rank, b.rank)
        a, b = self.widen(a, rank), self.widen(b, rank)
        made = self.network.add_elementwise(a.handle, b.handle, getattr(self._elementwise, operation))
        dtype = "bool" if operation in ("LESS", "GREATER", "EQUAL", "OR", "AND") else a.dtype
        return self.layer(made, "elementwise", dtype, rank)

    def add(self, a: Tensor, b: Tensor) -> Tensor:
        """a + b."""
        return self.elementwise("SUM", a, b)

    def mul(self, a: Tensor, b: Tensor) -> Tensor:
        """a · b."""
        return self.elementwise("PROD", a, b)

    def unary(self, operation: str, x: Tensor) -> Tensor:
        """`SQRT`, `ERF`, ... of each element."""
        made = self.network.add_unary(x.handle, getattr(self._unary, operation))
        return self.layer(made, "unary", x.dtype, x.rank)

    def activation(self, kind: str, x: Tensor) -> Tensor:
        """`RELU`, `SIGMOID`, `TANH` of each element."""
        made = self.network.add_activation(x.handle, getattr(self.engine.trt.ActivationType, kind))
        return self.layer(made, "activation", x.dtype, x.rank)

    def reduce(self, operation: str, x: Tensor, axis: int) -> Tensor:
        """`SUM` or `AVG` along an axis, or `MAX`, which stays with size 1."""
        kind = getattr(self.engine.trt.ReduceOperation, operation)
        return self.layer(self.network.add_reduce(x.handle, kind, 1 << axis % x.rank, True), "reduce", x.dtype, x.rank)

    def softmax(self, x: Tensor, axis: int) -> Tensor:
        """exp(x) / Σexp(x) along an axis, in f32."""
        x = self.f32(x)
        made = self.network.add_softmax(x.handle)
        made.axes = 1 << axis % x.rank
        return self.layer(made, "softmax", "f32", x.rank)

    def matmul(self, a: Tensor, b: Tensor, transpose_b: bool) -> Tensor:
        """a·b or a·bᵀ over the last two axes; the others broadcast. Operands and product are in `precision`."""
        rank = max(a.rank, b.rank)
        a, b = self.widen(self.operand(a), rank), self.widen(self.operand(b), rank)
        kinds = self.engine.trt.MatrixOperation
        turn = kinds.TRANSPOSE if transpose_b else kinds.NONE
        made = self.network.add_matrix_multiply(a.handle, kinds.NONE, b.handle, turn)
        return self.layer(made, "matmul", self.precision, rank)

    def select(self, condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
        """`a` where the condition holds, else `b`; all three broadcast."""
        made = self.network.add_select(condition.handle, a.handle, b.handle)
        return self.layer(made, "select", a.dtype, a.rank)

    def gather(self, x: Tensor, indices: Tensor) -> Tensor:
        """Rows of `x` along axis 0."""
        made = self.network.add_gather(x.handle, indices.handle, 0)
        return self.layer(made, "gather", x.dtype, indices.rank + x.rank - 1)

    def concat(self, xs: Sequence[Tensor], axis: int) -> Tensor:
        """Joined along an axis."""
        made = self.network.add_concatenation([x.handle for x in xs])
        made.axis = axis % xs[0].rank
        return self.layer(made, "concatenation", xs[0].dtype, xs[0].rank)

    def permute(self, x: Tensor, axes: Sequence[int]) -> Tensor:
        """Output axis i is input axis `axes[i]`."""
        made = self.network.add_shuffle(x.handle)
        made.first_transpose = tuple(axes)
        return self.layer(made, "shuffle", x.dtype, x.rank)

    def reshape(self, x: Tensor, pattern: Sequence[int]) -> Tensor:
        """Row-major under another shape: 0 keeps the size of the same axis, one -1 is inferred."""
        made = self.network.add_shuffle(x.handle)
        made.reshape_dims = tuple(pattern)
        return self.layer(made, "shuffle", x.dtype, len(pattern))

    def reshape_to(self, x: Tensor, shape: Tensor, rank: int) -> Tensor:
        """Row-major under a shape that is computed at run time."""
        made = self.network.add_shuffle(x.handle)
        made.set_input(1, shape.handle)
        made.zero_is_placeholder = False
        return self.layer(made, "shuffle", x.dtype, rank)

    def widen(self, x: Tensor, rank: int) -> Tensor:
        """`x` with axes of size 1 in front, up to `rank`."""
        if x.rank == rank:
            return x
        key = f"widen.{id(x.handle)}.{rank}"
        if key not in self.shared:
            if x.rank <= 1:
                wide = self.reshape(x, (1,) * (rank - x.rank) + (-1,) * x.rank)
            else:
                shape = self.shape(x)
                ones = self.constant(np.ones(rank - x.rank), shape.dtype)
                wide = self.reshape_to(x, self.concat([ones, shape], 0), rank)
            self.shared[key] = (wide, x)
        found: Tensor = self.shared[key][0]
        return found

    def shape(self, x: Tensor) -> Tensor:
        """The shape of `x` at run time, a vector of i64 or, before TensorRT 10, of i32."""
        key = f"shape.{id(x.handle)}"
        if key not in self.shared:
            made = self.network.add_shape(x.handle)
            wide = hasattr(self.engine.trt, "int64") and made.get_output(0).dtype == self.engine.trt.int64
            self.shared[key] = (self.layer(made, "shape", "i64" if wide else "i32", 1), x)
        found: Tensor = self.shared[key][0]
        return found

    def size(self, x: Tensor, axis: int) -> Tensor:
        """The size of an axis at run time, a vector of one."""
        return self.gather(self.shape(x), self.constant([axis % x.rank], "i32"))

    def slice(self, x: Tensor, axis: int, start: int | Tensor, size: int | Tensor) -> Tensor:
        """`size` elements of an axis from `start` on; either may be a vector of one, of the dtype of `shape`."""
        axis %= x.rank
        shape = self.shape(x)
        zero = self.constant([0], shape.dtype)

        def place(value: int | Tensor, others: Sequence[Tensor]) -> Tensor:
            one = self.constant([value], shape.dtype) if isinstance(value, int) else value
            return self.concat([one if i == axis else others[i] for i in range(x.rank)], 0)

        sizes = [self.size(x, i) if i != axis else zero for i in range(x.rank)]
        made = self.network.add_slice(x.handle, (0,) * x.rank, (1,) * x.rank, (1,) * x.rank)
        if isinstance(start, int):
            made.start = tuple(start if i == axis else 0 for i in range(x.rank))
        else:
            made.set_input(1, place(start, [zero] * x.rank).handle)
        made.set_input(2, place(size, sizes).handle)
        return self.layer(made, "slice", x.dtype, x.rank)

    def count(self, size: Tensor) -> Tensor:
        """0, 1, ..., size - 1 as i32; `size` is a vector of one."""
        return self.slice(self.constant(np.arange(self.longest), "i32"), 0, 0, size)
