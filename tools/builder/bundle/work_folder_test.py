"""What is removed beside an output, and what is not."""

from pathlib import Path

import pytest

from tools.builder.bundle.work_folder import work_folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_TheFolderIsGoneHoweverTheBlockEnds(tmp_path: Path) -> None:
    with work_folder(tmp_path / "x.bundle") as folder:
        (folder / "weights").write_text("half")
        assert folder.parent == tmp_path
    assert names(tmp_path) == []
    with pytest.raises(KeyboardInterrupt), work_folder(tmp_path / "x.bundle") as folder:
        (folder / "weights").write_text("half")
        raise KeyboardInterrupt
    assert names(tmp_path) == []


def test_WhatAKilledProcessLeftIsRemoved(tmp_path: Path) -> None:
    left = tmp_path / ".x.bundle.mconnect-a1b2c3d4"
    left.mkdir()
    (left / "weights").write_text("half")
    with work_folder(tmp_path / "x.bundle"):
        assert not left.exists()


def test_NothingElseIsTouched(tmp_path: Path) -> None:
    kept = [".x.bundle.mine", "x.bundle.mconnect-a", ".y.bundle.mconnect-a"]
    for name in kept:
        (tmp_path / name).mkdir()
    (tmp_path / ".x.bundle.mconnect-file").write_text("mine")
    with work_folder(tmp_path / "x.bundle") as running, work_folder(tmp_path / "x.bundle"):
        assert running.exists()  # another process of the same output holds it
    assert names(tmp_path) == sorted([*kept, ".x.bundle.mconnect-file"])
