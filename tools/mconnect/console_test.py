"""Failures become exit codes and lines; bars are for terminals."""

from __future__ import annotations

import io
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.builder.pipeline import BuildError
from tools.mconnect.console import Bars, enter_working_directory, guarded, report
from tools.mconnect.start import FAILED, INTERRUPTED, OK


def _raising(error: BaseException) -> Callable[[], int]:
    def command() -> int:
        raise error

    return command


def test_a_command_that_ends_well_keeps_its_code() -> None:
    assert guarded(lambda: OK) == OK


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (BuildError("the disk\nis full"), FAILED, "error: the disk is full\n"),
        (
            FileNotFoundError(2, "No such file", "x"),
            FAILED,
            "error: [Errno 2] No such file: 'x'\n  check that the path exists",
        ),
        (ZeroDivisionError("x"), FAILED, "error: ZeroDivisionError: x\n  this is a defect of mconnect"),
        (KeyboardInterrupt(), INTERRUPTED, "interrupted\n"),
    ],
)
def test_a_failure_becomes_a_line_and_a_code(
    error: BaseException, code: int, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert guarded(_raising(error)) == code
    assert capsys.readouterr().err.startswith(text)


def test_sigterm_unwinds_as_an_interrupt_does() -> None:
    cleaned = []

    def command() -> int:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(10)
        finally:
            cleaned.append("work folder")
        return OK

    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit) as ended:
            guarded(command)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (ended.value.code, cleaned) == (128 + signal.SIGTERM, ["work folder"])


def test_report_puts_the_remedy_on_a_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    report("bad\n thing", "do this")
    assert capsys.readouterr().err == "error: bad thing\n  do this\n"


def test_the_working_directory_is_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    monkeypatch.setenv("BUILD_WORKING_DIRECTORY", str(tmp_path))
    enter_working_directory()
    assert Path(os.getcwd()) == tmp_path


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stream", "shown"), [(_Terminal(), True), (io.StringIO(), False)])
def test_bars_are_drawn_on_terminals_alone(stream: io.StringIO, shown: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    with Bars() as bars:
        bars("store", 1 << 19, 1 << 20)
        bars("store", 1 << 20, 1 << 20)
        bars("write", 1, 1)
    assert ("store" in stream.getvalue() and "write" in stream.getvalue()) is shown
    assert shown or stream.getvalue() == ""
