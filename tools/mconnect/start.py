"""The first and the last of a program: Ctrl-C while Python still imports, and standard output that nobody reads.

Imports nothing but the standard library, so that it is there before anything that takes time.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable

OK, FAILED, USAGE, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 130, 141


class OutputError(Exception):
    """Standard output cannot be written."""


class OutputClosed(OutputError):
    """Whoever read standard output has closed it."""


def start(program: Callable[[], int]) -> int:
    """Runs `program`, which does its own imports, as all of this process, and returns its exit code: 130 where Ctrl-C
    came, 141 where nobody reads its standard output any more."""
    _fill_standard_streams()
    # Nothing is made yet that would have to be removed. `console.guarded` lets Ctrl-C unwind once there is.
    signal.signal(signal.SIGINT, lambda number, frame: os._exit(INTERRUPTED))
    try:
        code = program()
    except SystemExit as stop:  # argparse has printed its help
        code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else FAILED
    except OutputClosed:
        code = BROKEN_PIPE
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the interpreter's own end would answer with a traceback
    try:
        _flush()
    except OutputClosed:
        code = BROKEN_PIPE
    except OutputError as error:
        note(f"error: {error}")
        code = FAILED
    return code


def put(text: str) -> None:
    """Prints a line on standard output. Raises OutputError."""
    with contextlib.suppress(OSError):  # `_flush` meets it again: what could not be written is kept
        print(text)
    _flush()


def note(text: str) -> None:
    """Prints a line on standard error, if that can be written."""
    with contextlib.suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)


def _flush() -> None:
    try:
        sys.stdout.flush()
    except OSError as error:
        # What is buffered goes nowhere, or the interpreter would try once more at its end, and complain.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        if isinstance(error, BrokenPipeError):
            raise OutputClosed("standard output is closed") from None
        raise OutputError(f"cannot write to standard output: {error.strerror}") from None


def _fill_standard_streams() -> None:
    """Keeps a file that is opened later from taking the number of a closed standard stream, and what is printed from
    going into it. Using standard input or output still fails; what is said on standard error is lost."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDONLY if number == 1 else os.O_WRONLY)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
    # Python has put None in place of a closed stream, and `print` ignores that. Standard output is buffered whatever
    # PYTHONUNBUFFERED says: argparse ignores an error of the write itself, so it must come from `_flush`. A file's name
    # that is no text is printed as the bytes that it is.
    encoding = "utf-8" if sys.stdout is None else sys.stdout.encoding
    sys.stdout = os.fdopen(1, "w", encoding=encoding, errors="surrogateescape", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
