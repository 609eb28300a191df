"""What `execute` compares, on the double in place of a GPU; and that it says so where there is no GPU."""

from __future__ import annotations

import ast
import ctypes
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tools.builder.assets.weights_file import StoredTensor, write_weights
from tools.builder.lowering.openvino.testing import decoder, weights_of
from tools.builder.lowering.tensorrt import references
from tools.builder.lowering.tensorrt.cuda import Cuda, CudaError
from tools.builder.lowering.tensorrt.execute import SourceError, errors, read_modules, read_weights
from tools.builder.lowering.tensorrt.lower import Options
from tools.builder.lowering.tensorrt.testing import DoubleExecution

GRAPH = decoder()
WEIGHTS = weights_of(GRAPH)
CASES = {"prefill", "decode", "chunked prefill", "left-padded batch", "rows reordered"}


@pytest.fixture(scope="module")
def recorded() -> dict[str, np.ndarray]:
    return references.record("decoder", GRAPH, WEIGHTS)


@pytest.mark.parametrize("extended", [False, True])
@pytest.mark.parametrize(("precision", "limit"), [("f32", 1e-5), ("f16", 2e-2)])
def test_every_case_agrees(recorded: dict[str, np.ndarray], extended: bool, precision: str, limit: float) -> None:
    engine = DoubleExecution(GRAPH, WEIGHTS, Options(precision), extended=extended, keys_multiple=16)
    found = errors(engine, recorded, "decoder")
    assert set(found) == CASES and max(found.values()) <= limit


def test_a_wrong_weight_shows_in_every_case(recorded: dict[str, np.ndarray]) -> None:
    wrong = {**WEIGHTS, "norm.weight": WEIGHTS["norm.weight"] * 1.5}
    assert min(errors(DoubleExecution(GRAPH, wrong), recorded, "decoder").values()) > 0.1


def test_a_lost_order_of_rows_shows(recorded: dict[str, np.ndarray]) -> None:
    flat = {k: np.arange(len(v), dtype=v.dtype) if k.endswith("in/beam_idx") else v for k, v in recorded.items()}
    found = errors(DoubleExecution(GRAPH, WEIGHTS), flat, "decoder")
    assert found["rows reordered"] > 0.01 and found["decode"] <= 1e-5


def test_what_padding_gives_is_not_compared(recorded: dict[str, np.ndarray]) -> None:
    first = recorded["decoder/left-padded batch/000/out/logits"]
    assert np.isnan(first[0, :12]).all() and not np.isnan(first[0, 12:]).any() and not np.isnan(first[1]).any()


def test_reads_a_graph_with_its_weights(tmp_path: Path) -> None:
    (tmp_path / "graph.json").write_text(GRAPH.to_json())
    stored = [StoredTensor(name, "f32", array) for name, array in WEIGHTS.items()]
    stored.append(StoredTensor("bf", "bf16", np.array([1.5, -2], ml_dtypes.bfloat16)))
    write_weights(tmp_path / "w.safetensors", stored)
    ((name, (graph, weights)),) = read_modules(tmp_path / "graph.json", tmp_path / "w.safetensors").items()
    assert name == "decoder" and graph.digest() == GRAPH.digest()
    np.testing.assert_array_equal(weights["embed.weight"], WEIGHTS["embed.weight"])
    np.testing.assert_array_equal(weights["bf"], np.array([1.5, -2], np.float32))


def test_reads_a_bundles_folder(tmp_path: Path) -> None:
    (tmp_path / "graph.json").write_text(GRAPH.to_json())
    write_weights(tmp_path / "w.safetensors", [StoredTensor(name, "f32", array) for name, array in WEIGHTS.items()])
    module = {"graph": "graph.json", "variants": [{"weights": "w.safetensors"}]}
    (tmp_path / "manifest.json").write_text(json.dumps({"modules": {"decoder": module}}))
    assert set(read_modules(tmp_path, None)["decoder"][1]) >= set(WEIGHTS)


def test_says_what_it_cannot_read(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="has no manifest.json; it must be a bundle's folder"):
        read_modules(tmp_path, None)
    (tmp_path / "graph.json").write_text(GRAPH.to_json())
    with pytest.raises(SourceError, match="name its safetensors file with --weights"):
        read_modules(tmp_path / "graph.json", None)
    write_weights(tmp_path / "w.safetensors", [StoredTensor("a", "f32", np.ones(100, np.float32))])
    whole = (tmp_path / "w.safetensors").read_bytes()
    (tmp_path / "w.safetensors").write_bytes(whole[:-100])
    with pytest.raises(SourceError, match="a ends at .* bytes; the file is cut off"):
        read_weights(tmp_path / "w.safetensors")


def test_without_a_driver_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", absent)
    with pytest.raises(CudaError, match="no driver of an NVIDIA GPU is installed: libcuda.so.1"):
        Cuda()


def test_runs_on_python_3_10_with_numpy_alone() -> None:
    """Where TensorRT 8.6 runs, there is no newer Python and no package but NumPy."""
    program = """
import sys

class Refusal:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in {*sys.stdlib_module_names, "numpy", "tools"}:
            raise ImportError(f"{name} is neither NumPy nor of the standard library")

sys.meta_path.insert(0, Refusal())
import tools.builder.graph_json, tools.builder.lowering.tensorrt.execute
ours = (module.__file__ for name, module in sys.modules.items() if name.startswith("tools."))
print(*filter(None, ours), sep="\\n")
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr
    files = result.stdout.split()
    assert len(files) > 20
    newer = re.compile(r"\b(tomllib|StrEnum|ExceptionGroup|datetime\.UTC|assert_never)\b|typing import .*\bSelf\b")
    for file in files:
        text = Path(file).read_text(encoding="utf-8")
        ast.parse(text, file, feature_version=(3, 10))
        assert not newer.search(text), f"{file}: {newer.search(text)}"
