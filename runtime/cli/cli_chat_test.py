"""run as a person uses it: a conversation in a terminal, output formats, several continuations."""

import json
import math
import os
import pty
import re
import select
import signal
from pathlib import Path

import pytest

from runtime.cli.testing import PROGRAM, fail, run, succeed

QWEN3 = Path(os.environ["QWEN3"]).resolve()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


class Terminal:
    """The program with a terminal for its standard streams."""

    def __init__(self, *args: str, store: Path) -> None:
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            os.execve(PROGRAM, [PROGRAM, *args], {"MCONNECT_STORE": str(store)})
        self.text = ""

    def wait(self, pattern: str) -> str:
        """Reads until `pattern` was shown; what came up to its end."""
        while not (match := re.search(pattern, self.text)):
            ready, _, _ = select.select([self.descriptor], [], [], 60)
            assert ready, f"no {pattern!r} in {self.text!r}"
            self.text += os.read(self.descriptor, 4096).decode("utf-8", "replace")
        seen, self.text = self.text[: match.end()], self.text[match.end() :]
        return seen

    def type(self, text: str) -> None:
        os.write(self.descriptor, text.encode())

    def exit_code(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def test_a_conversation_has_a_history(store: Path) -> None:
    args = ["run", str(QWEN3), "--threads", "1", "--max-new-tokens", "4", "--greedy", "--system", "Be brief."]
    terminal = Terminal(*args, store=store)
    terminal.wait("> ")
    terminal.type("Hello\n")
    first = int(re.findall(r"(\d+) prompt tokens", terminal.wait("ended by"))[0])
    terminal.wait("> ")
    terminal.type("Hello\n")
    second, known = map(int, re.findall(r"(\d+) prompt tokens, of them (\d+) known", terminal.wait("ended by"))[0])
    assert second > known >= first  # what was said before is not computed again
    terminal.wait("> ")
    terminal.type("/reset\n")
    terminal.wait("> ")
    terminal.type("Hello\n")
    assert int(re.findall(r"(\d+) prompt tokens", terminal.wait("ended by"))[0]) == first
    terminal.wait("> ")
    terminal.type("/nothing\n")
    terminal.wait("there is no /nothing")
    terminal.type("/help\n")
    terminal.wait("/reset +forget")
    terminal.type("/exit\n")
    assert terminal.exit_code() == 0


def test_ctrl_c_ends_an_answer_or_a_line_and_ctrl_d_the_program(store: Path) -> None:
    args = ["run", str(QWEN3), "--threads", "1", "--max-new-tokens", "150", "--min-new-tokens", "150"]
    terminal = Terminal(*args, store=store)
    terminal.wait("> ")
    terminal.type("not sent")
    os.kill(terminal.pid, signal.SIGINT)
    terminal.wait("> ")
    terminal.type("Hello\n")
    terminal.wait("Hello\r\n")
    os.kill(terminal.pid, signal.SIGINT)
    terminal.wait("ended by (cancelled|length).*\n> ")
    os.kill(terminal.pid, signal.SIGINT)  # of a line again, also behind an answer
    terminal.wait("> ")
    terminal.type("\x04")
    assert terminal.exit_code() == 0


def test_a_prompt_is_a_conversation_of_one_turn(store: Path) -> None:
    args = ["--max-new-tokens", "4", "--greedy", "--json", "--prompt", "Hi"]
    chat = json.loads(succeed("run", QWEN3, *args, store=store))
    raw = json.loads(succeed("run", QWEN3, *args, "--raw", store=store))
    told = json.loads(succeed("run", QWEN3, *args, "--system", "Be brief.", store=store))
    assert raw["prompt_tokens"] < chat["prompt_tokens"] != told["prompt_tokens"]
    fail(2, ["--system"], "run", QWEN3, *args, "--raw", "--system", "x", store=store)


def test_the_text_keeps_to_a_format(tmp_path: Path, store: Path) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "boolean"}}, "required": ["a"]}
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    args = ["run", QWEN3, "--prompt", "Hi", "--temperature", "2", "--max-new-tokens", "100"]
    for seed in range(3):
        text = succeed(*args, "--schema", tmp_path / "schema.json", "--seed", str(seed), store=store).decode()
        value = json.loads(text)
        assert isinstance(value["a"], int) and set(value) <= {"a", "b"}
        text = succeed(*args, "--regex", "[a-c]{2,3}x", "--seed", str(seed), store=store).decode()
        assert re.fullmatch("[a-c]{2,3}x\n", text)
    answers = json.loads(succeed(*args, "--choice", "yes", "--choice", "no", "--n", "3", "--json", store=store))
    assert [a["text"] in ("yes", "no") for a in answers] == [True] * 3
    fail(2, ["--schema", "--regex"], *args, "--regex", "a", "--choice", "b", store=store)
    fail(1, ["'(a'", "offset 2"], *args, "--regex", "(a", store=store)


def test_log_probabilities_are_reported_with_their_tokens(store: Path) -> None:
    args = ["--prompt", "Hi", "--greedy", "--max-new-tokens", "3", "--logprobs", "2", "--json"]
    result = json.loads(succeed("run", QWEN3, *args, store=store))
    assert [entry["id"] for entry in result["logprobs"]] == result["ids"]
    for entry in result["logprobs"]:
        assert entry["top"][0] == {key: entry[key] for key in ("id", "token", "logprob")}
        assert entry["logprob"] < 0


def test_beams_are_printed_best_first_and_a_timeout_is_said(store: Path) -> None:
    args = ["run", QWEN3, "--prompt", "Hi", "--max-new-tokens", "6"]
    lines = succeed(*args, "--num-beams", "3", "--n", "2", store=store).decode()
    assert lines.startswith("[1] ") and "\n[2] " in lines
    assert "ended by timeout" in run(*args, "--timeout", "0.000001", store=store).err


def test_score_reports_each_token_and_the_whole(tmp_path: Path, store: Path) -> None:
    texts = ["Once upon a time", "The river rises"]
    (tmp_path / "texts.json").write_text(json.dumps(texts))
    first, second = json.loads(succeed("score", QWEN3, *texts, "--json", store=store))
    assert json.loads(succeed("score", QWEN3, "--input", tmp_path / "texts.json", "--json", store=store))[1] == second
    ids = json.loads(succeed("tokenize", QWEN3, "--text", texts[0], "--json"))[0]
    assert first["ids"] == ids and len(first["logprobs"]) == len(ids) - 1
    assert first["log_likelihood"] == pytest.approx(sum(first["logprobs"]), abs=1e-3)
    assert first["perplexity"] == pytest.approx(math.exp(-first["log_likelihood"] / (len(ids) - 1)))
    lines = succeed("score", QWEN3, texts[0], store=store).decode().splitlines()
    assert lines[0] == texts[0]
    assert [int(line.split()[0]) for line in lines[1:-1]] == ids
    assert lines[1].split()[1] == "-" and lines[2].split()[1] == f"{first['logprobs'][0]:.4f}"
    assert lines[-1] == (
        f"log-likelihood {first['log_likelihood']:.4f} of {len(ids) - 1} tokens, perplexity {first['perplexity']:.4f}"
    )


def test_score_refuses_what_has_no_score_by_its_number(store: Path) -> None:
    fail(1, ["text 2: ", "is empty", "begin-of-text"], "score", QWEN3, "a b", "", "--json", store=store)
    fail(1, ["the text has", "context is 256", "score it in parts"], "score", QWEN3, "word " * 400, store=store)
    fail(1, ["text 1", "not UTF-8", "0xff"], "score", QWEN3, b"a\xff", store=store)
    fail(2, ["score takes its texts"], "score", QWEN3, store=store)
    fail(2, ["score takes its texts"], "score", QWEN3, "a", "--input", "-", store=store)
    fail(1, ["text-generation"], "score", os.environ["BERT"], "a", store=store)


def test_biases_force_and_forbid_tokens(store: Path) -> None:
    args = ["run", QWEN3, "--prompt", "Hi", "--greedy", "--max-new-tokens", "4", "--ignore-eos", "--json"]
    free = json.loads(succeed(*args, store=store))["ids"]
    assert len(free) == 4
    assert json.loads(succeed(*args, "--logit-bias", "65=1000", store=store))["ids"] == [65] * 4
    bans = [part for token in set(free) for part in ("--logit-bias", f"{token}=-inf")]
    assert not set(json.loads(succeed(*args, *bans, store=store))["ids"]) & set(free)
    for bias in ("65", "=1", "-1=1", "65=", "65=warm", "65=nan", "65=inf", "65=1x"):
        fail(2, ["--logit-bias", bias, "ID=NUMBER"], *args, "--logit-bias", bias, store=store)
    fail(1, ["512", "0 to 511"], *args, "--logit-bias", "512=1", store=store)
    beams = [*args, "--num-beams", "2", "--early-stopping"]
    assert json.loads(succeed(*beams, "never", store=store))["ids"]
    fail(2, ["--early-stopping"], *beams, "maybe", store=store)
