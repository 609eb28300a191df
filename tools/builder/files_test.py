"""Only plain files are read, and JSON within limits; every refusal names the file and what to do."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.builder import files
from tools.builder.checkpoint import Checkpoint, CheckpointError, read_header
from tools.builder.files import FileError, check_members, parse_json, plain, read_json, read_text
from tools.builder.gguf.reader import read_gguf
from tools.builder.source import SourceError, locate
from tools.builder.testing.safetensors_files import checkpoint_folder, zeros


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # a socket's path may have 107 bytes only
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


KINDS: dict[str, tuple[Callable[[Path], None], str]] = {
    "pipe": (_pipe, "is a pipe; a checkpoint is made of plain files, so copy its content into one"),
    "socket": (_socket, "is a socket; a checkpoint is made of plain files"),
    "device": (_device, "is a device; a checkpoint is made of plain files"),
    "loop": (_loop, "is a symbolic link that leads back to itself; copy the file there"),
    "dangling": (lambda path: path.symlink_to("gone"), "is a symbolic link to gone, which does not exist"),
    "folder": (Path.mkdir, "is a folder; a file is needed there"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_WhatIsNoPlainFileIsRefusedAtOnce(tmp_path: Path, kind: str) -> None:
    make, reason = KINDS[kind]
    make(tmp_path / "a.json")
    for read in (plain, read_json, read_text):
        with pytest.raises(FileError, match=f"a.json {reason}"):
            read(tmp_path / "a.json")


@pytest.mark.parametrize(
    "name", ["config.json", "tokenizer.json", "model.safetensors", "vocab.txt", "1_Pooling/config.json"]
)
@pytest.mark.parametrize("kind", KINDS.keys() - {"folder"})
def test_ACheckpointWithSuchAMemberIsRefusedAtOnce(tmp_path: Path, kind: str, name: str) -> None:
    make, reason = KINDS[kind]
    folder = checkpoint_folder(tmp_path / "model", {}, zeros(a=(1,)))
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).unlink(missing_ok=True)
    make(folder / name)
    with pytest.raises(CheckpointError, match=f"{name} {reason}"):
        locate(str(folder)).open()


@pytest.mark.parametrize("kind", ["pipe", "socket", "device"])
def test_AMemberThatNobodyReadsIsRefusedToo(tmp_path: Path, kind: str) -> None:
    folder = checkpoint_folder(tmp_path / "model", {}, zeros(a=(1,)))
    KINDS[kind][0](folder / "anything")
    with pytest.raises(CheckpointError, match="anything is a"):
        Checkpoint.open(folder)


def test_LinksToPlainFilesAndWhatNobodyReadsAreAdmitted(tmp_path: Path) -> None:
    folder = checkpoint_folder(tmp_path / "model", {}, zeros(a=(1,)))
    (folder / "config.json").rename(tmp_path / "blob")
    (folder / "config.json").symlink_to("../blob")
    (folder / "pytorch_model.bin").symlink_to("gone")  # as in a hub's cache that was cleaned
    (folder / "LICENSES").mkdir()
    (folder / ".git").mkdir()
    _socket(folder / ".git" / "fsmonitor")
    assert Checkpoint.open(folder).config == {}


@pytest.mark.parametrize("kind", KINDS.keys() - {"folder"})
def test_WhatIsGivenInPlaceOfACheckpointIsRefusedAtOnce(tmp_path: Path, kind: str) -> None:
    make, reason = KINDS[kind]
    make(tmp_path / "x.gguf")
    with pytest.raises(SourceError, match=f"x.gguf {reason}"):
        locate(str(tmp_path / "x.gguf"))
    for read in (read_gguf, read_header):
        with pytest.raises((CheckpointError, FileNotFoundError)):
            read(tmp_path / "x.gguf")


def test_MembersThatVanishedAreNobodysConcern(tmp_path: Path) -> None:
    check_members(tmp_path, ["*.json", "*/config.json"])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\xef\xbb\xbf{}", "a.json begins with a byte order mark; save it as UTF-8 without one"),
        (b'{"a": "\xff"}', "a.json is not UTF-8 .*at byte 7.*; save it as UTF-8, or fetch it again"),
        (b"{", "a.json is not valid JSON: Expecting property name"),
        (b" ", "a.json is not valid JSON: .*; it is empty: fetch it again"),
        (b"[" * 129 + b"]" * 129, "a.json is nested deeper than 128 levels, the limit"),
        (b"[" * 100_000, "a.json is nested deeper than 128 levels, the limit"),
        (b'{"a":' * 5000 + b"1" + b"}" * 5000, "a.json is nested deeper than 128 levels, the limit"),
        (b"[" + b"1" * 5000 + b"]", r"a.json: the number 111111111111... has 5000 digits; 4300 is the limit"),
    ],
)
def test_AFaultyFileIsToldWhatIsWrongAndWhatToDo(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(FileError, match=reason):
        read_json(tmp_path / "a.json")


def test_ReadsWhatIsWithinTheLimits(tmp_path: Path) -> None:
    assert parse_json("[" * 128 + "9" * 4300 + "]" * 128, "x")
    (tmp_path / "a.json").write_text('{"ü": [1, 2.5, NaN]}', encoding="utf-8")
    assert list(read_json(tmp_path / "a.json")) == ["ü"]


def test_AFileBeyondTheLimitIsNotReadWhole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_TEXT", 10)
    (tmp_path / "a.json").write_text("1" * 11)
    with pytest.raises(FileError, match="a.json has more than 10 bytes, the limit"):
        read_text(tmp_path / "a.json")
