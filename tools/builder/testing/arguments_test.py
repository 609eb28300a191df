"""Paths are named, and none may be left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.builder.testing.arguments import paths


def test_PathsAreGivenByName() -> None:
    found = paths(["--bundle", "b", "--checkpoint", "c"], "x", "X.", checkpoint="a folder", bundle="a file")
    assert (found.checkpoint, found.bundle) == (Path("c"), Path("b"))


def test_APathLeftOutIsNamed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        paths(["--bundle", "b"], "x", "X.", checkpoint="a folder", bundle="a file")
    assert "--checkpoint" in capsys.readouterr().err
