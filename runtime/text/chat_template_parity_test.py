"""Chat templates give the same bytes here as in the reference library, and fail where it fails."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from transformers.utils import chat_template_utils

from tools.builder.assets.chat_template import compile_chat_template

PROBE = os.environ["CHAT_TEMPLATE_PROBE"]
NOW = datetime.datetime(2024, 2, 29, 13, 5, 9, 4521)
TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
Question = dict[str, Any]


class _Clock(datetime.datetime):
    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
        return NOW


def reference(source: str, question: Question) -> str | None:
    """What transformers renders; None where it raises."""
    messages = [{k: v for k, v in m.items() if v is not None} for m in question["messages"]]
    options = {"add_generation_prompt": False, "tools": None, **question}
    variables = {**TOKENS, **options.pop("variables", {})}
    options.pop("messages")
    try:
        texts, _ = chat_template_utils.render_jinja_template([messages], chat_template=source, **options, **variables)
    except Exception:  # templates may raise anything that Python can
        return None
    text = texts[0]
    assert isinstance(text, str)
    return text


def _micros() -> int:
    return (NOW - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)


def run(tree: Path, questions: Iterable[Question]) -> list[dict[str, Any]]:
    lines = "".join(json.dumps(question) + "\n" for question in questions)
    result = subprocess.run([PROBE, str(tree)], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in result.stdout.split("\n")[:-1]]


def ask(source: str, questions: Iterable[Question], folder: Path) -> list[dict[str, Any]]:
    (folder / "tree.json").write_bytes(compile_chat_template({"default": ("test", source)}, TOKENS))
    return run(folder / "tree.json", [{"now": _micros(), **question} for question in questions])


def check(source: str, questions: list[Question], folder: Path) -> int:
    """Compares all answers. Returns how many questions the reference renders."""
    rendered = 0
    answers = ask(source, questions, folder)
    assert len(answers) == len(questions), answers
    for question, answer in zip(questions, answers, strict=True):
        want = reference(source, question)
        got = answer.get("text")
        assert got == want, f"{source!r}\n{question!r}\nwant {want!r}\ngot  {answer!r}"
        rendered += want is not None
    return rendered


@pytest.fixture(autouse=True)
def _fixed_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_template_utils, "datetime", _Clock)


EXPRESSIONS = (Path(__file__).parent / "testdata" / "expressions.txt").read_text(encoding="utf-8").split("\n")[:-1]
TWO_TURNS = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "Hi <b>"}]


def test_expressions_like_the_reference(tmp_path: Path) -> None:
    """Each expression prints the same, or fails in both."""
    # The name chooses the expression, so that one tree holds them all.
    templates = {str(i): ("test", "{{ " + expression + " }}") for i, expression in enumerate(EXPRESSIONS)}
    (tmp_path / "tree.json").write_bytes(compile_chat_template(templates, TOKENS))
    questions = [{"messages": TWO_TURNS, "now": _micros(), "name": name} for name in templates]
    mismatches = []
    rendered = 0
    for (_, source), answer in zip(templates.values(), run(tmp_path / "tree.json", questions), strict=True):
        want = reference(source, {"messages": TWO_TURNS})
        rendered += want is not None
        if answer.get("text") != want:
            mismatches.append((source, want, answer))
    assert not mismatches
    assert rendered > 0.7 * len(EXPRESSIONS)
