"""The manifest's closed schema, checked when a bundle is written. `docs/architecture.md` describes each key."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from tools.builder.bundle.format import (
    FORMAT,
    MAX_MANIFEST_SIZE,
    MAX_MEMBER_SIZE,
    MAX_MEMBERS,
    BundleError,
    check_path,
    check_paths,
)

DTYPES = frozenset(["bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64"])

_MAX_ITEMS = 4096  # of any list but the members and the checkpoint's files
_MAX_DIMENSIONS = 64
_Check = Callable[[Any, str], None]
_SHA256 = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[A-Za-z0-9._-]{1,128}")


def canonical_json(value: object) -> bytes:
    """UTF-8, keys sorted, no spaces, a newline at the end: equal values, equal bytes. Raises `BundleError` for NaN."""
    try:
        return (
            json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
            + b"\n"
        )
    except (TypeError, ValueError) as error:
        raise BundleError(f"not representable as JSON: {error}") from None


def validate_manifest(manifest: Mapping[str, Any]) -> None:
    """Raises `BundleError` that names the first key that breaks the schema, or a missing member that one refers to."""
    _MANIFEST(manifest, "manifest")
    paths = [member["path"] for member in manifest["members"]]
    if paths != sorted(set(paths)):
        raise BundleError("manifest.members: not sorted by path, or a path appears twice")
    check_paths(paths)
    present = frozenset(paths)
    for place, path in _references(manifest):
        if path not in present:
            raise BundleError(f"{place}: there is no member {path!r}")
    for task in manifest["tasks"]:
        if manifest["tasks"].count(task) > 1:
            raise BundleError(f"manifest.tasks: {task!r} appears twice")
    checkpoint = manifest["checkpoint"]
    if checkpoint["source"] == "folder" and (checkpoint["repository"], checkpoint["revision"]) != (None, None):
        raise BundleError("manifest.checkpoint: a folder has no repository or revision")
    if len(canonical_json(manifest)) > MAX_MANIFEST_SIZE:
        raise BundleError(f"manifest: more than the limit of {MAX_MANIFEST_SIZE} bytes")


def _references(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    found = [(f"manifest.assets.{name}", path) for name, path in manifest["assets"].items()]
    for name, module in manifest["modules"].items():
        place = f"manifest.modules.{name}"
        found.append((f"{place}.graph", module["graph"]))
        for i, variant in enumerate(module["variants"]):
            found.append((f"{place}.variants[{i}].path", variant["path"]))
            if variant["weights"] is not None:
                found.append((f"{place}.variants[{i}].weights", variant["weights"]))
    return found


def _excerpt(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:80] + "..."


def _expect(condition: bool, place: str, expected: str, value: object) -> None:
    if not condition:
        raise BundleError(f"{place}: expected {expected}, found {_excerpt(value)}")


def _closed(**keys: _Check) -> _Check:
    """An object with exactly these keys."""

    def check(value: Any, place: str) -> None:
        _expect(isinstance(value, Mapping), place, "an object", value)
        if unknown := sorted(set(value) - set(keys), key=str):
            raise BundleError(f"{place}: unknown key {unknown[0]!r}; the keys are {', '.join(sorted(keys))}")
        for key, check_value in keys.items():
            if key not in value:
                raise BundleError(f"{place}: the key {key!r} is missing")
            check_value(value[key], f"{place}.{key}")

    return check


def _map(check_value: _Check) -> _Check:
    """An object from names to values of one kind."""

    def check(value: Any, place: str) -> None:
        _expect(isinstance(value, Mapping), place, "an object", value)
        _expect(len(value) <= _MAX_ITEMS, place, f"at most {_MAX_ITEMS} keys", len(value))
        for key, item in value.items():
            _name(key, f"{place}: key")
            check_value(item, f"{place}.{key}")

    return check


def _list(check_item: _Check, limit: int = _MAX_ITEMS) -> _Check:
    def check(value: Any, place: str) -> None:
        _expect(isinstance(value, list), place, "a list", value)
        _expect(len(value) <= limit, place, f"at most {limit} items", len(value))
        for i, item in enumerate(value):
            check_item(item, f"{place}[{i}]")

    return check


def _optional(check_value: _Check) -> _Check:
    return lambda value, place: None if value is None else check_value(value, place)


def _text(value: Any, place: str) -> None:
    _expect(isinstance(value, str) and value.isprintable() and 0 < len(value) <= 4096, place, "printable text", value)


def _name(value: Any, place: str) -> None:
    _expect(isinstance(value, str) and _NAME.fullmatch(value) is not None, place, "a name (A-Z a-z 0-9 . _ -)", value)


def _sha256(value: Any, place: str) -> None:
    _expect(isinstance(value, str) and _SHA256.fullmatch(value) is not None, place, "64 lower-case hex digits", value)


def _bool(value: Any, place: str) -> None:
    _expect(isinstance(value, bool), place, "true or false", value)


def _size(value: Any, place: str) -> None:
    fits = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_MEMBER_SIZE
    _expect(fits, place, f"an integer from 0 to {MAX_MEMBER_SIZE}", value)


def _path(value: Any, place: str) -> None:
    _expect(isinstance(value, str), place, "a member path", value)
    try:
        check_path(value)
    except BundleError as error:
        raise BundleError(f"{place}: {error}") from None


def _one_of(*choices: object) -> _Check:
    def check(value: Any, place: str) -> None:
        same = any(type(value) is type(choice) and value == choice for choice in choices)
        _expect(same, place, " or ".join(map(repr, choices)), value)

    return check


def _dimension(value: Any, place: str) -> None:
    number = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63
    _expect(number or (isinstance(value, str) and 0 < len(value) <= 256), place, "a number or a symbol", value)


def _member(value: Any, place: str) -> None:
    _expect(isinstance(value, Mapping), place, "an object", value)
    digest = "build_key" if "build_key" in value else "sha256"
    _closed(**{"path": _path, "size": _size, digest: _sha256})(value, place)


_TENSORS = _list(_closed(name=_name, dtype=_one_of(*sorted(DTYPES)), shape=_list(_dimension, _MAX_DIMENSIONS)))
_VARIANT = _closed(engine=_name, path=_path, weights=_optional(_path), requires=_map(_text))
_MODULE = _closed(graph=_path, inputs=_TENSORS, outputs=_TENSORS, stateful=_bool, variants=_list(_VARIANT))
_CHECKPOINT = _closed(
    source=_one_of("hub", "folder"),
    repository=_optional(_text),
    revision=_optional(_text),
    files=_list(_closed(path=_text, size=_size, sha256=_sha256), MAX_MEMBERS),
)
_MANIFEST = _closed(
    format=_one_of(FORMAT),
    name=_name,
    family=_name,
    tasks=_list(_name),
    modules=_map(_MODULE),
    assets=_map(_path),
    checkpoint=_CHECKPOINT,
    licence=_optional(_text),
    builder=_text,
    members=_list(_member, MAX_MEMBERS),
)
