"""Families are chosen by name, by file, or left to config.json."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.builder import toy
from tools.builder.resolve import FamilyError
from tools.mconnect import build_command
from tools.mconnect.build_command import choose


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with the families `toy` and `other`."""
    toy.family(tmp_path / "families" / "toy")
    body = json.loads((tmp_path / "families" / "toy" / "family.json").read_text())
    (tmp_path / "families" / "other").mkdir()
    body |= {"name": "other", "architectures": ["Other"], "model_types": ["other"], "source": "other.py"}
    (tmp_path / "families" / "other" / "family.json").write_text(json.dumps(body))
    monkeypatch.setattr(build_command, "ROOT", tmp_path)
    return tmp_path


def test_without_a_choice_every_family_of_the_repository_may_build(root: Path) -> None:
    assert [family.name for family in choose(None)] == ["other", "toy"]


def test_a_name_chooses_one(root: Path) -> None:
    assert [family.name for family in choose("toy")] == ["toy"]


def test_a_file_chooses_one_from_anywhere(tmp_path: Path) -> None:
    assert [family.name for family in choose(str(toy.family(tmp_path / "mine")))] == ["toy"]


def test_an_unknown_name_is_answered_with_the_names(root: Path) -> None:
    with pytest.raises(FamilyError, match="there is no family 'tyo'; there are other, toy"):
        choose("tyo")
