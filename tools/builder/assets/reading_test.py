"""Reading names the file, the field and the value of what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tools.builder.assets.reading import AssetError, canonical, field, read_json, read_object

SOURCE = Path("config.json")


def test_reads_an_object(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"a": 1}')
    assert read_object(tmp_path / "a.json") == {"a": 1}


def test_an_optional_file_may_be_absent(tmp_path: Path) -> None:
    assert read_object(tmp_path / "a.json", optional=True) == {}
    with pytest.raises(FileNotFoundError):
        read_object(tmp_path / "a.json")


@pytest.mark.parametrize(
    ("content", "reason"), [(b"{", "valid JSON"), (b"\xff", "UTF-8"), (b"", "valid JSON"), (b"[" * 100_000, "nested")]
)
def test_refuses_what_is_not_json(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(AssetError, match=f"a.json is .*{reason}"):
        read_json(tmp_path / "a.json")


def test_refuses_what_is_not_an_object(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[1]")
    with pytest.raises(AssetError, match="a.json holds a JSON list, not an object"):
        read_object(tmp_path / "a.json")


@pytest.mark.parametrize(
    ("value", "kind", "expected"), [(3, int, 3), (3, float, 3.0), (True, bool, True), (None, int, 7), ("x", str, "x")]
)
def test_field_gives_the_value_or_the_default(value: Any, kind: type[Any], expected: Any) -> None:
    got = field(SOURCE, {"key": value}, "key", kind, 7)
    assert got == expected and type(got) is type(expected)


@pytest.mark.parametrize(("value", "kind"), [(True, int), (True, float), (1, bool), (1.5, int), ("1", int), ([], dict)])
def test_field_refuses_another_type(value: Any, kind: type[Any]) -> None:
    with pytest.raises(AssetError, match=r"config.json: field 'key' is .*, not of type"):
        field(SOURCE, {"key": value}, "key", kind, kind())


def test_canonical_json_does_not_depend_on_order() -> None:
    assert canonical({"b": 1, "a": "é"}) == canonical({"a": "é", "b": 1}) == '{"a":"é","b":1}\n'.encode()
