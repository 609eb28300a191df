"""A checkpoint is found in a folder or in the hub's cache; whatever else is given gets an answer that says what to
do."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tools.builder import toy
from tools.builder.checkpoint import Checkpoint
from tools.builder.gguf.testing import write_gguf
from tools.builder.source import Source, SourceError, licence, locate

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_a_folder_is_its_own_source(tmp_path: Path) -> None:
    assert locate(str(tmp_path)) == Source(tmp_path, None, None)


@pytest.mark.parametrize(
    ("folder", "repository", "name"),
    [("Qwen3 0.6B", None, "qwen3-0.6b"), ("a", "Org/MiniLM-L6_v2", "minilm-l6_v2"), ("日本", None, "model")],
)
def test_a_name_is_made_of_the_source(folder: str, repository: str | None, name: str) -> None:
    assert Source(Path("/x") / folder, repository).name == name


def test_files_that_a_build_depends_on_are_recorded(tmp_path: Path) -> None:
    folder = toy.checkpoint(
        tmp_path,
        **{"pytorch_model.bin": b"junk", "notes.md": "junk", "tokenizer.model": b"junk", "chat_template.jinja": "junk"},
    )
    (folder / "1_Pooling" / "config.json").write_text("{}")
    row = Source(folder).manifest(Checkpoint.open(folder))
    assert (row["source"], row["repository"], row["revision"]) == ("folder", None, None)
    assert [file["path"] for file in row["files"]] == [
        "1_Pooling/config.json", "chat_template.jinja", "config.json", "model.safetensors", "tokenizer.json",
        "tokenizer.model", "tokenizer_config.json",
    ]  # fmt: skip
    for file in row["files"]:
        content = (folder / file["path"]).read_bytes()
        assert (file["size"], file["sha256"]) == (len(content), hashlib.sha256(content).hexdigest())


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("x.bundle", b"\x28\xb5\x2f\xfd....", "is a bundle already; `build` takes the checkpoint"),
        ("model.safetensors", b"........", "is a file; a checkpoint is a folder with config.json"),
    ],
)
def test_a_file_is_no_checkpoint(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SourceError, match=reason):
        locate(str(tmp_path / name))


@pytest.mark.parametrize("given", ["nowhere", "/a/b", "a/b/c", "./a/b", ""])
def test_what_is_neither_a_folder_nor_a_hub_id_is_refused(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if given == "":
        given = "no/"
    with pytest.raises(SourceError, match="does not exist, and is not a hub id such as Qwen/Qwen3-0.6B either"):
        locate(given)


def test_a_folder_has_no_revision(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="revision 'v1' is given, but .* is a folder"):
        locate(str(tmp_path), "v1")


def _locate(cache: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """Runs `locate` in a process of its own: huggingface_hub reads its environment once."""
    code = (
        "import sys; from tools.builder.source import *\n"
        "try:\n    s = locate(*sys.argv[1:]); print(s.folder, s.repository, s.revision)\n"
        "except SourceError as error:\n    sys.exit(str(error))"
    )
    env = {
        **os.environ,
        "HF_HUB_CACHE": str(cache),
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    return subprocess.run([sys.executable, "-c", code, *args], env=env, capture_output=True, text=True, check=False)


def _cache(cache: Path) -> Path:
    """The hub's cache as it is after `owner/toy` was fetched."""
    repository = cache / "models--owner--toy"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(COMMIT)
    return toy.checkpoint(repository / "snapshots" / COMMIT)


@pytest.mark.parametrize("revision", [[], ["main"], [COMMIT]])
def test_offline_the_cache_is_used_and_the_commit_is_recorded(tmp_path: Path, revision: list[str]) -> None:
    folder = _cache(tmp_path)
    found = _locate(tmp_path, "owner/toy", *revision)
    assert found.stdout.split() == [str(folder), "owner/toy", COMMIT], found.stderr


@pytest.mark.parametrize(("args", "where"), [(["owner/other"], "owner/other"), (["owner/toy", "v9"], "owner/toy@v9")])
def test_offline_what_is_not_cached_is_named_with_what_to_do(tmp_path: Path, args: list[str], where: str) -> None:
    _cache(tmp_path)
    found = _locate(tmp_path, *args)
    assert found.returncode == 1
    assert f"{where} is not in the hub's cache" in found.stderr and "hf download" in found.stderr


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"README.md": "---\nlanguage: en\nlicense: apache-2.0\n---\n# Model"}, "apache-2.0"),
        ({"README.md": "---\r\nlicense: 'mit'\r\n---\r\n"}, "mit"),
        ({"README.md": "---\nlicense:\n- bsd-3-clause\n---\n"}, "bsd-3-clause"),
        ({"README.md": "---\nlicense: other\nlicense_name: gemma\n---\n"}, "gemma"),
        ({"README.md": "license: mit"}, None),
        ({"LICENSE": "\n   Apache License\n   Version 2.0, January 2004\n"}, "apache-2.0"),
        ({"LICENSE.txt": "Some Terms\nmore"}, "Some Terms"),
        ({"README.md": "---\nlanguage: en\n---\n", "LICENSE": "\n   Apache License\n   Version 2.0\n"}, "apache-2.0"),
        ({}, None),
    ],
)
def test_licence(tmp_path: Path, files: dict[str, str], expected: str | None) -> None:
    for name, content in files.items():
        (tmp_path / name).write_bytes(content.encode())
    assert licence(tmp_path) == expected


def test_the_manifest_states_repository_and_commit(tmp_path: Path) -> None:
    folder = toy.checkpoint(tmp_path)
    row = json.loads(json.dumps(Source(folder, "owner/toy", COMMIT).manifest(Checkpoint.open(folder))))
    assert (row["source"], row["repository"], row["revision"]) == ("hub", "owner/toy", COMMIT)


def _gguf(path: Path) -> Path:
    """A file that begins like a GGUF model."""
    path.write_bytes(b"GGUF" + bytes(60))
    return path


def test_a_gguf_file_is_a_checkpoint(tmp_path: Path) -> None:
    path = _gguf(tmp_path / "Qwen3-0.6B.Q4_K_M.gguf")
    found = locate(str(path))
    assert found == Source(tmp_path, gguf=path)
    assert found.name == "qwen3-0.6b.q4_k_m"


def test_a_split_model_has_the_name_of_all_its_parts(tmp_path: Path) -> None:
    parts = [_gguf(tmp_path / f"Big-{number:05}-of-00002.gguf") for number in (1, 2)]
    assert locate(str(tmp_path)) == Source(tmp_path, gguf=parts[0])
    assert [locate(str(part)).name for part in parts] == ["big", "big"]


def test_a_folder_with_config_json_is_no_gguf_model(tmp_path: Path) -> None:
    _gguf(tmp_path / "x.gguf")
    (tmp_path / "config.json").write_text("{}")
    assert locate(str(tmp_path)).gguf is None


def test_of_several_gguf_models_one_must_be_named(tmp_path: Path) -> None:
    for name in ("a.gguf", "b.gguf"):
        _gguf(tmp_path / name)
    with pytest.raises(SourceError, match="holds 2 GGUF models; name one: a.gguf, b.gguf"):
        locate(str(tmp_path))


def test_a_gguf_file_has_no_revision(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="revision 'v1' is given, but .* is a file"):
        locate(str(_gguf(tmp_path / "x.gguf")), "v1")


def test_of_a_gguf_model_its_own_files_are_recorded(tmp_path: Path) -> None:
    shapes = {"model.embed_tokens.weight": (8, 32), "model.norm.weight": (32,)}
    config = {
        "model_type": "llama", "vocab_size": 8, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1,
        "num_attention_heads": 2, "max_position_embeddings": 64,
    }  # fmt: skip
    tensors = {name: np.ones(shape, np.float32) for name, shape in shapes.items()}
    folder = toy.checkpoint(tmp_path / "hf", **{"config.json": config, "model.safetensors": tensors})
    model = {"vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}
    (folder / "tokenizer.json").write_text(json.dumps({"model": model, "added_tokens": []}))
    (folder / "tokenizer_config.json").write_text("{}")
    (tmp_path / "LICENSE").write_text("nobody reads this")
    write_gguf(folder, tmp_path / "model.gguf")
    found = locate(str(tmp_path))
    row = found.manifest(found.open())
    assert [file["path"] for file in row["files"]] == ["model.gguf"]
    assert row["source"] == "folder"
