"""Reading a checkpoint's small JSON files: every complaint names the file, the field and the value."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from tools.builder import files

T = TypeVar("T")
_MAX_FLOAT = 1 << 1000  # an integer beyond is no float


class AssetError(ValueError):
    """A file of the checkpoint that says something which a bundle cannot express."""


def read_json(path: Path) -> Any:
    """The JSON value in `path`. Raises AssetError where it is not JSON in UTF-8."""
    with _as_asset_error():
        return files.read_json(path)


def read_text(path: Path) -> str:
    """The text in `path`. Raises AssetError where it is not UTF-8 in a plain file."""
    with _as_asset_error():
        return files.read_text(path)


@contextlib.contextmanager
def _as_asset_error() -> Iterator[None]:
    try:
        yield
    except files.FileError as error:
        raise AssetError(str(error)) from None


def read_object(path: Path, *, optional: bool = False) -> dict[str, Any]:
    """The JSON object in `path`; empty where the file is absent and `optional`."""
    if optional and not path.exists():
        return {}
    value = read_json(path)
    if not isinstance(value, dict):
        raise AssetError(f"{path} holds a JSON {type(value).__name__}, not an object")
    return value


def field(source: Path, values: Mapping[str, Any], key: str, kind: type[T], default: T) -> T:
    """`values[key]`, or `default` where it is absent or null. An integer passes as a float, a bool not as a number."""
    value = values.get(key)
    if value is None:
        return default
    if kind is float and isinstance(value, int) and not isinstance(value, bool) and abs(value) < _MAX_FLOAT:
        value = float(value)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise AssetError(f"{source}: field {key!r} is {shown(value)}, not of type {kind.__name__}")
    return value


def shown(value: Any) -> str:
    """A value as a message shows it: of bounded length."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def canonical(value: Any) -> bytes:
    """The canonical JSON of a bundle: UTF-8, sorted keys, no spaces, a newline at the end."""
    return (
        json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False) + "\n"
    ).encode()
