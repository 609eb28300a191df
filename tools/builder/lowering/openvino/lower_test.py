"""A lowered decoder: fused by the engine, equal to the reference from its files, the same bytes in every process."""

from __future__ import annotations

import collections
import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tools.builder.assets.weights_file import Precision, WeightsFile, store, write_weights
from tools.builder.graph import Graph
from tools.builder.lowering import reference
from tools.builder.lowering.openvino.engine import ov
from tools.builder.lowering.openvino.execute import compile_model
from tools.builder.lowering.openvino.lower import lower
from tools.builder.lowering.openvino.testing import decoder, step, weights_of

IDS = np.arange(14).reshape(2, 7)
_MAPPED: list[Any] = []  # a model refers to the memory of its weights and does not own it


def write(
    folder: Path, graph: Graph, dtype: Any = np.float32, precision: Precision = "auto"
) -> tuple[bytes, WeightsFile]:
    """The IR and the weights file of a graph."""
    stored = {name: store(name, value, precision) for name, value in weights_of(graph, dtype).items()}
    lowered = lower(graph, stored)
    file = write_weights(folder / "weights.safetensors", [*stored.values(), *lowered.constants])
    return lowered.place(file.placements), file


def load(xml: bytes, file: WeightsFile) -> ov.CompiledModel:
    mapped = np.memmap(file.path, np.uint8, "c")  # a shared tensor must look writeable
    _MAPPED.append(mapped)
    return compile_model(ov.Core().read_model(xml, ov.Tensor(mapped, shared_memory=True)))


def kinds(compiled: ov.CompiledModel) -> collections.Counter[str]:
    """How many nodes of each kind the engine executes."""
    return collections.Counter(_info(node, "layerType") for node in compiled.get_runtime_model().get_ordered_ops())


def _info(node: ov.Node, key: str) -> str:
    value = node.get_rt_info()[key]
    return str(getattr(value, "value", value))


def logits(compiled: ov.CompiledModel, chunks: list[int]) -> Any:
    request = compiled.create_infer_request()
    parts, past = [], 0
    for tokens in chunks:
        result = request.infer(step(IDS[:, past : past + tokens], past))
        parts.append(np.array(result["logits"]))
        past += tokens
    return np.concatenate(parts, 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("chunks", [[7], [4, 3], [4, 1, 1, 1]])
def test_read_model_over_the_mapped_file_gives_the_reference(tmp_path: Path, dtype: Any, chunks: list[int]) -> None:
    graph = decoder()
    want = reference.run(graph, weights_of(graph, dtype), step(IDS))[0]["logits"]
    np.testing.assert_allclose(logits(load(*write(tmp_path, graph, dtype)), chunks), want, atol=1e-5)


@pytest.mark.parametrize("keep", [1, 3])
def test_logits_to_keep_cuts_before_the_head(tmp_path: Path, keep: int) -> None:
    compiled = load(*write(tmp_path, decoder()))
    whole = logits(compiled, [7])
    kept = np.array(compiled.create_infer_request().infer(step(IDS, keep=keep))["logits"])
    assert kept.shape == (2, keep, 96)
    np.testing.assert_allclose(kept, whole[:, -keep:], atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_the_engine_fuses_attention_cache_rope_norms_and_linears(tmp_path: Path, dtype: Any) -> None:
    found = kinds(load(*write(tmp_path, decoder(layers=2), dtype)))
    assert found["ScaledDotProductAttention"] == 2
    assert (found["MemoryInput"], found["MemoryOutput"]) == (4, 4)
    assert found["RoPE"] == 4
    assert found["RMS"] == 2 * 4 + 1
    assert found["FullyConnected"] == 2 * 7 + 1
    assert not {"Softmax", "MatMul", "Gemm", "Tile"} & set(found)


def test_attention_owns_the_cache(tmp_path: Path) -> None:
    """The fused node reads and writes the state itself: no node joins or gathers keys outside it."""
    runtime = load(*write(tmp_path, decoder())).get_runtime_model()
    nodes = {node.get_friendly_name(): node for node in runtime.get_ordered_ops()}
    for name, node in nodes.items():
        sources = [_info(value.get_node(), "layerType") for value in node.input_values()]
        if _info(node, "layerType") == "ScaledDotProductAttention":
            assert sources.count("MemoryInput") == 2, name
        if _info(node, "layerType") == "MemoryOutput":
            assert sources == ["ScaledDotProductAttention"], name


@pytest.mark.parametrize("layout", ["out_in", "in_out"])
def test_f16_weights_stay_f16_in_the_engine(tmp_path: Path, layout: str) -> None:
    from tools.builder import ops

    graph = Graph("linear")
    graph.output(
        "y", ops.linear(graph.input("x", "f32", ("batch", 64)), graph.weight("w", (64, 64)), weight_layout=layout)
    )
    compiled = load(*write(tmp_path, graph, np.float16))
    weights = [node for node in compiled.get_runtime_model().get_ordered_ops() if node.get_friendly_name() == "w"]
    assert [_info(node, "outputPrecisions") for node in weights] == ["f16"]


def test_constants_keep_the_names_of_the_weights(tmp_path: Path) -> None:
    graph = decoder()
    xml, file = write(tmp_path, graph)
    model = ov.Core().read_model(xml, ov.Tensor(np.memmap(file.path, np.uint8, "r")))
    constants = {node.get_friendly_name() for node in model.get_ordered_ops() if node.get_type_name() == "Constant"}
    assert {port.name for port in graph.weights} <= constants


def test_nodes_carry_their_scope_and_names_are_unique(tmp_path: Path) -> None:
    xml, file = write(tmp_path, decoder())
    model = ov.Core().read_model(xml, ov.Tensor(np.memmap(file.path, np.uint8, "r")))
    names = [node.get_friendly_name() for node in model.get_ordered_ops()]
    assert len(names) == len(set(names))
    attention = [
        n.get_friendly_name() for n in model.get_ordered_ops() if n.get_type_name() == "ScaledDotProductAttention"
    ]
    assert all(name.startswith(f"layers.{i}.cached_attention.v") for i, name in enumerate(sorted(attention)))


def test_inputs_outputs_and_states_bear_the_names_of_the_contract(tmp_path: Path) -> None:
    compiled = load(*write(tmp_path, decoder()))
    assert [sorted(i.get_names()) for i in compiled.inputs] == [
        ["input_ids"], ["attention_mask"], ["position_ids"], ["beam_idx"], ["logits_to_keep"],
    ]  # fmt: skip
    assert [sorted(o.get_names()) for o in compiled.outputs] == [["logits"]]
    states = {state.name for state in compiled.create_infer_request().query_state()}
    assert states == {f"kv.{layer}.{kind}" for layer in (0, 1) for kind in ("key", "value")}


def test_a_graph_read_back_from_json_gives_the_same_bytes(tmp_path: Path) -> None:
    graph = decoder()
    again = Graph.from_json(graph.to_json())
    stored = {name: store(name, value, "auto") for name, value in weights_of(graph).items()}
    assert lower(graph, stored).ir == lower(again, stored).ir


def test_two_processes_write_the_same_bytes(tmp_path: Path) -> None:
    def digest(seed: str) -> str:
        code = (
            "import sys, pathlib; from tools.builder.lowering.openvino.lower_test import *;"
            "xml, file = write(pathlib.Path(sys.argv[1]), decoder());"
            "print(hashlib.sha256(xml).hexdigest(), file.sha256)"
        )
        folder = tmp_path / seed
        folder.mkdir()
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        return subprocess.run(
            [sys.executable, "-c", code, folder], env=env, check=True, capture_output=True, text=True
        ).stdout

    xml, file = write(tmp_path, decoder())
    assert digest("1") == digest("2") == f"{hashlib.sha256(xml).hexdigest()} {file.sha256}\n"


def test_lowering_reads_no_weight(tmp_path: Path) -> None:
    """The IR depends on dtypes and shapes alone, so that a large checkpoint is never in memory."""
    graph = decoder()
    values = weights_of(graph)
    stored = {name: store(name, value, "auto") for name, value in values.items()}
    other = {name: store(name, value + 1, "auto") for name, value in values.items()}
    assert lower(graph, stored).ir == lower(graph, other).ir
