"""Ctrl-C at any moment and closed streams end a program with their exit codes, and never with a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tools.mconnect.start import BROKEN_PIPE, FAILED, INTERRUPTED, OK
from tools.mconnect.testing import Shell, shell

__all__ = ["shell"]

_WAITS = """
import sys, time
class Waits:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            print("ready", file=sys.stderr, flush=True)
            time.sleep(60)
sys.meta_path.insert(0, Waits())
sys.argv = ["mconnect", "build", "toy", "-o", "x.bundle"]
import runpy
runpy.run_module("tools.mconnect.main", run_name="__main__")
"""


def _environment(shell: Shell) -> dict[str, str]:
    path = os.pathsep.join(filter(None, map(os.path.abspath, sys.path)))
    return {**os.environ, "BUILD_WORKING_DIRECTORY": str(shell.folder), "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"}


def _bash(shell: Shell, line: str) -> subprocess.CompletedProcess[str]:
    """Runs a line of bash in which $BUILD is the command that builds the toy, and $ERR the name of a file."""
    build = f"{sys.executable} -m tools.mconnect.main build toy -o x.bundle --family family/family.json"
    return subprocess.run(
        ["bash", "-c", line],
        env={**_environment(shell), "BUILD": build, "ERR": str(shell.folder / "err")},
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
    )


@pytest.mark.parametrize("module", ["tools.mconnect.build_command", "openvino", "tools.builder.resolve"])
def test_ctrl_c_while_python_imports_is_quiet(shell: Shell, module: str) -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", _WAITS.format(module=module)],
        env=_environment(shell),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd="/",
    )
    assert program.stderr is not None and program.stderr.readline() == "ready\n"
    program.send_signal(signal.SIGINT)
    out, err = program.communicate()
    assert (program.returncode, out, err) == (INTERRUPTED, "", "")


@pytest.mark.parametrize("option", ["", "--json"])
def test_an_output_that_nobody_reads_ends_as_the_native_program_does(shell: Shell, option: str) -> None:
    done = _bash(shell, f'$BUILD {option} 2>$ERR | head -0; echo "${{PIPESTATUS[0]}}"; cat $ERR')
    assert done.stdout == f"{BROKEN_PIPE}\n", done.stderr
    assert (shell.folder / "x.bundle").exists()


def test_help_that_nobody_reads_ends_likewise(shell: Shell) -> None:
    done = _bash(shell, '$BUILD --help 2>$ERR | head -0; echo "${PIPESTATUS[0]}"; cat $ERR')
    assert done.stdout == f"{BROKEN_PIPE}\n", done.stderr


@pytest.mark.parametrize(
    ("target", "reason"), [("&-", "Bad file descriptor"), ("/dev/full", "No space left on device")]
)
def test_an_output_that_cannot_be_written_is_an_error(shell: Shell, target: str, reason: str) -> None:
    done = _bash(shell, f"$BUILD >{target}")
    assert (done.returncode, done.stderr) == (FAILED, f"error: cannot write to standard output: {reason}\n")
    assert (shell.folder / "x.bundle").read_bytes()[:4] == b"\x28\xb5\x2f\xfd"  # and nothing was printed into it


@pytest.mark.parametrize("closed", ["2>&-", "<&-", "2>/dev/full"])
def test_other_closed_streams_change_nothing(shell: Shell, closed: str) -> None:
    done = _bash(shell, f"$BUILD {closed}")
    assert done.returncode == OK and done.stdout.startswith("x.bundle: ")
    (shell.folder / "x.bundle").write_text("kept")
    done = _bash(shell, f"$BUILD {closed}")
    assert done.returncode == FAILED and done.stdout == "" and "Traceback" not in done.stderr


@pytest.mark.parametrize("option", ["", "--json"])
def test_a_name_that_is_no_text_is_printed_as_its_bytes(shell: Shell, option: str) -> None:
    line = "cd $BUILD_WORKING_DIRECTORY; $BUILD -o $'\\xff.bundle'"
    done = _bash(shell, f"{line} {option} | LC_ALL=C grep -c -a $'\\xff'")
    assert (done.stdout, done.stderr) == ("1\n", "")
    assert os.listdir(os.fsencode(shell.folder)).count(b"\xff.bundle") == 1


def test_what_the_builder_warns_of_is_a_line(shell: Shell) -> None:
    script = "import logging; from tools.mconnect.console import guarded; import sys\n"
    script += "sys.exit(guarded(lambda: logging.getLogger('mconnect.builder').warning('x is %s', 1) or 0))"
    done = subprocess.run(
        [sys.executable, "-c", script], env=_environment(shell), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (OK, "warning: x is 1\n")


def test_start_imports_the_standard_library_alone() -> None:
    text = (Path(__file__).parent / "start.py").read_text()
    imported = {
        line.split()[1].partition(".")[0] for line in text.splitlines() if line.startswith(("import ", "from "))
    }
    assert imported <= sys.stdlib_module_names
