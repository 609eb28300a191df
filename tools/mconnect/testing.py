"""Runs the command line as a user would, in a process of its own, on the toy family."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.builder import toy


class Shell:
    """A folder with the checkpoint `toy/` and the family `family/family.json`, and a way to run programs in it."""

    def __init__(self, folder: Path, module: str = "encoder") -> None:
        self.folder = folder
        self.family = toy.family(folder / "family", module)
        toy.checkpoint(folder / "toy")

    def run(self, program: str, *args: object, **env: str) -> subprocess.CompletedProcess[str]:
        """Runs tools/mconnect/<program>.py from another folder, as `bazel run` does."""
        environment = {
            **os.environ,
            "BUILD_WORKING_DIRECTORY": str(self.folder),
            "PYTHONPATH": os.pathsep.join(filter(None, map(os.path.abspath, sys.path))),
            **env,
        }
        command = [sys.executable, "-m", f"tools.mconnect.{program}", *map(str, args)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd="/")


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A fresh Shell."""
    return Shell(tmp_path)
