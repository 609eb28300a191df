"""run as a person uses it: a conversation in a terminal, output formats, several continuations."""

import json
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
    second = int(re.findall(r"(\d+) prompt tokens", terminal.wait("ended by"))[0])
    assert second > first
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
    terminal.wait("ended by (cancelled|length)|> ")
    terminal.type("\n")
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
