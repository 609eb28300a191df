"""Ops that work element by element."""

from __future__ import annotations

from tools.builder.graph import Operand, Value
from tools.builder.op_rules import Type, broadcast, need, need_float, rule


def _arithmetic(a: Type, b: Type) -> Type:
    need(a.dtype == b.dtype, f"a is {a.dtype} and b is {b.dtype}; cast one of them")
    need(a.dtype in ("f32", "i32", "i64"), f"{a.dtype} values have no arithmetic; cast them to f32, i32 or i64")
    return Type(a.dtype, broadcast(a.shape, b.shape))


@rule("div")
def _div(a: Type, b: Type) -> Type:
    need_float(a=a, b=b)
    return Type("f32", broadcast(a.shape, b.shape))


for _name in ("add", "sub", "mul"):
    rule(_name)(_arithmetic)


@rule("gelu")
def _gelu(x: Type, *, approximate: str) -> Type:
    need_float(x=x)
    need(approximate in ("none", "tanh"), f"approximate is {approximate!r}; it must be 'none' or 'tanh'")
    return x


def _activation(x: Type) -> Type:
    need_float(x=x)
    return x


for _name in ("silu", "relu", "tanh"):
    rule(_name)(_activation)


@rule("cast")
def _cast(x: Type, *, to: str) -> Type:
    need(to in ("f32", "i32", "i64"), f"a cast goes to f32, i32 or i64, not to {to!r}")
    return Type(to, x.shape)


def add(a: Value, b: Operand) -> Value:
    """`a + b`, broadcasting by NumPy's rule; both f32, i32 or i64."""
    return a.graph.record("add", [a, b])


def sub(a: Value, b: Operand) -> Value:
    """`a - b`, as `add`."""
    return a.graph.record("sub", [a, b])


def mul(a: Value, b: Operand) -> Value:
    """`a * b`, as `add`."""
    return a.graph.record("mul", [a, b])


def div(a: Value, b: Operand) -> Value:
    """`a / b`, broadcasting; both f32."""
    return a.graph.record("div", [a, b])


def gelu(x: Value, approximate: str = "none") -> Value:
    """x·Φ(x), the Gaussian error linear unit (Hendrycks and Gimpel, 2016): by erf ("none") or their "tanh" formula."""
    return x.graph.record("gelu", [x], approximate=approximate)


def silu(x: Value) -> Value:
    """Sigmoid linear unit, x·σ(x); also called swish."""
    return x.graph.record("silu", [x])


def relu(x: Value) -> Value:
    """max(x, 0)."""
    return x.graph.record("relu", [x])


def tanh(x: Value) -> Value:
    """Hyperbolic tangent."""
    return x.graph.record("tanh", [x])


def cast(x: Value, to: str) -> Value:
    """Converts to f32, i32 or i64; from float to integer it rounds towards zero."""
    return x.graph.record("cast", [x], to=to)
