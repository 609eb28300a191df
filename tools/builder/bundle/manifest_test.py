"""The manifest's schema is closed: every deviation is refused with its place."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tools.builder.bundle.format import BundleError
from tools.builder.bundle.manifest import canonical_json, validate_manifest
from tools.builder.bundle.testing import MEMBERS, example_manifest

SHA = "a" * 64


def complete() -> dict[str, Any]:
    return {
        **example_manifest(),
        "members": [{"path": p, "size": len(MEMBERS[p]), "sha256": SHA} for p in sorted(MEMBERS)],
    }


def encoder(manifest: dict[str, Any]) -> dict[str, Any]:
    module: dict[str, Any] = manifest["modules"]["encoder"]
    return module


def test_accepts_the_example() -> None:
    validate_manifest(complete())


def test_accepts_null_where_the_schema_says_so() -> None:
    manifest = complete()
    manifest["licence"] = None
    manifest["checkpoint"].update(source="folder", repository=None, revision=None)
    encoder(manifest)["variants"][0]["weights"] = None
    validate_manifest(manifest)


def _keys(value: object, place: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The places of all objects whose keys are closed."""
    found: list[tuple[str | int, ...]] = []
    if isinstance(value, dict):
        if place not in [("modules",), ("assets",)] and place[-1:] != ("requires",):
            found.append(place)
        for key, item in value.items():
            found += _keys(item, (*place, key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            found += _keys(item, (*place, i))
    return found


@pytest.mark.parametrize("place", _keys(complete()))
def test_refuses_an_unknown_key_everywhere(place: tuple[str | int, ...]) -> None:
    manifest = complete()
    target: Any = manifest
    for step in place:
        target = target[step]
    target["surprise"] = 1
    with pytest.raises(BundleError, match="unknown key 'surprise'"):
        validate_manifest(manifest)


@pytest.mark.parametrize("place", _keys(complete()))
def test_refuses_a_missing_key_everywhere(place: tuple[str | int, ...]) -> None:
    original = complete()
    target: Any = original
    for step in place:
        target = target[step]
    for key in list(target):
        manifest = copy.deepcopy(original)
        target = manifest
        for step in place:
            target = target[step]
        del target[key]
        with pytest.raises(BundleError, match=f"the key '{key}' is missing"):
            validate_manifest(manifest)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.update(format=2), "manifest.format: expected 1, found 2"),
        (lambda m: m.update(format=True), "manifest.format: expected 1, found True"),
        (lambda m: m.update(name="a b"), "manifest.name: expected a name"),
        (lambda m: m.update(tasks="text-embedding"), "manifest.tasks: expected a list"),
        (lambda m: m.update(tasks=["a", "a"]), "manifest.tasks: 'a' appears twice"),
        (lambda m: m.update(licence=""), "manifest.licence: expected printable text"),
        (lambda m: m["assets"].update(x="none"), "manifest.assets.x: there is no member 'none'"),
        (lambda m: m["assets"].update(x="../y"), "manifest.assets.x: member path '../y'"),
        (lambda m: encoder(m).update(graph="none"), "manifest.modules.encoder.graph: there is no member 'none'"),
        (lambda m: encoder(m).update(stateful=1), "stateful: expected true or false, found 1"),
        (lambda m: encoder(m)["inputs"][1].update(dtype="float"), r"inputs\[1\].dtype: expected 'bf16'"),
        (
            lambda m: encoder(m)["inputs"][0].update(shape=[-1]),
            r"inputs\[0\].shape\[0\]: expected a number or a symbol",
        ),
        (lambda m: encoder(m)["variants"][0].update(path="none"), "no member 'none'"),
        (lambda m: encoder(m)["variants"][0].update(weights="none"), "no member 'none'"),
        (
            lambda m: encoder(m)["variants"][0]["requires"].update(version=2026),
            "requires.version: expected printable text",
        ),
        (lambda m: m["checkpoint"].update(source="ftp"), "checkpoint.source: expected 'hub' or 'folder'"),
        (lambda m: m["checkpoint"].update(source="folder"), "a folder has no repository"),
        (lambda m: m["members"][0].update(size=-1), r"members\[0\].size: expected an integer"),
        (lambda m: m["members"][0].update(size=1 << 41), r"members\[0\].size: expected an integer"),
        (lambda m: m["members"][0].update(sha256="A" * 64), r"members\[0\].sha256: expected 64"),
        (lambda m: m["members"].reverse(), "not sorted"),
        (lambda m: m["members"].insert(0, m["members"][0]), "appears twice"),
    ],
)
def test_refuses_and_names_the_place(change: Callable[[dict[str, Any]], None], message: str) -> None:
    manifest = complete()
    change(manifest)
    with pytest.raises(BundleError, match=message):
        validate_manifest(manifest)


def test_canonical_json_is_sorted_compact_utf8() -> None:
    assert canonical_json({"b": 1, "a": ["é", None, True]}) == '{"a":["é",null,true],"b":1}\n'.encode()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), b"bytes", {1, 2}])
def test_canonical_json_refuses_what_json_cannot_say(value: object) -> None:
    with pytest.raises(BundleError):
        canonical_json(value)
