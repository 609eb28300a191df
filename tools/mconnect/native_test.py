"""Commands of the native binary reach it with their arguments, or say why not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tools.mconnect import native
from tools.mconnect.start import FAILED


def test_becomes_the_binary_with_the_same_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    binary = tmp_path / "mconnect"
    binary.write_text("#!/bin/sh\n")
    binary.chmod(0o755)
    calls: list[tuple[object, ...]] = []
    monkeypatch.setattr(native, "BINARY", binary)
    monkeypatch.setattr(os, "execv", lambda *args: calls.append(args))
    native.execute(["inspect", "x.bundle", "--json"])
    assert calls == [(binary, ["mconnect", "inspect", "x.bundle", "--json"])]


@pytest.mark.parametrize("kind", ["absent", "folder", "not executable"])
def test_says_where_the_binary_should_be(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    binary = tmp_path / "mconnect"
    if kind == "folder":
        binary.mkdir()
    elif kind == "not executable":
        binary.write_text("")
        monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may run anything
    monkeypatch.setattr(native, "BINARY", binary)
    assert native.execute(["verify", "x"]) == FAILED
    error = capsys.readouterr().err
    assert f"which is not at {binary}" in error and "bazel run //tools/mconnect -- verify" in error
