"""What a user sees: help with examples, exit codes, one-line errors, JSON."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tools.mconnect import main, native
from tools.mconnect.start import FAILED, OK, USAGE
from tools.mconnect.testing import Shell, shell

__all__ = ["shell"]
Call = Callable[..., tuple[int, str, str]]


def test_build_takes_paths_from_where_the_user_is(shell: Shell) -> None:
    done = shell.run("main", "build", "toy", "-o", "x.bundle", "--family", "family/family.json", "--json")
    assert done.returncode == OK, done.stderr
    answer = json.loads(done.stdout)
    assert answer["path"] == "x.bundle" and len(answer["id"]) == 64
    assert answer["size"] == (shell.folder / "x.bundle").stat().st_size
    assert done.stderr == ""  # no progress bars where nobody watches


def test_build_says_what_it_made(shell: Shell) -> None:
    done = shell.run("main", "build", "toy", "-o", "x.bundle", "--family", "family/family.json")
    assert done.returncode == OK and done.stdout.startswith("x.bundle: 0.0 MB, id ")


@pytest.fixture
def call(shell: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """The command line in this process: (exit code, stdout, stderr)."""
    monkeypatch.setenv("BUILD_WORKING_DIRECTORY", str(shell.folder))
    monkeypatch.chdir("/")

    def run(*args: str) -> tuple[int, str, str]:
        try:
            code = main.main(args)
        except SystemExit as stop:  # argparse's way to end
            code = int(stop.code or 0)
        return (code, *capsys.readouterr())

    return run


@pytest.mark.parametrize("command", ["build", "debug"])
def test_help_shows_an_example(call: Call, command: str) -> None:
    code, out, _ = call(command, "--help")
    assert code == OK and f"examples:\n  mconnect {command} " in out


def test_help_lists_every_command(call: Call) -> None:
    code, out, _ = call("--help")
    assert code == OK and all(f"  {name}" in out for name in ("build", "debug", *native.COMMANDS))


@pytest.mark.parametrize(
    "args",
    [[], ["bild"], ["build"], ["build", "toy"], ["build", "toy", "-o", "x", "--weights", "int3"], ["debug", "--x"]],
)
def test_wrong_usage_exits_with_2(call: Call, args: list[str]) -> None:
    assert call(*args)[0] == USAGE


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (["build", "nowhere", "-o", "x.bundle"], "error: nowhere does not exist, and is not a hub id"),
        (["build", "toy", "-o", "no/x.bundle"], "error: the folder no does not exist; make it"),
        (["build", "toy", "-o", "x.bundle", "--family", "none"], "error: there is no family 'none'; there are "),
        (["build", "toy", "-o", "x.bundle", "--family", "none.json"], "error: none.json: "),
        (["build", "toy/config.json", "-o", "x.bundle"], "error: toy/config.json is a file; a checkpoint is a folder"),
        (["debug", "toy/config.json"], "error: toy/config.json is neither a bundle nor a checkpoint folder"),
    ],
)
def test_a_failure_is_one_line_and_exits_with_1(call: Call, args: list[str], error: str) -> None:
    code, out, err = call(*args)
    assert (code, out) == (FAILED, "")
    assert err.startswith(error) and "Traceback" not in err and len(err.splitlines()) <= 2


def test_a_traceback_is_shown_when_asked_for(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCONNECT_TRACEBACK", "1")
    code, _, err = call("build", "nowhere", "-o", "x.bundle")
    assert code == FAILED and "Traceback" in err and "\nerror: nowhere" in err
