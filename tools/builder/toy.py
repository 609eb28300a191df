"""A family and checkpoints small enough for tests of the whole path; a test-only library."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, pre_tokenizers

_SOURCE = """
from dataclasses import dataclass
from tools.builder import ops
from tools.builder.layers import DecoderInputs, split_heads, merge_heads

UNNEEDED = ("unneeded",)

@dataclass(frozen=True)
class Config:
    hidden_size: int = 32

def encoder(g, c, w):
    ids = g.input("input_ids", "i64", ("batch", "tokens"))
    mask = g.input("attention_mask", "i64", ("batch", "tokens"))
    x = ops.embedding(ids, w["table"])
    with g.scope("mix"):
        heads = split_heads(ops.linear(x, w["mix.weight"], w["mix.bias"]), 2)
        x = x + merge_heads(ops.attention(heads, heads, heads, mask=mask, scale=0.25))
    g.output("last_hidden_state", ops.gelu(x))

def decoder(g, c, w):
    t = DecoderInputs.declare(g)
    x = ops.embedding(t.input_ids, w["table"])
    with g.scope("mix"):
        heads = split_heads(ops.linear(x, w["mix.weight"], w["mix.bias"]), 2)
        cache = g.kv_cache(layers=1, heads=2, head_dim=c.hidden_size // 2)
        masks = {"attention_mask": t.attention_mask, "beam_idx": t.beam_idx}
        heads = ops.cached_attention(heads, heads, heads, cache[0], scale=0.25, **masks)
        x = x + merge_heads(heads)
    g.output("logits", ops.linear(ops.trailing(x, t.logits_to_keep), w["table"]))
"""
_TASKS = {"encoder": "text-embedding", "decoder": "text-generation"}
WORDS = ("<unk>", "<pad>", "<end>", "the", "cat", "sat", "on", "mat")


def family(folder: Path, module: str = "encoder") -> Path:
    """A family `toy` with one module, `encoder` or `decoder`; returns its family.json."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "toy.py").write_text(_SOURCE)
    body = {
        "name": "toy",
        "source": "toy.py",
        "architectures": ["ToyModel"],
        "model_types": ["toy"],
        "tasks": {_TASKS[module]: [module]},
    }
    (folder / "family.json").write_text(json.dumps(body))
    return folder / "family.json"


def tensors(dtype: Any = np.float32) -> dict[str, np.ndarray[Any, np.dtype[Any]]]:
    """The toy's weights."""
    rng = np.random.default_rng(7)
    shapes = {"table": (len(WORDS), 32), "mix.weight": (32, 32), "mix.bias": (32,), "unneeded": (3,)}
    return {name: rng.standard_normal(shape).astype(dtype) for name, shape in shapes.items()}


def checkpoint(folder: Path, dtype: Any = np.float32, **changes: Any) -> Path:
    """A checkpoint of the toy. `changes` are contents by file name; None leaves the file out."""
    (folder / "1_Pooling").mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    files: Mapping[str, Any] = {
        "config.json": {
            "architectures": ["ToyModel"],
            "model_type": "toy",
            "hidden_size": 32,
            "max_position_embeddings": 64,
        },
        "tokenizer.json": json.loads(tokenizer.to_str()),
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "eos_token": "<end>",
            "pad_token": "<pad>",
        },
        "README.md": "---\nlicense: mit\n---\nA toy.\n",
        "model.safetensors": tensors(dtype),
        **changes,
    }
    for name, content in files.items():
        if isinstance(content, bytes):
            (folder / name).write_bytes(content)
        elif name.endswith(".safetensors") and content is not None:
            save_file(content, folder / name)
        elif content is not None:
            (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
    return folder
