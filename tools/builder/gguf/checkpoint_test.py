"""A GGUF file gives the model that its dequantised tensors give as safetensors, and that transformers makes of it."""

from __future__ import annotations

import functools
import gc
import json
import os
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
import transformers
import zstandard
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

from tools.builder import source
from tools.builder.checkpoint import DTYPES, Checkpoint, CheckpointError
from tools.builder.gguf.checkpoint import GgufCheckpoint
from tools.builder.gguf.config import config
from tools.builder.gguf.reader import Gguf, read_gguf
from tools.builder.gguf.testing import write_gguf
from tools.builder.pipeline import build
from tools.builder.resolve import Family
from tools.builder.testing import cases
from tools.builder.testing.safetensors_files import file_of
from tools.builder.testing.subjects import Oracle, ReferenceLowering
from tools.builder.tiny.make_tiny import make_tiny
from tools.builder.weights import arrays

FAMILIES = Path(__file__).parents[3] / "families"
SIZES: dict[str, Any] = {
    "vocab_size": 512, "hidden_size": 64, "intermediate_size": 160, "num_hidden_layers": 3, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 256,
}  # fmt: skip
EXPERTS = {"num_experts_per_tok": 2, "tie_word_embeddings": False}
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("LlamaForCausalLM", {
        "rope_theta": 500000.0, "tie_word_embeddings": False, "attention_bias": True, "rope_scaling": {
            "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 64,
        },
    }),
    "qwen2": ("Qwen2ForCausalLM", {"rope_theta": 1000000.0, "tie_word_embeddings": True}),
    "qwen3": ("Qwen3ForCausalLM", {"rope_theta": 1000000.0, "head_dim": 32, "tie_word_embeddings": True}),
    "gemma3_text": ("Gemma3ForCausalLM", {
        "head_dim": 32, "query_pre_attn_scalar": 32, "sliding_window": 16, "rope_local_base_freq": 10000.0,
        "rope_theta": 1000000.0, "sliding_window_pattern": 6,
    }),
    "phi3": ("Phi3ForCausalLM", {"tie_word_embeddings": False, "pad_token_id": 0}),
    "olmo2": ("Olmo2ForCausalLM", {"tie_word_embeddings": False, "pad_token_id": 0}),
    "smollm3": ("SmolLM3ForCausalLM", {"tie_word_embeddings": True, "pad_token_id": 0}),
    "granite": ("GraniteForCausalLM", {
        "attention_multiplier": 0.0625, "embedding_multiplier": 12.0, "residual_multiplier": 0.25,
        "logits_scaling": 8.0, "tie_word_embeddings": True,
    }),
    "mixtral": ("MixtralForCausalLM", {"num_local_experts": 4, "sliding_window": None, **EXPERTS}),
    "qwen3_moe": ("Qwen3MoeForCausalLM", {
        "num_experts": 4, "moe_intermediate_size": 96, "head_dim": 32, "norm_topk_prob": True, **EXPERTS,
    }),
}  # fmt: skip


def tiny(folder: Path, model_type: str, **changes: Any) -> Path:
    """A tiny checkpoint of the reference library's, with the tensors that its real checkpoints have."""
    architecture, config = MODELS[model_type]
    family = Family(model_type, Path("none.py"), [architecture], [model_type], {})
    make_tiny(family, {"tokenizer": "qwen2", "config": {**SIZES, **config, **changes}}, folder)
    if "num_experts_per_tok" in config:  # the library's own modules stack the experts, checkpoints do not
        settings = (folder / "config.json").read_text()
        model = getattr(transformers, architecture)(transformers.AutoConfig.from_pretrained(folder))
        model.load_state_dict(safetensors.torch.load_file(folder / "model.safetensors"))
        model.save_pretrained(folder)
        (folder / "config.json").write_text(settings)
    return folder


@functools.cache
def made(model_type: str) -> Path:
    """A tiny checkpoint that tests only read."""
    return tiny(Path(tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))), model_type)


@pytest.mark.parametrize("kind", ["F32", "F16", "BF16", "Q8_0", "Q4_0"])
@pytest.mark.parametrize("model_type", MODELS)
def test_EveryTensorIsTheDequantisedOneUnderItsOwnName(tmp_path: Path, model_type: str, kind: str) -> None:
    folder = made(model_type)
    want = write_gguf(folder, tmp_path / "model.gguf", kind)
    checkpoint = GgufCheckpoint.open(tmp_path / "model.gguf")
    assert checkpoint.tensors.keys() == want.keys()
    for name, tensor in checkpoint.tensors.items():
        got = checkpoint.read(name)
        assert (got.dtype, got.shape) == (DTYPES[tensor.dtype], tensor.shape)
        np.testing.assert_array_equal(got.astype(np.float32), want[name], name)


@pytest.mark.parametrize("model_type", MODELS)
def test_TheSettingsAreThoseOfTheCheckpoint(tmp_path: Path, model_type: str) -> None:
    folder = made(model_type)
    write_gguf(folder, tmp_path / "model.gguf")
    want = json.loads((folder / "config.json").read_text())
    got = GgufCheckpoint.open(tmp_path / "model.gguf").config
    stated = {key for key, value in want.items() if value is not None} - {"dtype", "eos_token_id"}
    assert {key: got.get(key) for key in stated} == {key: want[key] for key in stated}
    assert got["eos_token_id"] in want["eos_token_id"]


@pytest.mark.parametrize("model_type", ["llama", "qwen2", "qwen3", "gemma3_text", "phi3"])
def test_TransformersReadsTheSameTensors(tmp_path: Path, model_type: str) -> None:
    changes = {"attention_bias": False, "rope_scaling": None} if model_type == "llama" else {}
    folder = tiny(tmp_path / "model", model_type, **changes)
    write_gguf(folder, tmp_path / "model.gguf", "Q8_0")
    checkpoint = GgufCheckpoint.open(tmp_path / "model.gguf")
    with torch.device("meta"):
        model = getattr(transformers, MODELS[model_type][0])(transformers.AutoConfig.from_pretrained(folder))
    loaded = load_gguf_checkpoint(tmp_path / "model.gguf", True, model)  # type: ignore[no-untyped-call]
    state = loaded["tensors"]
    assert state.keys() >= checkpoint.tensors.keys()
    for name in checkpoint.tensors:
        np.testing.assert_array_equal(checkpoint.read(name), state[name].numpy(), name)


@pytest.mark.parametrize("family", ["llama", "qwen3"])
def test_TheModelIsTheOneOfTheDequantisedSafetensors(tmp_path: Path, family: str) -> None:
    folder = tiny(tmp_path / "model", family)
    values = write_gguf(folder, tmp_path / "model.gguf", "Q4_0")
    (folder / "model.safetensors").write_bytes(file_of(values))
    opened = Family.open(FAMILIES / family / "family.json")
    checkpoint = GgufCheckpoint.open(tmp_path / "model.gguf")
    (graph,) = opened.record(checkpoint).values()
    ids = cases.random_ids(5, (1, 100), 512)
    got = cases.DecoderRun(ReferenceLowering(graph, arrays(graph, checkpoint)), [0]).step(ids)
    assert cases.error(got, Oracle(folder, MODELS[family][0]).logits(ids)) <= 1e-4
    built = []
    for path in (folder, tmp_path / "model.gguf"):
        build(path, tmp_path / "x.bundle", families=[opened], name="x")
        built.append(members(tmp_path / "x.bundle"))
    assert built[0].keys() == built[1].keys()
    for name in built[0].keys() - {"manifest.json", "assets/tokenizer.json", "assets/text-generation.json"}:
        assert built[0][name] == built[1][name], name


def test_PartsAreOneModel(tmp_path: Path) -> None:
    folder = made("qwen3")
    want = write_gguf(folder, tmp_path / "model.gguf", "Q8_0", split_max_tensors=10)
    parts = sorted(tmp_path.glob("*.gguf"))
    assert len(parts) > 2
    for part in (parts[0], parts[1]):
        assert GgufCheckpoint.open(part).tensors.keys() == want.keys()


def test_TheFoldersFilesGoWithTheCheckpoint(tmp_path: Path) -> None:
    write_gguf(made("qwen3"), tmp_path / "model.gguf")
    checkpoint = GgufCheckpoint.open(tmp_path / "model.gguf")
    folder = checkpoint.folder
    assert {path.name for path in folder.iterdir()} == {"config.json", "tokenizer.json", "tokenizer_config.json"}
    del checkpoint
    gc.collect()
    assert not folder.exists()


@pytest.mark.parametrize(("licence", "files"), [("apache-2.0", 1), ("a\nb: c", 0)])
def test_TheLicenceIsStatedAsInAModelCard(tmp_path: Path, licence: str, files: int) -> None:
    folder = made("qwen3")
    write_gguf(folder, tmp_path / "model.gguf", extra=lambda writer: writer.add_license(licence))
    checkpoint = GgufCheckpoint.open(tmp_path / "model.gguf")
    assert len(list(checkpoint.folder.glob("README.md"))) == files
    assert source.licence(checkpoint.folder) == (licence if files else None)


def test_TensorsOfTheSameBytesAreTheSame(tmp_path: Path) -> None:
    folder = tiny(tmp_path / "model", "qwen3", tie_word_embeddings=False)
    tensors = {name: Checkpoint.open(folder).read(name) for name in Checkpoint.open(folder).tensors}
    for head, alike in ((tensors["model.embed_tokens.weight"], True), (tensors["lm_head.weight"], False)):
        (folder / "model.safetensors").write_bytes(file_of(tensors | {"lm_head.weight": head}))
        write_gguf(folder, tmp_path / "model.gguf", "Q8_0")
        assert GgufCheckpoint.open(tmp_path / "model.gguf").same("model.embed_tokens.weight", "lm_head.weight") is alike


@pytest.mark.parametrize(
    ("extra", "reason"),
    [
        (lambda w: w.add_string("qwen3.colour", "red"), "the metadata qwen3.colour is not known"),
        (lambda w: w.add_string("qwen3.rope.scaling.type", "dynamic"), "rope.scaling.type is 'dynamic'; read are"),
        (lambda w: w.add_tensor("blk.0.odd.weight", np.zeros(32, np.float32)), "tensor blk.0.odd.weight has no place"),
        (lambda w: w.add_tensor("rope_freqs.weight", np.full(16, 3, np.float32)), "is not the scaling of Llama 3.1"),
        (lambda w: w.add_tensor("rope_freqs.weight", np.full(16, np.nan, np.float32)), "no positive number"),
    ],
)
def test_RefusesWhatItDoesNotKnow(tmp_path: Path, extra: Any, reason: str) -> None:
    write_gguf(made("qwen3"), tmp_path / "model.gguf", extra=extra)
    with pytest.raises(CheckpointError, match=reason) as caught:
        GgufCheckpoint.open(tmp_path / "model.gguf")
    assert str(tmp_path / "model.gguf") in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("general.architecture", "falcon", "the architecture is 'falcon', which is not read; read are llama, qwen2"),
        ("general.architecture", None, "the architecture is None"),
        ("qwen3.block_count", None, "does not state qwen3.block_count"),
        ("qwen3.block_count", "3", "qwen3.block_count is '3', not of type int"),
        ("qwen3.attention.head_count", 0, "num_attention_heads is 0; it must be an integer from 1 to"),
        (
            "qwen3.attention.head_count_kv",
            3,
            "num_attention_heads 4 does not divide into .* 3; .* fetch the file again",
        ),
        ("qwen3.attention.value_length", 8, "heads of 32 for keys and 8 for values"),
        ("tokenizer.ggml.eos_token_id", [7], r"tokenizer.ggml.eos_token_id is \[7\], not of type int"),
        ("tokenizer.ggml.bos_token_id", True, "tokenizer.ggml.bos_token_id is True, not of type int"),
    ],
)
def test_RefusesSettingsThatMakeNoModel(tmp_path: Path, key: str, value: Any, reason: str) -> None:
    write_gguf(made("qwen3"), tmp_path / "model.gguf")
    filed = read_gguf(tmp_path / "model.gguf")
    metadata = {k: v for k, v in filed.metadata.items() if k != key} | ({} if value is None else {key: value})
    with pytest.raises(CheckpointError, match=reason):
        config(Gguf(filed.path, metadata, filed.tensors))


def members(path: Path) -> dict[str, bytes]:
    """A bundle's members by name."""
    with path.open("rb") as file:
        stream = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            found = {}
            for member in archive:
                body = archive.extractfile(member)
                found[member.name] = body.read() if body else b""
            return found
