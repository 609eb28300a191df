"""The native path against the reference library on the real all-MiniLM-L6-v2, from text to unit vectors."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

PROBE, BUNDLE, SENTENCES = (Path(os.environ[name]) for name in ("PROBE", "BUNDLE", "SENTENCES"))
CONFIGS = [Path(path) for path in os.environ["CHECKPOINT"].split() if path.endswith("/config.json")]
CHECKPOINT = min(CONFIGS, key=lambda path: len(path.parts)).parent  # sub-folders have a config.json too
TOLERANCE = 2e-5  # of unit vectors, in f32


@pytest.fixture(scope="module")
def lines() -> list[str]:
    """Sentences in many languages, and the cases that batching and truncation turn on."""
    lines = SENTENCES.read_text(encoding="utf-8").splitlines()
    return [*lines, "", "x", "word " * 400, "猫" * 300]


def reference(lines: list[str]) -> np.ndarray:
    """What sentence-transformers computes: mean over tokens of the last hidden state, scaled to length 1."""
    folder = CHECKPOINT
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    vectors = []
    torch.set_num_threads(1)  # short texts: more threads only wait for each other
    with torch.inference_mode():
        for line in lines:  # one by one: the native path batches and pads
            batch = tokenizer(line, truncation=True, max_length=256, return_tensors="pt")
            hidden = model(**batch).last_hidden_state[0]
            vectors.append(torch.nn.functional.normalize(hidden.mean(0), dim=0).numpy())
    return np.stack(vectors)


def test_sentence_vectors_equal_the_references(
    lines: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts, out = tmp_path / "lines.txt", tmp_path / "vectors.f32"
    texts.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    subprocess.run(
        [PROBE, BUNDLE, texts, out], check=True, env={**os.environ, "MCONNECT_STORE": str(tmp_path / "store")}
    )
    ours = np.fromfile(out, np.float32).reshape(len(lines), -1)
    theirs = reference(lines)
    assert ours.shape == theirs.shape == (len(lines), 384)
    worst = np.abs(ours - theirs).max(axis=1)
    with capsys.disabled():  # the test's log says how near the limit it is
        print(f"\n{len(lines)} sentence vectors: largest difference {worst.max():.1e} of {TOLERANCE:.0e}")
    assert worst.max() <= TOLERANCE, f"{worst.max():.2e} at line {worst.argmax()}: {lines[worst.argmax()][:60]!r}"
