"""Feeds a reader mutated files until the time is over, and looks that its own error is all that comes out.

    run(Target(seeds, mutate, read, errors), Limits(seconds=600), seed=1)

Input number i depends on (seed, i) alone. What breaks a promise is kept beside its traceback, with the number that
makes it again. Promises: only the reader's own errors escape; one input takes bounded time and bounded memory.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import random
import resource
import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType

INTERESTING = (
    0, 1, 2, 3, 7, 8, 31, 32, 33, 127, 128, 255, 256, 0x7FFF, 0xFFFF, 1 << 24, (1 << 31) - 1, 1 << 31, (1 << 32) - 1,
    1 << 32, (1 << 53) + 1, (1 << 62), (1 << 63) - 1, 1 << 63, (1 << 64) - 1,
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Target:
    """`mutate` makes a file of a random source; `read` reads it and raises one of `errors`, or returns."""

    mutate: Callable[[random.Random], bytes]
    read: Callable[[Path], None]
    errors: tuple[type[Exception], ...]
    suffix: str


@dataclasses.dataclass(frozen=True)
class Limits:
    """Of a whole run: seconds or a number of inputs; of one input: seconds of CPU time and bytes of memory."""

    seconds: float | None = None
    inputs: int | None = None
    input_seconds: float = 5.0
    input_bytes: int = 1 << 30


class Slow(BaseException):
    """Reading one input takes too long. Not an Exception, so that no reader takes it for a fault of the file."""


@dataclasses.dataclass
class Outcome:
    """What a run saw: inputs by the first words of their error ("" for those that were read), and broken promises."""

    inputs: int = 0
    kinds: Counter[str] = dataclasses.field(default_factory=Counter)
    findings: list[tuple[int, bytes, str]] = dataclasses.field(default_factory=list)


def damaged(rng: random.Random, content: bytes, times: int) -> bytes:
    """`content` after some changes of its bytes: bits, numbers, pieces cut, repeated, moved or put in."""
    data = bytearray(content)
    for _ in range(times):
        size = len(data)
        at, length = rng.randrange(size + 1), rng.choice((1, 2, 4, 8, 16, 64, 256))
        choice = rng.randrange(7)
        if choice == 0 and at < size:
            data[at] ^= 1 << rng.randrange(8)
        elif choice == 1 and at < size:
            data[at] = rng.randrange(256)
        elif choice == 2:
            width = rng.choice((1, 2, 4, 8))
            number = rng.choice((*INTERESTING, size, size - at if size > at else 0)) & ((1 << 8 * width) - 1)
            data[at : at + width] = number.to_bytes(width, "little")
        elif choice == 3:
            del data[at : at + length]
        elif choice == 4:
            data[at:at] = data[at : at + length]
        elif choice == 5:
            data[at:at] = rng.randbytes(length)
        elif choice == 6 and rng.random() < 0.2:
            del data[at:]
    return bytes(data)


def run(target: Target, limits: Limits, seed: int, first: int = 0) -> Outcome:
    """Runs until a limit is met. At least one of `seconds` and `inputs` must be given."""
    outcome = Outcome()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        path = Path(folder) / f"input{target.suffix}"
        with _bounded(limits), _temporary_files_in(folder):
            while _goes_on(limits, outcome.inputs, began):
                number = first + outcome.inputs
                content = target.mutate(random.Random(f"{seed}/{number}"))
                path.write_bytes(content)
                kind, fault = _one(target, path, limits)
                outcome.inputs += 1
                outcome.kinds[kind] += 1
                if fault:
                    outcome.findings.append((number, content, fault))
    return outcome


@contextlib.contextmanager
def _temporary_files_in(folder: str) -> Iterator[None]:
    before, tempfile.tempdir = tempfile.tempdir, folder
    try:
        yield
    finally:
        tempfile.tempdir = before


def _goes_on(limits: Limits, inputs: int, began: float) -> bool:
    assert limits.seconds is not None or limits.inputs is not None
    enough = limits.inputs is not None and inputs >= limits.inputs
    return not enough and (limits.seconds is None or time.monotonic() - began < limits.seconds)


def _one(target: Target, path: Path, limits: Limits) -> tuple[str, str | None]:
    signal.setitimer(signal.ITIMER_PROF, limits.input_seconds)
    try:
        target.read(path)
    except target.errors as error:
        return _kind(str(error), path), None
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of a library in Rust is no Exception
        return type(error).__name__, "".join(traceback.format_exception(error))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return "", None


def _kind(message: str, path: Path) -> str:
    words = message.replace(str(path), "FILE").split()
    return " ".join(word for word in words[:9] if not any(letter.isdigit() for letter in word))[:60]


class _bounded:
    """Bounds memory of the process, so that a reader that believes a count gets MemoryError, and takes its time."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def __enter__(self) -> None:
        self._before = resource.getrlimit(resource.RLIMIT_AS)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + self._limits.input_bytes
        resource.setrlimit(resource.RLIMIT_AS, (most, self._before[1]))
        self._handler = signal.signal(signal.SIGPROF, self._slow)

    def __exit__(self, *error: object) -> None:
        signal.signal(signal.SIGPROF, self._handler)
        resource.setrlimit(resource.RLIMIT_AS, self._before)

    def _slow(self, number: int, frame: FrameType | None) -> None:
        raise Slow(f"more than {self._limits.input_seconds} s for one input")


def main(target: Target, argv: Sequence[str], description: str | None) -> int:
    """The program around a target. Exit codes: 0 no promise was broken, 1 some were, 2 wrong usage."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long (default: 60)")
    parser.add_argument("--inputs", type=int, help="stop after so many inputs")
    parser.add_argument("--seed", type=int, default=1, help="another seed makes other inputs (default: 1)")
    parser.add_argument(
        "--first", type=int, default=0, help="number of the first input, to make one again (default: 0)"
    )
    parser.add_argument("--keep", type=Path, help="folder for inputs that broke a promise")
    args = parser.parse_args(argv)
    outcome = run(target, Limits(args.seconds, args.inputs), args.seed, args.first)
    for kind, count in outcome.kinds.most_common(40):
        print(f"{count:>9}  {kind or 'read'}")
    for number, content, fault in outcome.findings[:20]:
        print(f"input {number} of seed {args.seed} ({len(content)} bytes):\n{fault}")
        if args.keep:
            args.keep.mkdir(parents=True, exist_ok=True)
            (args.keep / f"{args.seed}-{number}{target.suffix}").write_bytes(content)
    print(f"{outcome.inputs} inputs, {len(outcome.findings)} broke a promise")
    return 1 if outcome.findings else 0
