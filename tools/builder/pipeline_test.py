"""The whole path: what a bundle holds, that the same inputs give the same bytes, and how a build fails."""

from __future__ import annotations

import errno
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import zstandard

from tools.builder import toy
from tools.builder.assets.reading import AssetError
from tools.builder.assets.weights_file import UnstorableWeight
from tools.builder.bundle import writer
from tools.builder.checkpoint import CheckpointError, read_header
from tools.builder.graph import Graph
from tools.builder.lowering import reference
from tools.builder.lowering.openvino.engine import ov
from tools.builder.lowering.openvino.execute import compile_model
from tools.builder.pipeline import BuildError, build
from tools.builder.resolve import Family, FamilyError
from tools.builder.sizes import SizeError
from tools.builder.source import ZSTD_MAGIC, SourceError
from tools.builder.weights import WeightError


def families(folder: Path, module: str = "encoder") -> Sequence[Family]:
    return [Family.open(toy.family(folder / f"family-{module}", module))]


@pytest.fixture(autouse=True)
def _forget_the_toy_family() -> None:
    sys.modules.pop("mconnect_family_toy", None)


def members(bundle: Path) -> dict[str, bytes]:
    """Every member by path, read as any tar would be."""
    raw = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(bundle.read_bytes()), read_across_frames=True).read()
    with tarfile.open(fileobj=io.BytesIO(raw)) as archive:
        return {m.name: archive.extractfile(m).read() for m in archive}  # type: ignore[union-attr]


@pytest.mark.parametrize("module", ["encoder", "decoder"])
def test_a_bundle_holds_what_its_manifest_says(tmp_path: Path, module: str) -> None:
    out = tmp_path / "toy.bundle"
    build(toy.checkpoint(tmp_path / "Toy Model"), out, families=families(tmp_path, module))
    held = members(out)
    manifest = json.loads(held["manifest.json"])
    task = {"encoder": "text-embedding", "decoder": "text-generation"}[module]
    (weights,) = (path for path in held if path.startswith("weights/"))
    assert set(held) == {
        "manifest.json", weights, f"modules/{module}/graph.json", f"modules/{module}/openvino.xml",
        "assets/tokenizer.json", f"assets/{task}.json",
    }  # fmt: skip
    assert (manifest["name"], manifest["family"], manifest["tasks"], manifest["licence"]) == (
        "toy-model",
        "toy",
        [task],
        "mit",
    )
    entry = manifest["modules"][module]
    assert entry["stateful"] is (module == "decoder")
    assert entry["inputs"][0] == {"dtype": "i64", "name": "input_ids", "shape": ["batch", "tokens"]}
    assert entry["variants"] == [
        {
            "engine": "openvino",
            "path": f"modules/{module}/openvino.xml",
            "requires": {"version": "2026.4"},
            "weights": weights,
        }
    ]
    assert [file["path"] for file in manifest["checkpoint"]["files"]] == [
        "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json",
    ]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("weights", ["auto", "f32", "f16"])
def test_the_engine_gives_the_reference_from_the_bundle_alone(tmp_path: Path, dtype: Any, weights: Any) -> None:
    out = tmp_path / "toy.bundle"
    build(toy.checkpoint(tmp_path / "toy", dtype), out, families=families(tmp_path), weights=weights)
    held = members(out)
    graph = Graph.from_json(held["modules/encoder/graph.json"].decode())
    inputs = {"input_ids": np.array([[3, 4, 5], [1, 2, 3]]), "attention_mask": np.array([[1, 1, 1], [0, 1, 1]])}
    raw = np.frombuffer(next(content for path, content in held.items() if path.startswith("weights/")), np.uint8)
    model = ov.Core().read_model(held["modules/encoder/openvino.xml"], ov.Tensor(raw))
    got = compile_model(model)(inputs)["last_hidden_state"]
    want = reference.run(graph, toy.tensors(dtype), inputs)[0]["last_hidden_state"]
    np.testing.assert_allclose(got, want, atol=2e-2 if weights == "f16" and dtype is np.float32 else 1e-5)


@pytest.mark.parametrize(("dtype", "weights", "stored"), [
    (np.float32, "auto", "F32"), (np.float16, "auto", "F16"), (np.float16, "f32", "F32"), (np.float32, "f16", "F16"),
])  # fmt: skip
def test_weights_are_stored_as_asked(tmp_path: Path, dtype: Any, weights: Any, stored: str) -> None:
    out = tmp_path / "toy.bundle"
    build(toy.checkpoint(tmp_path / "toy", dtype), out, families=families(tmp_path), weights=weights)
    (tmp_path / "w").write_bytes(next(content for path, content in members(out).items() if path.startswith("weights/")))
    assert read_header(tmp_path / "w")["mix.weight"].dtype == stored
    assert "unneeded" not in read_header(tmp_path / "w")


def test_steps_are_told(tmp_path: Path) -> None:
    steps: list[tuple[str, int, int]] = []
    build(
        toy.checkpoint(tmp_path / "toy"),
        tmp_path / "x",
        families=families(tmp_path),
        progress=lambda *step: steps.append(step),
    )
    assert list(dict.fromkeys(step for step, _, _ in steps)) == ["record", "check", "lower", "store", "write"]
    assert all(0 <= done <= total for _, done, total in steps)
    assert steps[-1] == ("write", 1, 1)


_RUN = """
import sys
from pathlib import Path
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "transformers"):
            raise AssertionError(name + " is imported by a build")
sys.meta_path.insert(0, Blocked())
from tools.builder import pipeline, resolve
family = resolve.Family.open(Path(sys.argv[3]))
print(pipeline.build(sys.argv[1], Path(sys.argv[2]), families=[family]))
"""


def _run(*args: object, **env: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **env}
    return subprocess.Popen(
        [sys.executable, "-c", *map(str, args)],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.parametrize("module", ["encoder", "decoder"])
def test_two_processes_in_two_folders_write_the_same_bytes_without_torch(tmp_path: Path, module: str) -> None:
    family = toy.family(tmp_path / "family", module)
    runs = []
    for seed in ("1", "2"):
        folder = toy.checkpoint(tmp_path / seed / "toy")
        runs.append(_run(_RUN, folder, tmp_path / f"{seed}.bundle", family, PYTHONHASHSEED=seed))
    ids = [run.communicate() for run in runs]
    assert [run.returncode for run in runs] == [0, 0], ids
    assert ids[0][0] == ids[1][0] and len(ids[0][0]) == 65
    assert (tmp_path / "1.bundle").read_bytes() == (tmp_path / "2.bundle").read_bytes()


def test_a_killed_build_leaves_nothing_under_the_final_name(tmp_path: Path) -> None:
    family, folder, out = (
        toy.family(tmp_path / "family"),
        toy.checkpoint(tmp_path / "toy"),
        tmp_path / "out" / "x.bundle",
    )
    out.parent.mkdir()
    slow = _RUN.replace("from tools.builder import pipeline, resolve", (
        "from tools.builder import pipeline, resolve\nimport time, os\n"
        "replace = os.replace\n"
        "def late(a, b): print('ready', flush=True); time.sleep(60); replace(a, b)\n"
        "os.replace = late"
    ))  # fmt: skip
    process = _run(slow, folder, out, family)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not out.exists()
    build(folder, out, families=[Family.open(family)])
    assert out.exists()


def _full(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def fail(*args: object, **options: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(writer, "_write", fail)


def test_a_full_disk_is_named_and_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _full(monkeypatch, errno.ENOSPC)
    out = tmp_path / "out" / "x.bundle"
    out.parent.mkdir()
    with pytest.raises(BuildError, match=f"no space is left in {out.parent}; free some"):
        build(toy.checkpoint(tmp_path / "toy"), out, families=families(tmp_path))
    assert list(out.parent.iterdir()) == []


def test_a_disk_that_fails_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _full(monkeypatch, errno.EIO)
    with pytest.raises(BuildError, match="x.bundle cannot be written: .*Input/output error"):
        build(toy.checkpoint(tmp_path / "toy"), tmp_path / "x.bundle", families=families(tmp_path))


def test_a_failed_build_keeps_the_bundle_that_was_there(tmp_path: Path) -> None:
    out = tmp_path / "x.bundle"
    before = ZSTD_MAGIC + b"before"
    out.write_bytes(before)
    with pytest.raises(WeightError):
        build(
            toy.checkpoint(tmp_path / "toy", **{"model.safetensors": {"table": np.zeros((8, 32), np.float32)}}),
            out,
            families=families(tmp_path),
        )
    assert out.read_bytes() == before


def _without(name: str) -> dict[str, Any]:
    return {key: value for key, value in toy.tensors().items() if key != name}


@pytest.mark.parametrize(
    ("changes", "kind", "reason"),
    [
        ({"model.safetensors": _without("mix.bias")}, WeightError, "has no tensor mix.bias"),
        (
            {"model.safetensors": {**toy.tensors(), "extra": np.zeros(1)}},
            WeightError,
            "1 tensors of .* are not used: extra",
        ),
        ({"model.safetensors": None}, CheckpointError, "has no weights"),
        (
            {"model.safetensors": b"\x10\0\0\0\0\0\0\0{damaged........"},
            CheckpointError,
            "model.safetensors: the header is not valid JSON",
        ),
        ({"model.safetensors": b"\xff" * 40}, CheckpointError, "model.safetensors: the header is"),
        ({"config.json": None}, CheckpointError, "has no config.json"),
        (
            {"config.json": {"architectures": ["ToyModle"]}},
            FamilyError,
            "No family builds the architecture ToyModle. Near misses: ToyModel",
        ),
        ({"tokenizer.json": None}, AssetError, "has no tokenizer.json"),
        ({"tokenizer.json": {}}, AssetError, "tokenizer.json has no object 'model', .*; fetch it again"),
        ({"tokenizer.json": {"model": 1}}, AssetError, "tokenizer.json has no object 'model'"),
        (
            {"config.json": {"architectures": ["ToyModel"], "hidden_size": -64}},
            SizeError,
            "hidden_size is -64; it must be an integer from 1 to .*; correct the field, or fetch config.json again",
        ),
        (
            {"tokenizer_config.json": {"tokenizer_class": "Other"}},
            AssetError,
            "tokenizer_class 'Other' is not supported",
        ),
    ],
)
def test_a_bad_checkpoint_is_refused_by_name(tmp_path: Path, changes: Any, kind: type[Exception], reason: str) -> None:
    out = tmp_path / "out" / "x.bundle"
    out.parent.mkdir()
    with pytest.raises(kind, match=reason):
        build(toy.checkpoint(tmp_path / "toy", **changes), out, families=families(tmp_path))
    assert list(out.parent.iterdir()) == []


def test_a_weight_that_is_not_finite_is_refused(tmp_path: Path) -> None:
    tensors = toy.tensors()
    tensors["table"][0, 0] = np.nan
    with pytest.raises(UnstorableWeight, match="'table' holds 1 values of .* that are NaN or infinite"):
        build(
            toy.checkpoint(tmp_path / "toy", **{"model.safetensors": tensors}),
            tmp_path / "x",
            families=families(tmp_path),
        )
    assert not (tmp_path / "x").exists()


def test_a_value_beyond_f16_is_refused_when_f16_is_asked_for(tmp_path: Path) -> None:
    tensors = toy.tensors()
    tensors["table"][0, 0] = 1e6
    with pytest.raises(UnstorableWeight, match="'table' holds 1e\\+06, beyond the limit of f16"):
        build(
            toy.checkpoint(tmp_path / "toy", **{"model.safetensors": tensors}),
            tmp_path / "x",
            families=families(tmp_path),
            weights="f16",
        )


@pytest.mark.parametrize(
    ("out", "reason"),
    [
        ("nowhere/x.bundle", "the folder .*nowhere does not exist"),
        ("toy", "toy is a folder; -o takes the bundle's file name"),
        ("toy/config.json", "config.json exists and is no bundle, so it is kept"),
        ("pipe", "pipe is a device or a pipe, which a bundle would replace"),
        ("a\0b", r"b' is no file name"),
    ],
)
def test_a_target_that_cannot_be_is_refused_before_the_work(tmp_path: Path, out: str, reason: str) -> None:
    folder = toy.checkpoint(tmp_path / "toy", **{"model.safetensors": None})  # would fail later
    config = (folder / "config.json").read_bytes()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BuildError, match=reason):
        build(folder, tmp_path / out, families=families(tmp_path))
    assert (folder / "config.json").read_bytes() == config


def test_a_folder_that_is_not_writable_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anywhere
    with pytest.raises(BuildError, match="is not writable; choose another"):
        build(toy.checkpoint(tmp_path / "toy"), tmp_path / "x.bundle", families=families(tmp_path))


def test_a_bundle_is_not_a_checkpoint(tmp_path: Path) -> None:
    out = tmp_path / "x.bundle"
    build(toy.checkpoint(tmp_path / "toy"), out, families=families(tmp_path))
    with pytest.raises(SourceError, match="is a bundle already"):
        build(out, tmp_path / "y.bundle", families=families(tmp_path))


@pytest.mark.parametrize("name", ["", "a b", "x/y", "é", "n" * 129])
def test_refuses_a_name_that_a_manifest_cannot_have(tmp_path: Path, name: str) -> None:
    with pytest.raises(BuildError, match="may have letters, digits"):
        build(toy.checkpoint(tmp_path / "toy"), tmp_path / "x", families=families(tmp_path), name=name)


def test_a_build_does_not_hold_the_weights_in_memory(tmp_path: Path) -> None:
    """A checkpoint of 400 MB is built by a process whose own memory stays far below it."""
    tensors = toy.tensors()
    tensors["table"] = np.zeros((3_200_000, 32), np.float32)
    folder = toy.checkpoint(tmp_path / "toy", **{"model.safetensors": tensors})
    watch = (
        "import threading, time, re\npeak = [0]\n"
        "def anonymous():\n"
        "    while True:\n"
        "        peak[0] = max(peak[0], int(re.search(r'RssAnon:\\s+(\\d+)', open('/proc/self/status').read())[1]))\n"
        "        time.sleep(0.005)\n"
        "threading.Thread(target=anonymous, daemon=True).start()\n"
    )
    process = _run(watch + _RUN + "print(peak[0])", folder, tmp_path / "x.bundle", toy.family(tmp_path / "family"))
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    assert int(output.split()[1]) < 250_000  # KiB
