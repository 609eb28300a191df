import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import transformers

from tools.builder.checkpoint import Checkpoint
from tools.builder.resolve import Family
from tools.builder.tiny.make_tiny import TinyError, main, make_tiny

FAMILY = Family("tiny", Path("none.py"), ["GPT2LMHeadModel"], ["gpt2"], {})
CONFIG = {"vocab_size": 300, "n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": 16}
DESCRIPTION: dict[str, Any] = {"tokenizer": "gpt2", "config": CONFIG}


def digest(folder: Path) -> str:
    files = sorted(p for p in folder.rglob("*") if p.is_file())
    return hashlib.sha256(b"".join(str(p.relative_to(folder)).encode() + p.read_bytes() for p in files)).hexdigest()


def test_TheSameBytesEveryTimeAndEverywhere(tmp_path: Path) -> None:
    for name in "ab":
        make_tiny(FAMILY, DESCRIPTION, tmp_path / name)
    assert digest(tmp_path / "a") == digest(tmp_path / "b")
    weights = hashlib.sha256((tmp_path / "a" / "model.safetensors").read_bytes()).hexdigest()
    assert weights == "1513fb88fad592a0ebca65d5c4b6b111c478c17345f9ffc75dbb702ba7d39f44"


def test_TheReferenceLibraryLoadsEveryTensor(tmp_path: Path) -> None:
    make_tiny(FAMILY, DESCRIPTION, tmp_path)
    loaded: Any = transformers.GPT2LMHeadModel.from_pretrained(tmp_path, output_loading_info=True)
    model, report = loaded
    assert not report["missing_keys"] and not report["unexpected_keys"] and not report["mismatched_keys"]
    assert model.lm_head.weight is model.transformer.wte.weight
    assert "lm_head.weight" not in Checkpoint.open(tmp_path).tensors
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert tokenizer.decode(tokenizer("The river").input_ids) == "The river"
    assert model.generation_config.eos_token_id == tokenizer.eos_token_id == 299


def test_AnUntiedHeadIsATensorOfItsOwn(tmp_path: Path) -> None:
    make_tiny(FAMILY, {**DESCRIPTION, "config": {**CONFIG, "tie_word_embeddings": False}}, tmp_path)
    checkpoint = Checkpoint.open(tmp_path)
    assert not checkpoint.same("lm_head.weight", "transformer.wte.weight")


@pytest.mark.parametrize("dtype, stored", [("bfloat16", "BF16"), ("float16", "F16")])
def test_StoresTheDtypeThatIsAskedFor(tmp_path: Path, dtype: str, stored: str) -> None:
    make_tiny(FAMILY, {**DESCRIPTION, "config": {**CONFIG, "dtype": dtype}}, tmp_path)
    assert {t.dtype for t in Checkpoint.open(tmp_path).tensors.values()} == {stored}


@pytest.mark.parametrize(
    "description, reason",
    [
        ({}, "an object of tokenizer"),
        ({**DESCRIPTION, "tokenizer": "other"}, "one of gpt2, qwen2, llama3, wordpiece"),
        ({**DESCRIPTION, "config": {**CONFIG, "dtype": "int8"}}, "dtype is 'int8'"),
        ({**DESCRIPTION, "config": {"n_positions": 4}}, "must state vocab_size"),
        ({**DESCRIPTION, "config": {"vocab_size": 300}}, "must state max_position_embeddings or n_positions"),
    ],
)
def test_RefusesADescriptionThatIsIncomplete(tmp_path: Path, description: dict[str, Any], reason: str) -> None:
    with pytest.raises(TinyError, match=reason):
        make_tiny(FAMILY, description, tmp_path)


def test_ThePoolingKnowsTheHiddenSizeByAnyName(tmp_path: Path) -> None:
    family = Family("tiny", Path("none.py"), ["DistilBertModel"], ["distilbert"], {})
    sizes = {"vocab_size": 300, "dim": 8, "hidden_dim": 16, "n_layers": 1, "n_heads": 2, "max_position_embeddings": 16}
    make_tiny(family, {"tokenizer": "wordpiece", "config": sizes}, tmp_path)
    assert json.loads((tmp_path / "1_Pooling/config.json").read_text())["word_embedding_dimension"] == 8


def test_TheCommandTakesTextOrAFile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = {"name": "x", "source": "x.py", "architectures": ["GPT2LMHeadModel"], "model_types": ["gpt2"], "tasks": {}}
    (tmp_path / "family.json").write_text(json.dumps(body))
    (tmp_path / "tiny.json").write_text(json.dumps(DESCRIPTION))
    for name, config in (("a", json.dumps(DESCRIPTION)), ("b", str(tmp_path / "tiny.json"))):
        arguments = ["--family", str(tmp_path / "family.json"), "--config", config, "--out", str(tmp_path / name)]
        assert main(arguments) == 0
    assert digest(tmp_path / "a") == digest(tmp_path / "b")
    assert main(["--family", str(tmp_path / "family.json"), "--config", "absent.json", "--out", str(tmp_path)]) == 2
    assert "absent.json" in capsys.readouterr().err
