"""Reading a checkpoint's small JSON files: every complaint names the file, the field and the value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


class AssetError(ValueError):
    """A file of the checkpoint that says something which a bundle cannot express."""


def read_json(path: Path) -> Any:
    """The JSON value in `path`. Raises AssetError where it is not JSON in UTF-8."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise AssetError(f"{path} is not valid JSON: {error}") from None


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
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise AssetError(f"{source}: field {key!r} is {value!r}, not of type {kind.__name__}")
    return value


def canonical(value: Any) -> bytes:
    """The canonical JSON of a bundle: UTF-8, sorted keys, no spaces, a newline at the end."""
    return (
        json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False) + "\n"
    ).encode()
