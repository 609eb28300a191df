"""The build action's program: one family, the bytes of the command line, and nothing of torch."""

from __future__ import annotations

import os
import sys

from tools.mconnect.start import FAILED, OK, USAGE
from tools.mconnect.testing import Shell, shell

__all__ = ["shell"]


def test_gives_the_bytes_of_the_command_line(shell: Shell) -> None:
    here = shell.folder
    action = shell.run("build_tool", here / "toy", "-o", here / "a.bundle", "--name", "toy", "--family", shell.family)
    command = shell.run("main", "build", "toy", "-o", "b.bundle", "--family", "family/family.json")
    assert (action.returncode, command.returncode) == (OK, OK), action.stderr + command.stderr
    assert (here / "a.bundle").read_bytes() == (here / "b.bundle").read_bytes()


def test_a_family_must_be_named(shell: Shell) -> None:
    done = shell.run("build_tool", shell.folder / "toy", "-o", shell.folder / "a.bundle")
    assert done.returncode == USAGE and "--family is required" in done.stderr


def test_a_failure_is_one_line(shell: Shell) -> None:
    done = shell.run("build_tool", "/nowhere", "-o", shell.folder / "a.bundle", "--family", shell.family)
    assert done.returncode == FAILED and done.stderr.startswith("error: /nowhere does not exist")


def test_reads_no_module_of_torch_or_transformers(shell: Shell) -> None:
    (shell.folder / "torch.py").write_text("raise AssertionError('torch is imported')")
    (shell.folder / "transformers.py").write_text("raise AssertionError('transformers is imported')")
    path = os.pathsep.join([str(shell.folder), *filter(None, map(os.path.abspath, sys.path))])
    done = shell.run(
        "build_tool", shell.folder / "toy", "-o", shell.folder / "a.bundle", "--family", shell.family, PYTHONPATH=path
    )
    assert done.returncode == OK, done.stderr
