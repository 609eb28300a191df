"""What every command shares: errors, exit codes, progress bars, paths."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from tqdm import tqdm

from tools.mconnect.start import FAILED, INTERRUPTED, OutputClosed, OutputError, note, put

ROOT = Path(os.path.abspath(__file__)).parents[2]
"""The repository's root, in the source tree or among the runfiles."""


def _remedies() -> dict[type[Exception], str]:
    """What a user can do about each kind of failure, where the message does not say it already; the first that fits."""
    from tools.builder.assets.reading import AssetError  # imports the engine, for which native commands need not wait
    from tools.builder.assets.weights_file import UnstorableWeight
    from tools.builder.bundle.format import BundleError
    from tools.builder.checkpoint import CheckpointError
    from tools.builder.config import ConfigError
    from tools.builder.graph import GraphError
    from tools.builder.lowering.openvino.emitter import LoweringError
    from tools.builder.pipeline import BuildError
    from tools.builder.resolve import FamilyError
    from tools.builder.sizes import SizeError
    from tools.builder.source import SourceError
    from tools.builder.weights import WeightError

    return {
        AssetError: "correct that file of the checkpoint, or ask for support of this tokenizer or setting",
        BuildError: "",
        BundleError: "",
        CheckpointError: "",
        SizeError: "",
        ConfigError: "the checkpoint uses a variant of its architecture that its family does not build",
        FamilyError: "",
        GraphError: "the tensors do not fit the family's code: fetch the checkpoint again; where it is whole, correct "
        "the family (docs/adding-a-family.md)",
        LoweringError: "the engine cannot execute this graph",
        MemoryError: "this machine has too little memory for it; check the sizes in config.json",
        OSError: "check that the path exists and that you may use it",
        OutputError: "",
        SourceError: "",
        UnstorableWeight: "",
        WeightError: "",
    }


def enter_working_directory() -> None:
    """Makes the user's relative paths mean what they say: `bazel run` starts programs elsewhere."""
    if folder := os.environ.get("BUILD_WORKING_DIRECTORY"):
        os.chdir(folder)


def _terminated(number: int, frame: object) -> None:
    """Unwinds as Ctrl-C does, so that what was made on the way is removed; the code is the shells' for the signal."""
    raise SystemExit(128 + number)


def guarded(command: Callable[[], int]) -> int:
    """Runs a command; a failure becomes a line on stderr and an exit code. MCONNECT_TRACEBACK=1 shows its origin."""
    signal.signal(signal.SIGTERM, _terminated)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with _warnings():
            return command()
    except KeyboardInterrupt:
        note("interrupted")
        return INTERRUPTED
    except OutputClosed:
        raise
    except Exception as error:
        if os.environ.get("MCONNECT_TRACEBACK") == "1":
            traceback.print_exc()
        remedies = _remedies()
        kind = next((kind for kind in remedies if isinstance(error, kind)), None)
        if kind is None:
            report(
                f"{type(error).__name__}: {error}",
                "this is a defect of mconnect; MCONNECT_TRACEBACK=1 shows where it arose",
            )
        else:
            report(str(error), remedies[kind])
        return FAILED


@contextlib.contextmanager
def _warnings() -> Iterator[None]:
    """What the builder warns of becomes a line on stderr, above a progress bar where there is one."""

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            with contextlib.suppress(OSError, ValueError), tqdm.external_write_mode(file=sys.stderr):
                note(f"warning: {record.getMessage()}")

    logger, handler = logging.getLogger("mconnect"), Lines()
    logger.addHandler(handler)
    propagates, logger.propagate = logger.propagate, False
    try:
        yield
    finally:
        logger.propagate = propagates
        logger.removeHandler(handler)


def report(message: str, remedy: str = "") -> None:
    """Prints an error on one line, and what to do about it on the next."""
    note(f"error: {' '.join(message.split())}" + (f"\n  {remedy}" if remedy else ""))


def print_json(value: Any) -> None:
    """Prints one JSON value on stdout."""
    put(json.dumps(value, sort_keys=True, ensure_ascii=False))


class Bars:
    """Progress bars on stderr, one a step, where stderr is a terminal; `bars(step, done, total)` moves them."""

    def __init__(self) -> None:
        self._bar: tqdm[None] | None = None
        self._step = ""

    def __enter__(self) -> Bars:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def __call__(self, step: str, done: int, total: int) -> None:
        if step != self._step or self._bar is None:
            if self._bar is not None:
                self._bar.close()
            size = total > 1 << 16  # bytes; smaller totals count things
            options: dict[str, Any] = {"unit": "B", "unit_scale": True, "unit_divisor": 1024} if size else {}
            self._bar = tqdm(
                desc=f"{step:>8}", total=total, file=sys.stderr, disable=not sys.stderr.isatty(), leave=False, **options
            )
            self._step = step
        self._bar.update(done - self._bar.n)
