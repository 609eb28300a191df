"""What is removed beside an output, and what is not."""

import errno
import fcntl
from pathlib import Path
from typing import Any

import pytest

from tools.builder.bundle import work_folder as work_folder_module
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


def test_AFolderThatAnotherProcessTookBeforeItsLockIsMadeAnew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock, seen = work_folder_module._lock, []

    def late(handle: int) -> Any:
        made = Path(f"/proc/self/fd/{handle}").resolve()
        seen.append(made)
        if len(seen) == 1:
            made.rmdir()  # what another process does that found it unlocked
        return lock(handle)

    monkeypatch.setattr(work_folder_module, "_lock", late)
    with work_folder(tmp_path / "x.bundle") as folder:
        assert folder.exists() and [folder] == seen[1:]
    assert names(tmp_path) == []


def test_AFolderThatAnotherProcessIsRemovingIsMadeAnew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    states = [work_folder_module._Lock.HELD_BY_ANOTHER, work_folder_module._Lock.TAKEN]
    monkeypatch.setattr(work_folder_module, "_lock", lambda handle: states.pop(0))
    with work_folder(tmp_path / "x.bundle") as folder:
        assert folder.exists() and states == []


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_WithoutLocksAFolderIsMadeAtOnceAndNoneIsRemoved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    calls = []

    def missing(handle: int, operation: int) -> None:
        calls.append(handle)
        raise OSError(number, "no locks here")

    monkeypatch.setattr(fcntl, "flock", missing)
    (tmp_path / ".x.bundle.mconnect-other").mkdir()
    with work_folder(tmp_path / "x.bundle") as folder:
        assert folder.exists() and len(calls) == 2
    assert names(tmp_path) == [".x.bundle.mconnect-other"]


def test_FoldersThatAlwaysVanishAreAnError(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_folder_module, "_lock", lambda handle: work_folder_module._Lock.HELD_BY_ANOTHER)
    with pytest.raises(OSError, match="work folders were removed by other processes"), work_folder(tmp_path / "x"):
        raise AssertionError("not reached")
    assert names(tmp_path) == []
