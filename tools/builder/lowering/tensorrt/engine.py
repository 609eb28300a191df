"""The TensorRT that this machine has, and what it can do: `tensorrt` (8.6, 10, 11) or `tensorrt_rtx`.

Nothing else in the builder imports it. What differs between versions is asked for by name, feature by feature, so that
a version that this file has never heard of is served by what it has. Runs on Python 3.10 with NumPy alone.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

MODULES = ("tensorrt", "tensorrt_rtx", "tensorrt_rtx_bindings")
"""In the order in which they are tried; the last is what `tensorrt_rtx` re-exports, and comes as a wheel of its own."""

TYPES = {
    "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i64": "int64", "i32": "int32", "bool": "bool",
}  # fmt: skip
FLOATS = ("f32", "f16", "bf16")


class EngineError(RuntimeError):
    """There is no TensorRT, or it refuses what it was asked for."""


@dataclass(frozen=True)
class Engine:
    """A TensorRT, by its Python module.

    `features` limits what `has` admits to, so that a test can ask for the decompositions; None admits all that exists.
    """

    trt: Any
    features: frozenset[str] | None = None

    @property
    def messages(self) -> list[str]:
        """What the logger reported since it was emptied: warnings and errors, the newest last."""
        self.logger()
        return _LOGS[self.trt.__name__][1]

    @property
    def name(self) -> str:
        """`tensorrt` or `tensorrt_rtx`."""
        return str(self.trt.__name__).partition(".")[0].removesuffix("_bindings")

    @property
    def version(self) -> str:
        """Such as `8.6.0` or `1.7.1.116`."""
        return str(self.trt.__version__)

    @property
    def strongly_typed(self) -> bool:
        """Whether a network's types are its tensors' own (10 and later) and not hints to the optimiser (8.6)."""
        return hasattr(self.trt.NetworkDefinitionCreationFlag, "STRONGLY_TYPED")

    def has(self, method: str) -> bool:
        """Whether a network has the method, such as `add_attention_v2`."""
        return hasattr(self.trt.INetworkDefinition, method) and (self.features is None or method in self.features)

    def dtype(self, name: str) -> Any:
        """TensorRT's type of one of `TYPES`. i64 is i32 where there is no i64. Raises EngineError for a missing one."""
        found = getattr(self.trt, TYPES[self.stored(name)], None)
        if found is None:
            raise EngineError(f"{self.name} {self.version} has no {name}; build for f16 or f32")
        return found

    def stored(self, name: str) -> str:
        """The dtype that stands for `name` in this version: i32 for i64 before TensorRT 10."""
        return "i32" if name == "i64" and not hasattr(self.trt, "int64") else name

    def logger(self) -> Any:
        """The logger that keeps warnings and errors in `messages` and prints nothing.

        There is one for each module: TensorRT keeps the first that a process gives it.
        """
        trt, messages = self.trt, list[str]()
        if trt.__name__ in _LOGS:
            return _LOGS[trt.__name__][0]
        base: Any = trt.ILogger

        class Log(base):  # type: ignore[misc]
            def __init__(self) -> None:
                base.__init__(self)

            def log(self, severity: Any, message: str) -> None:
                if int(severity) <= int(base.Severity.WARNING):
                    messages.append(message)

        _LOGS[trt.__name__] = (Log(), messages)
        return _LOGS[trt.__name__][0]


_LOGS: dict[str, tuple[Any, list[str]]] = {}


def load(name: str | None = None) -> Engine:
    """The TensorRT called `name`, or the first of `MODULES` that can be imported. Raises EngineError."""
    reasons = []
    for module in MODULES if name is None else (name,):
        try:
            found = importlib.import_module(module)
            if hasattr(found, "Builder"):
                return Engine(found)
            reasons.append(f"{module}: {list(found.__path__)} is a folder of that name")
        except (ImportError, OSError) as error:
            reasons.append(f"{module}: {error}")
    raise EngineError(
        f"no TensorRT can be imported ({'; '.join(reasons)}); install tensorrt (data centre GPUs) or tensorrt_rtx"
    )
