"""What `debug` can open, and the inputs that it makes of a prompt."""

from __future__ import annotations

import io
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
import zstandard

from tools.builder import toy
from tools.builder.bundle.format import BundleError
from tools.builder.debug import DebugError
from tools.builder.graph import Graph
from tools.builder.resolve import Family
from tools.builder.source import SourceError
from tools.mconnect.subject import Subject, open_subject


def _open(tmp_path: Path, module: str, asked: str | None = None) -> Subject:
    sys.modules.pop("mconnect_family_toy", None)
    folder = toy.checkpoint(tmp_path / "toy")
    (tmp_path / "work").mkdir()
    return open_subject(str(folder), asked, [Family.open(toy.family(tmp_path / "f", module))], tmp_path / "work")


def test_an_encoder_takes_the_prompt_at_once(tmp_path: Path) -> None:
    (step,) = _open(tmp_path, "encoder").steps("the cat sat")
    assert {name: value.tolist() for name, value in step.items()} == {
        "input_ids": [[3, 4, 5]],
        "attention_mask": [[1, 1, 1]],
    }


def test_a_decoder_takes_the_last_token_from_the_cache(tmp_path: Path) -> None:
    first, last = _open(tmp_path, "decoder").steps("the cat sat")
    assert (first["input_ids"].tolist(), last["input_ids"].tolist()) == ([[3, 4]], [[5]])
    assert (last["position_ids"].tolist(), last["attention_mask"].shape) == ([[2]], (1, 3))


def test_a_prompt_of_one_token_is_one_step(tmp_path: Path) -> None:
    assert len(_open(tmp_path, "decoder").steps("the")) == 1


def test_weights_are_those_of_the_file(tmp_path: Path) -> None:
    subject = _open(tmp_path, "encoder")
    np.testing.assert_array_equal(subject.weights()["mix.weight"], toy.tensors()["mix.weight"])
    assert subject.read().get_ordered_ops()


def test_an_empty_prompt_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DebugError, match="the prompt '' has no tokens"):
        _open(tmp_path, "encoder").steps("")


def test_an_input_that_a_prompt_cannot_give_is_named(tmp_path: Path) -> None:
    subject = _open(tmp_path, "encoder")
    graph = Graph("vision")
    graph.input("pixels", "f32", ("batch", 3))
    with pytest.raises(DebugError, match="module vision has the input 'pixels', which a prompt cannot give"):
        Subject(graph, b"", subject.weights_path, subject.tokenizer).steps("the")


def test_an_unknown_module_is_answered_with_the_modules(tmp_path: Path) -> None:
    with pytest.raises(DebugError, match="no module 'vision'; --module is one of encoder"):
        _open(tmp_path, "encoder", asked="vision")


def _archive(path: Path, name: str, content: bytes = b"{}") -> Path:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    path.write_bytes(zstandard.compress(raw.getvalue()))
    return path


@pytest.mark.parametrize(
    ("name", "kind", "reason"),
    [
        ("../escape", BundleError, "'../escape' is not a plain file inside"),
        ("manifest.json", BundleError, "'modules' is missing"),
    ],
)
def test_a_hostile_or_foreign_archive_is_refused(tmp_path: Path, name: str, kind: type[Exception], reason: str) -> None:
    (tmp_path / "work").mkdir()
    with pytest.raises(kind, match=reason):
        open_subject(str(_archive(tmp_path / "x.bundle", name)), None, [], tmp_path / "work")
    assert not (tmp_path / "escape").exists()


@pytest.mark.parametrize(
    ("content", "kind", "reason"),
    [
        (b"PK\3\4", SourceError, "neither a bundle nor a checkpoint folder"),
        (b"\x28\xb5\x2f\xfd" + b"\xff" * 99, BundleError, "is damaged"),
    ],
)
def test_a_file_that_is_no_bundle_is_refused(
    tmp_path: Path, content: bytes, kind: type[Exception], reason: str
) -> None:
    (tmp_path / "x").write_bytes(content)
    (tmp_path / "work").mkdir()
    with pytest.raises(kind, match=reason):
        open_subject(str(tmp_path / "x"), None, [], tmp_path / "work")
