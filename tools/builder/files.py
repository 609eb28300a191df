"""Reading a checkpoint's files, whose origin is unknown: plain files alone, of bounded size, and JSON within limits.

Every message names the file and says what to do. Whoever reads a file of a certain kind turns FileError into the error
of that kind.
"""

from __future__ import annotations

import errno
import fnmatch
import json
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

MAX_TEXT = 1 << 28  # bytes: several times the largest tokenizer.json in use
MAX_DEPTH = 128  # of nested JSON, as in the tokenizers library
_MAX_DIGITS = 4300  # of an integer: CPython's own limit


class FileError(ValueError):
    """A file that is not one, or whose content is not what its name says."""


def plain(path: Path) -> Path:
    """The path of a plain file, behind symbolic links or not. Raises FileError for anything else that exists, which
    could block the reader for ever, and FileNotFoundError where there is nothing."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        if path.is_symlink():
            raise FileError(f"{path} is a symbolic link to {os.readlink(path)}, which does not exist") from None
        raise
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise FileError(f"{path} is a symbolic link that leads back to itself; copy the file there") from None
        raise
    if stat.S_ISDIR(mode):
        raise FileError(f"{path} is a folder; a file is needed there")
    if not stat.S_ISREG(mode):
        raise FileError(f"{path} is {_kind(mode)}; a checkpoint is made of plain files, so copy its content into one")
    return path


def open_plain(path: Path) -> IO[bytes]:
    """Opens a plain file for reading. Raises as `plain` does."""
    return plain(path).open("rb")


def check_members(folder: Path, patterns: Sequence[str]) -> None:
    """Raises FileError for a pipe, a socket or a device in a checkpoint's folder, and where a file that `patterns` name
    is a link to nothing or to itself. A pattern is a name, or a name below a folder's, with wildcards;
    whatever else is in those folders is not looked at."""
    for path in sorted(folder.iterdir()):
        wanted = [pattern for pattern in patterns if fnmatch.fnmatchcase(path.name, pattern.partition("/")[0])]
        if not path.is_dir():
            if path.exists() or any("/" not in pattern for pattern in wanted):
                plain(path)
            continue
        for name in {pattern.partition("/")[2] for pattern in wanted if "/" in pattern}:
            for inner in sorted(path.iterdir()):
                if fnmatch.fnmatchcase(inner.name, name):
                    plain(inner)


def read_text(path: Path) -> str:
    """The text of a plain file in UTF-8. Raises FileError, and OSError where it cannot be read."""
    with open_plain(path) as file:
        raw = file.read(MAX_TEXT + 1)
    if len(raw) > MAX_TEXT:
        raise FileError(f"{path} has more than {MAX_TEXT} bytes, the limit for a file of its kind")
    return _decoded(path, raw)


def read_json(path: Path) -> Any:
    """The JSON value in a plain file. Raises FileError, and OSError where it cannot be read."""
    return parse_json(read_text(path), str(path))


def parse_json(text: str, where: str, hook: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """The value of a JSON text. Raises FileError naming `where`: for what is not JSON, for a depth beyond MAX_DEPTH
    and for an integer too long to be read; `hook` gets the members of each object and may raise ValueError."""
    try:
        value = json.loads(text, parse_int=_integer, object_pairs_hook=hook)
    except json.JSONDecodeError as error:
        hint = "; it is empty: fetch it again" if not text.strip() else ""
        raise FileError(f"{where} is not valid JSON: {error}{hint}") from None
    except RecursionError:
        raise FileError(f"{where} is nested deeper than {MAX_DEPTH} levels, the limit") from None
    except ValueError as error:
        raise FileError(f"{where}: {error}") from None
    level, depth = [value], 1
    while level := [item for each in level for item in _items(each) if isinstance(item, dict | list)]:
        depth += 1
        if depth > MAX_DEPTH:
            raise FileError(f"{where} is nested deeper than {MAX_DEPTH} levels, the limit")
    return value


def _items(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _integer(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError(f"the number {digits[:12]}... has {len(digits)} digits; {_MAX_DIGITS} is the limit")
    return int(digits)


def _decoded(path: Path, raw: bytes) -> str:
    if raw.startswith(b"\xef\xbb\xbf"):
        raise FileError(f"{path} begins with a byte order mark; save it as UTF-8 without one")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileError(
            f"{path} is not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8, or fetch it again"
        ) from None


def _kind(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a pipe"
    return "a socket" if stat.S_ISSOCK(mode) else "a device"
