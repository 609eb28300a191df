"""Whole decoders: numbers, the description of a plan, its build key, and how weights are bound."""

from __future__ import annotations

import dataclasses
import json
import types
from typing import Any

import numpy as np
import pytest

from tools.builder.lowering import reference
from tools.builder.lowering.openvino.testing import decoder, step, weights_of
from tools.builder.lowering.tensorrt import double
from tools.builder.lowering.tensorrt.emitter import Array
from tools.builder.lowering.tensorrt.engine import Engine, EngineError, load
from tools.builder.lowering.tensorrt.lower import Options, Plan, build_key, build_plan
from tools.builder.lowering.tensorrt.ranges import Ranges, SizeError
from tools.builder.lowering.tensorrt.testing import DoubleExecution

GRAPH = decoder()
WEIGHTS = weights_of(GRAPH)
RANGES = Ranges.of(GRAPH)


@pytest.mark.parametrize("weights", ["constants", "inputs"])
@pytest.mark.parametrize("extended", [False, True])
@pytest.mark.parametrize("keys_multiple", [1, 16])
@pytest.mark.parametrize("chunks", [[20], [17, 1, 1, 1], [9, 8, 3]])
def test_a_decoder_is_the_reference_over_any_schedule(
    weights: str, extended: bool, keys_multiple: int, chunks: list[int]
) -> None:
    options = Options("f32", weights=weights)
    engine = DoubleExecution(GRAPH, WEIGHTS, options, extended=extended, keys_multiple=keys_multiple)
    caches, past = reference.Caches(), 0
    ids = np.random.default_rng(5).integers(0, 96, (2, 20))
    for tokens in chunks:
        inputs = step(ids[:, past : past + tokens], past)
        past += tokens
        want = reference.run(GRAPH, WEIGHTS, inputs, caches)[0]["logits"]
        np.testing.assert_allclose(engine.run(inputs)["logits"], want, atol=1e-5)


def test_a_padded_batch_is_its_single_texts() -> None:
    ids = np.random.default_rng(6).integers(0, 96, (2, 9))
    padding = np.array([4, 0])
    inputs = step(ids)
    inputs["attention_mask"] = (np.arange(9)[None] >= padding[:, None]).astype(np.int64)
    inputs["position_ids"] = np.maximum(np.arange(9)[None] - padding[:, None], 0)
    got = DoubleExecution(GRAPH, WEIGHTS).run(inputs)["logits"]
    single = DoubleExecution(GRAPH, WEIGHTS).run(step(ids[:1, 4:]))["logits"]
    np.testing.assert_allclose(got[0, 4:], single[0], atol=1e-5)


@pytest.mark.parametrize("keep", [1, 3, 0, 99])
def test_only_the_last_logits_are_computed(keep: int) -> None:
    inputs = step(np.random.default_rng(8).integers(0, 96, (2, 5)), keep=keep)
    want = reference.run(GRAPH, WEIGHTS, inputs)[0]["logits"]
    np.testing.assert_allclose(DoubleExecution(GRAPH, WEIGHTS).run(inputs)["logits"], want, atol=1e-5)


def test_a_shape_outside_the_ranges_is_refused() -> None:
    engine = DoubleExecution(GRAPH, WEIGHTS, ranges=Ranges.of(GRAPH, batch=(1, 1, 2), tokens=(1, 4, 8)))
    with pytest.raises(SizeError, match="input_ids: tokens is 9; this plan was built for 1 to 8"):
        engine.run(step(np.zeros((1, 9), np.int64)))
    with pytest.raises(SizeError, match="attention_mask: past\\+tokens is 2; given are 3"):
        engine.run(step(np.zeros((1, 2), np.int64), past=1))


@pytest.mark.parametrize("precision", ["f32", "f16"])
def test_a_weakly_typed_network_is_told_every_type(precision: str) -> None:
    network = DoubleExecution(GRAPH, WEIGHTS, Options(precision)).made.network
    kinds = {layer.name.split("/")[-1].split(".")[0]: set[Any]() for layer in network.layers}
    for layer in network.layers:
        kinds[layer.name.split("/")[-1].split(".")[0]].add(layer.precision)
    product = {"f32": "float32", "f16": "float16"}[precision]
    assert kinds["matmul"] == {product} and kinds["softmax"] == kinds["reduce"] == kinds["unary"] == {"float32"}
    assert kinds["shuffle"] == kinds["gather"] == {None}


@pytest.fixture(scope="module")
def plan() -> Plan:
    return build_plan(GRAPH, WEIGHTS, Options("f16", weights="inputs"))


def test_the_description_names_every_input_and_output(plan: Plan) -> None:
    description = json.loads(json.dumps(plan.description))
    assert description["graph"] == GRAPH.digest() and description["engine"]["name"] == "tensorrt_rtx"
    assert description["caches"] == {
        "kv": {
            "form": "in_place",
            "batch": "batch",
            "tokens": "tokens",
            "mask": "attention_mask",
            "reordered_by": "beam_idx",
        }
    }
    rows = {row["name"]: row for row in description["inputs"]}
    assert rows["input_ids"] == {
        "name": "input_ids", "role": "graph_input", "dtype": "i64", "shape": ["batch", "tokens"],
        "graph_input": "input_ids", "memory": "device",
    }  # fmt: skip
    assert rows["logits_to_keep"]["memory"] == "host"
    assert rows["kv.1.value"] == {
        "name": "kv.1.value", "role": "cache", "dtype": "f16", "shape": ["batch", 2, 64, 16],
        "cache": "kv", "layer": 1, "part": "value", "memory": "device",
    }  # fmt: skip
    assert rows["kv.write_index"]["shape"] == ["batch"] and "beam_idx" not in rows
    assert rows["w:layers.0.q.weight"]["weight"] == "layers.0.q.weight"
    outputs = {row["name"]: row["role"] for row in description["outputs"]}
    assert outputs["logits"] == "graph_output" and outputs["kv.0.key.out"] == "cache" and len(outputs) == 5


def test_matrices_are_inputs_and_norms_are_constants(plan: Plan) -> None:
    bound = {row["weight"]: row for row in plan.description["inputs"] if row["role"] == "weight"}
    assert set(bound) == {port.name for port in GRAPH.weights if len(port.value.shape) > 1}
    assert bound["embed.weight"]["dtype"] == "f16"
    assert {row["dtype"] for name, row in bound.items() if name.startswith("constant.")} == {"f32"}  # rope's tables
    assert len(plan.data) < len(build_plan(GRAPH, WEIGHTS, Options("f16")).data)


def test_the_build_key_is_of_all_that_decides_the_plan(plan: Plan) -> None:
    engine, base = load(), Options("f16")
    other = {**WEIGHTS, "norm.weight": WEIGHTS["norm.weight"] + 1}
    matrix = {**WEIGHTS, "embed.weight": WEIGHTS["embed.weight"] + 1}

    def key(weights: dict[str, Array] = WEIGHTS, options: Options = base, ranges: Ranges = RANGES, **more: Any) -> str:
        return build_key(more.get("graph", GRAPH), weights, options, ranges, more.get("engine", engine))

    assert key() == key() and len(key()) == 64
    keys = [
        key(), key(other), key(matrix), key(options=Options("bf16")), key(options=Options("f16", "inputs")),
        key(options=Options("f16", targets=["SM89"])), key(options=Options("f16", level=2)),
        key(ranges=Ranges.of(GRAPH, batch=(1, 1, 2))), key(ranges=Ranges.of(GRAPH, cache_length=32)),
        key(engine=dataclasses.replace(engine, features=frozenset())), key(weights_of(decoder(1)), graph=decoder(1)),
    ]  # fmt: skip
    assert len(set(keys)) == len(keys)
    inputs = Options("f16", "inputs")
    assert plan.build_key == key(options=inputs) == key(matrix, options=inputs) != key(other, options=inputs)


def test_plans_of_one_key_have_one_size(plan: Plan) -> None:
    assert len(build_plan(GRAPH, WEIGHTS, Options("f16", weights="inputs")).data) == len(plan.data)


def test_an_unknown_target_is_refused_with_those_that_exist() -> None:
    with pytest.raises(EngineError, match="tensorrt_rtx .* has no target 'SM20'; it has .*SM89"):
        build_plan(GRAPH, WEIGHTS, Options("f16", targets=["SM20"]))


def test_the_engines_own_words_are_in_the_error() -> None:
    with pytest.raises(EngineError, match="cannot build decoder: .*SM75"):
        build_plan(GRAPH, WEIGHTS, Options("f32", targets=["SM75"]))


def test_a_builder_that_wants_a_gpu_says_so() -> None:
    def refuse(logger: Any) -> None:
        logger.log(1, "CUDA initialization failure with error: 35")
        raise TypeError("pybind11::init(): factory function returned nullptr")

    trt = double.module()
    trt.__name__, trt.Builder = "tensorrt", refuse
    with pytest.raises(EngineError, match="tensorrt 0 cannot build on this machine: CUDA initialization failure"):
        build_plan(GRAPH, WEIGHTS, engine=Engine(trt))


def test_bf16_needs_a_version_that_has_it() -> None:
    old = types.SimpleNamespace(__name__="tensorrt", __version__="8.6.0")
    with pytest.raises(EngineError, match="tensorrt 8.6.0 has no bf16; build for f16 or f32"):
        Engine(old).dtype("bf16")
