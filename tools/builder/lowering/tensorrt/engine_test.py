"""The TensorRT of the machine is found and asked for what it has."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools.builder.lowering.tensorrt.engine import Engine, EngineError, load


def test_finds_what_can_be_imported() -> None:
    engine = load()
    assert engine.name == "tensorrt_rtx" and engine.version == "1.7.1.116"
    assert engine.strongly_typed and engine.has("add_kv_cache_update") and not engine.has("add_teleport")


def test_admits_to_chosen_features_alone() -> None:
    engine = Engine(load().trt, features=frozenset({"add_attention_v2"}))
    assert engine.has("add_attention_v2") and not engine.has("add_kv_cache_update")


def test_says_what_is_missing() -> None:
    with pytest.raises(
        EngineError, match=r"no TensorRT can be imported \(tensorrt_none: No module .*; install tensorrt"
    ):
        load("tensorrt_none")


def test_a_folder_of_that_name_is_not_taken_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tensorrt_empty").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with pytest.raises(EngineError, match="is a folder of that name"):
        load("tensorrt_empty")


def test_keeps_the_engines_messages() -> None:
    engine = load()
    engine.messages.clear()
    builder = engine.trt.Builder(engine.logger())
    network = builder.create_network(0)
    network.add_input("x", engine.trt.float32, (1, 2, 3, -7))
    assert engine.messages
