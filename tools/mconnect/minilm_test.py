"""The whole path on real weights: all-MiniLM-L6-v2 by the command line and by the build action."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from tools.builder.lowering.openvino.engine import ov
from tools.builder.lowering.openvino.execute import compile_model
from tools.mconnect import main
from tools.mconnect.start import OK
from tools.mconnect.subject import open_subject

FAMILY, BUNDLE = (Path(os.path.abspath(os.environ[name])) for name in ("FAMILY", "BUNDLE"))
SENTENCES = ["A cat sits on the mat.", "Die Katze liegt auf der Matte, naïve Café 3,50 €", "猫はマットの上", ""]


def checkpoint() -> Path:
    """The folder of the pinned checkpoint: external repositories lie beside this one among the runfiles."""
    configs = [path for path in os.environ["CHECKPOINT"].split() if path.endswith("config.json")]
    shortest = min(configs, key=lambda path: path.count("/"))
    for place in (shortest, shortest.replace("external/", "../", 1)):
        if Path(place).exists():
            return Path(os.path.abspath(place)).parent
    raise FileNotFoundError(shortest)


@pytest.fixture(autouse=True)
def _stay_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BUILD_WORKING_DIRECTORY", raising=False)


def test_the_command_line_gives_the_bytes_of_the_build_action(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "minilm.bundle"
    args = ["build", str(checkpoint()), "-o", str(out), "--name", "bert-minilm", "--family", str(FAMILY), "--json"]
    assert main.main(args) == OK
    assert out.read_bytes() == BUNDLE.read_bytes()
    assert json.loads(capsys.readouterr().out)["size"] == out.stat().st_size


def test_debug_finds_no_op_that_departs() -> None:
    assert main.main(["debug", str(BUNDLE), "--prompt", SENTENCES[1]]) == OK


def test_ids_and_hidden_states_are_those_of_the_reference_library(tmp_path: Path) -> None:
    subject = open_subject(str(BUNDLE), None, [], tmp_path)
    raw = np.fromfile(subject.weights_path, np.uint8)
    engine = compile_model(ov.Core().read_model(subject.ir, ov.Tensor(raw)))
    tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoint())
    model = transformers.AutoModel.from_pretrained(checkpoint(), attn_implementation="eager").eval()
    batch = tokenizer(SENTENCES, padding=True, return_tensors="pt")
    assert [e.ids for e in subject.tokenizer.encode_batch(SENTENCES)] == tokenizer(SENTENCES)["input_ids"]
    with torch.no_grad():
        want = model(**batch).last_hidden_state.numpy()
    got = engine({name: value.numpy() for name, value in batch.items()})["last_hidden_state"]
    seen = batch["attention_mask"].numpy().astype(bool)
    assert np.abs(got - want)[seen].max() <= 2e-5
