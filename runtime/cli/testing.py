"""Drives the program as a shell would, for its tests."""

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PROGRAM = os.path.abspath(os.environ.get("PROGRAM", "runtime/cli/mconnect"))


@dataclass(frozen=True)
class Result:
    code: int
    out: bytes
    err: str


def run(
    *args: str | bytes | Path,
    stdin: bytes = b"",
    store: Path | None = None,
    env: dict[str, str] | None = None,
    stdout: int = subprocess.PIPE,
) -> Result:
    """Runs `mconnect args...` with a store of its own and nothing else in the environment."""
    full_env = dict(env or {})
    if store is not None:
        full_env["MCONNECT_STORE"] = str(store)
    process = subprocess.run(
        [PROGRAM, *args], input=stdin, stdout=stdout, stderr=subprocess.PIPE, env=full_env, check=False
    )
    return Result(process.returncode, process.stdout or b"", process.stderr.decode("utf-8", "replace"))


def succeed(*args: str | bytes | Path, stdin: bytes = b"", store: Path | None = None) -> bytes:
    """Runs a command that must succeed; what it printed."""
    result = run(*args, stdin=stdin, store=store)
    assert result.code == 0, result.err
    return result.out


def fail(
    code: int, words: Sequence[str], *args: str | bytes | Path, stdin: bytes = b"", store: Path | None = None
) -> str:
    """Runs a command that must end with `code`, no output and an error with these words in it."""
    result = run(*args, stdin=stdin, store=store)
    assert result.code == code, (result.code, result.err)
    assert result.out == b""
    assert result.err.startswith("error: "), result.err
    for word in words:
        assert word in result.err, (word, result.err)
    return result.err
