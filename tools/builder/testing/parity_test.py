"""`parity` must fail where a family departs from its reference."""

import json
from pathlib import Path

import pytest

from tools.builder.resolve import Family
from tools.builder.testing import parity
from tools.builder.tiny.make_tiny import make_tiny

SOURCE = """
from dataclasses import dataclass
from tools.builder import ops
from tools.builder.layers import linear, layer_norm, split_heads, merge_heads

UNNEEDED = ("*pooler.*",)

@dataclass(frozen=True)
class Config:
    layer_norm_eps: float = 1e-12

def encoder(g, c, w):
    names = ("input_ids", "attention_mask", "token_type_ids")
    ids, mask, types = (g.input(name, "i64", ("batch", "tokens")) for name in names)
    e, l = w["embeddings"], w["encoder.layer.0"]
    x = ops.embedding(ids, e["word_embeddings.weight"]) + ops.embedding(types, e["token_type_embeddings.weight"])
    x = x + ops.embedding(ops.positions(ids), e["position_embeddings.weight"])
    x = layer_norm(x, e["LayerNorm"], c.layer_norm_eps)
    q, k, v = (split_heads(linear(x, l["attention.self"][n]), 2) for n in ("query", "key", "value"))
    h = merge_heads(ops.attention(q, k, v, mask=mask, scale=SCALE))
    x = layer_norm(linear(h, l["attention.output.dense"]) + x, l["attention.output.LayerNorm"], c.layer_norm_eps)
    h = linear(ops.gelu(linear(x, l["intermediate.dense"])), l["output.dense"])
    g.output("last_hidden_state", layer_norm(h + x, l["output.LayerNorm"], c.layer_norm_eps))
"""
WITHOUT_SEGMENTS = """
from dataclasses import dataclass
from tools.builder import ops
from tools.builder.layers import layer_norm

@dataclass(frozen=True)
class Config:
    dim: int = 768

def encoder(g, c, w):
    ids, mask = (g.input(name, "i64", ("batch", "tokens")) for name in ("input_ids", "attention_mask"))
    e = w["embeddings"]
    x = ops.embedding(ops.positions(ids), e["position_embeddings.weight"])
    x = ops.embedding(ids, e["word_embeddings.weight"]) + x
    g.output("last_hidden_state", layer_norm(x, e["LayerNorm"], 1e-12))
"""
CONFIG = {
    "vocab_size": 300,
    "hidden_size": 8,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "max_position_embeddings": 32,
}


@pytest.mark.parametrize("scale, held", [(0.5, True), (0.51, False)])
def test_FailsWhereTheFamilyDeparts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], scale: float, held: bool
) -> None:
    name = f"toy{held}".lower()
    body = {"name": name, "source": "toy.py", "architectures": ["BertModel"], "model_types": ["bert"]}
    (tmp_path / "family.json").write_text(json.dumps(body | {"tasks": {"text-embedding": ["encoder"]}}))
    (tmp_path / "toy.py").write_text(f"SCALE = {scale}\n" + SOURCE)
    family = Family.open(tmp_path / "family.json")
    make_tiny(family, {"tokenizer": "wordpiece", "config": CONFIG}, tmp_path / "checkpoint")
    arguments = ["--family", str(tmp_path / "family.json"), "--checkpoint", str(tmp_path / "checkpoint")]
    assert parity.main(arguments) == (0 if held else 1)
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 6 and all("max abs error" in line for line in printed)
    assert {line[:4] for line in printed} == {"ok  " if held else "FAIL"}


def test_HoldsAnEncoderWithoutSegments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = {"name": "plain", "source": "plain.py", "architectures": ["DistilBertModel"], "model_types": ["distilbert"]}
    (tmp_path / "family.json").write_text(json.dumps(body | {"tasks": {"text-embedding": ["encoder"]}}))
    (tmp_path / "plain.py").write_text(WITHOUT_SEGMENTS)
    sizes = {"vocab_size": 300, "dim": 8, "hidden_dim": 16, "n_layers": 0, "n_heads": 2, "max_position_embeddings": 32}
    make_tiny(
        Family.open(tmp_path / "family.json"), {"tokenizer": "wordpiece", "config": sizes}, tmp_path / "checkpoint"
    )
    arguments = ["--family", str(tmp_path / "family.json"), "--checkpoint", str(tmp_path / "checkpoint")]
    assert parity.main(arguments) == 0
    assert [line[:4] for line in capsys.readouterr().out.splitlines()] == ["ok  "] * 6
