"""Each example finds the right sentence first, with the scores that the reference implementation gives."""

import os
import subprocess
from pathlib import Path

import pytest

# Cosines of sentence-transformers 5 with all-MiniLM-L6-v2 in f32.
ANSWERS = {
    "How do I keep bread fresh?": ("Wrap a loaf in a linen cloth", 0.613),
    "My phone battery runs out too fast.": ("Turn down the screen brightness", 0.453),
    "What helps against insomnia?": ("Those who lie awake at night", 0.410),
}
BUNDLE = os.environ["BUNDLE"]
SENTENCES = "examples/everyday.txt"


def run(program: str, *args: str, store: Path) -> subprocess.CompletedProcess[str]:
    env = dict(os.environ, MCONNECT_STORE=str(store))
    return subprocess.run([program, *args], capture_output=True, text=True, env=env, check=False)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


def test_quickstart_answers_each_question(store: Path) -> None:
    result = run("examples/quickstart", BUNDLE, SENTENCES, store=store)
    assert result.returncode == 0, result.stderr
    header, *blocks = result.stdout.split("\n\n")
    assert "60 sentences, 384 dimensions" in header
    assert len(blocks) == len(ANSWERS)
    for block, (question, (answer, score)) in zip(blocks, ANSWERS.items(), strict=True):
        lines = block.splitlines()
        assert lines[0] == question
        assert len(lines) == 4
        value, bar, sentence = lines[1].split(maxsplit=2)
        assert sentence.startswith(answer)
        assert float(value) == pytest.approx(score, abs=0.002)
        assert bar.count("#") == round(float(value) * 20)


@pytest.mark.parametrize("program", ["examples/embed_c", "examples/embed_py"])
@pytest.mark.parametrize("question", ANSWERS)
def test_other_languages_agree(program: str, question: str, store: Path) -> None:
    result = run(program, BUNDLE, SENTENCES, question, store=store)
    assert result.returncode == 0, result.stderr
    value, sentence = result.stdout.splitlines()[0].split(maxsplit=1)
    answer, score = ANSWERS[question]
    assert sentence.startswith(answer)
    assert float(value) == pytest.approx(score, abs=0.002)


@pytest.mark.parametrize("program", ["examples/quickstart", "examples/embed_c", "examples/embed_py"])
def test_mistakes_end_with_a_message(program: str, store: Path) -> None:
    question = [] if program.endswith("quickstart") else ["a question"]
    result = run(program, "absent.bundle", SENTENCES, *question, store=store)
    assert result.returncode == 1
    assert "absent.bundle" in result.stderr
    assert "Traceback" not in result.stderr
