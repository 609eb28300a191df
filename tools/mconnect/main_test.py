"""What a user sees: help with examples, exit codes, one-line errors, JSON."""

from __future__ import annotations

import json

import pytest

from tools.mconnect.console import FAILED, OK, USAGE
from tools.mconnect.testing import Shell, shell

__all__ = ["shell"]


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


@pytest.mark.parametrize("command", ["build", "debug"])
def test_help_shows_an_example(shell: Shell, command: str) -> None:
    done = shell.run("main", command, "--help")
    assert done.returncode == OK
    assert f"examples:\n  mconnect {command} " in done.stdout


def test_help_lists_every_command(shell: Shell) -> None:
    done = shell.run("main", "--help")
    assert done.returncode == OK
    assert all(
        f"  {name}" in done.stdout
        for name in ("build", "debug", "run", "embed", "search", "tokenize", "inspect", "verify", "unpack")
    )


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["bild"],
        ["build"],
        ["build", "toy"],
        ["build", "toy", "-o", "x", "--weights", "int3"],
        ["debug", "x", "--nope"],
    ],
)
def test_wrong_usage_exits_with_2(shell: Shell, args: list[str]) -> None:
    assert shell.run("main", *args).returncode == USAGE


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
def test_a_failure_is_one_line_and_exits_with_1(shell: Shell, args: list[str], error: str) -> None:
    done = shell.run("main", *args)
    assert (done.returncode, done.stdout) == (FAILED, "")
    assert done.stderr.startswith(error) and "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 2


def test_a_traceback_is_shown_when_asked_for(shell: Shell) -> None:
    done = shell.run("main", "build", "nowhere", "-o", "x.bundle", MCONNECT_TRACEBACK="1")
    assert done.returncode == FAILED and "Traceback" in done.stderr and "\nerror: nowhere" in done.stderr
