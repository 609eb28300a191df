"""The program as a whole: help, mistakes in usage, the standard streams, bundles that cannot be used."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from runtime.cli.testing import PROGRAM, fail, run, succeed

BERT = Path(os.environ["BERT"]).resolve()
QWEN3 = Path(os.environ["QWEN3"]).resolve()
COMMANDS = ["run", "embed", "search", "tokenize", "inspect", "verify", "unpack"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command_shows_examples(command: str) -> None:
    text = succeed(command, "--help").decode()
    assert f"  mconnect {command} " in text.split("Examples:")[1]


def test_help_lists_every_command() -> None:
    text = succeed("--help").decode()
    for command in COMMANDS:
        assert f"\n  {command} " in text
    for code in ["0 done", "1 failed", "2 wrong usage", "130 interrupted", "141 the output was closed"]:
        assert code in text
    assert succeed("--version").startswith(b"mconnect ")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ([], ["subcommand"]),
        (["emebd"], ["'emebd'", "embed, search"]),
        (["build", "x"], ["bazel run //tools/mconnect -- build"]),
        (["embed"], ["bundle", "mconnect embed --help"]),
        (["embed", BERT, "--colour"], ["--colour"]),
        (["embed", BERT], ["--text or --input", "see `mconnect embed --help`"]),
        (["embed", BERT, "--text", "a", "--input", "b"], ["--text or --input"]),
        (["embed", BERT, "--text", "a", "--precision", "f8"], ["--precision", "f8"]),
        (["embed", BERT, "--text", "a", "--threads", "-1"], ["--threads"]),
        (["embed", BERT, "--text", "a", "--threads", "1025"], ["--threads", "1024"]),
        (["embed", BERT, "--text", "a", "--batch-size", "many"], ["--batch-size", "many"]),
        (["embed", BERT, "--text", "a", "--batch-size", "0"], ["--batch-size", "'0'", "1 to 4096"]),
        (["run", QWEN3, "--prompt", "a", "--max-new-tokens", "0"], ["--max-new-tokens", "'0'", "1 to 2147483647"]),
        (["run", QWEN3, "--prompt", "a", "--max-new-tokens", "1000000000000"], ["1000000000000", "1 to 2147483647"]),
        (["run", QWEN3, "--prompt", "a", "--top-k", "-1"], ["--top-k", "'-1'", "0 to 2147483647"]),
        (["run", QWEN3, "--prompt", "a", "--seed", "-1"], ["--seed", "'-1'", "0 to 18446744073709551615"]),
        (["run", QWEN3, "--prompt", "a", "--seed", "18446744073709551616"], ["--seed", "18446744073709551616"]),
        (["tokenize", BERT, "--decode", ""], ["--decode", "''"]),
        (["tokenize", BERT, "--decode", "1,x"], ["--decode", "'x'"]),
        (["tokenize", BERT, "--decode", "101,,5"], ["--decode", "''"]),
        (["tokenize", BERT, "--decode", "101,"], ["--decode", "''"]),
        (["tokenize", BERT, "--decode", ",101"], ["--decode", "''"]),
        (["tokenize", BERT, "--text", "a", "--decode", "1"], ["exactly one", "see `mconnect tokenize --help`"]),
        (["search", BERT, ".", " "], ["query is empty", "see `mconnect search --help`"]),
        (["unpack", BERT], ["folder"]),
    ],
)
def test_wrong_usage_exits_with_2(args: list[str | Path], words: list[str]) -> None:
    fail(2, words, *args)


@pytest.mark.parametrize("command", ["embed", "run", "tokenize", "inspect", "verify", "unpack", "search"])
def test_bundles_that_cannot_be_read_are_named(command: str, tmp_path: Path, store: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "note.txt").write_text("Some text.")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "cut").write_bytes(BERT.read_bytes()[:5000])
    rest: dict[str, list[str | Path]] = {
        "embed": ["--text", "a"],
        "run": ["--prompt", "a"],
        "tokenize": ["--text", "a"],
        "unpack": [tmp_path / "out"],
        "search": [tmp_path / "note.txt", "a"],
    }
    for name in ["absent", "folder", "empty", "cut", "note.txt"]:
        fail(1, [name], command, tmp_path / name, *rest.get(command, []), store=store)
    assert not (tmp_path / "out").exists()


def test_a_task_that_the_bundle_lacks_is_answered_with_the_command_that_it_has(store: Path) -> None:
    fail(1, ["text-generation", "text-embedding", f"mconnect embed {BERT}"], "run", BERT, "--prompt", "a", store=store)
    fail(1, ["text-embedding", "text-generation", f"mconnect run {QWEN3}"], "embed", QWEN3, "--text", "a", store=store)


def test_output_that_is_closed_is_an_error(store: Path) -> None:
    shell = ["sh", "-c", f'exec "{PROGRAM}" inspect "{BERT}" >&-']
    process = subprocess.run(shell, stderr=subprocess.PIPE, text=True, check=False)
    assert process.returncode == 1
    assert process.stderr == "error: cannot write to standard output: Bad file descriptor\n"


def test_output_that_is_full_is_an_error() -> None:
    with open("/dev/full", "wb") as full:
        result = run("inspect", BERT, stdout=full.fileno())
    assert result.code == 1
    assert "No space left on device" in result.err


def test_a_reader_that_goes_away_ends_the_program_quietly() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    result = run("inspect", BERT, stdout=writer)
    os.close(writer)
    assert (result.code, result.err) == (141, "")


def test_closed_input_and_error_output_do_no_harm(store: Path) -> None:
    shell = ["sh", "-c", f'exec "{PROGRAM}" embed "{BERT}" --text a --json <&- 2>&-']
    env = {"MCONNECT_STORE": str(store)}
    process = subprocess.run(shell, stdout=subprocess.PIPE, env=env, check=False)
    assert process.returncode == 0
    assert process.stdout.startswith(b'{"dimension":')


def test_work_that_lasts_shows_how_far_it_is_on_a_terminal(tmp_path: Path, store: Path) -> None:
    """Also where few batches are run at a time: the bar moves within one."""
    texts = tmp_path / "lines.txt"
    texts.write_text("some words of a text\n" * 30_000)
    terminal, other = os.openpty()
    command = [PROGRAM, "embed", BERT, "--input", texts, "--output", tmp_path / "v.npy", "--batch-size", "1024"]
    with subprocess.Popen(command, stderr=other, env={"MCONNECT_STORE": str(store)}) as process:
        os.close(other)
        shown = b""
        try:
            while data := os.read(terminal, 1 << 16):
                shown += data
        except OSError:  # the program has closed its end
            pass
    os.close(terminal)
    assert process.returncode == 0
    bars = [line for line in shown.split(b"\r\x1b[K") if line.startswith(b"embedding  [")]
    assert bars and all(line.endswith(b" of 30000") for line in bars), shown[-500:]
    assert f"wrote 30000 x 48 f32 to {tmp_path}/v.npy".encode() in shown


def test_an_empty_list_has_an_empty_answer(tmp_path: Path, store: Path) -> None:
    (tmp_path / "empty.json").write_text("[]")
    source = ["--input", tmp_path / "empty.json"]
    answer = succeed("embed", BERT, *source, "--json", store=store)
    assert json.loads(answer) == {"dimension": 48, "tokens": [], "truncated": [], "vectors": []}
    assert succeed("embed", BERT, *source, store=store) == b"0 texts, 48 dimensions\n"
    succeed("embed", BERT, *source, "--output", tmp_path / "v.npy", store=store)
    vectors = np.load(tmp_path / "v.npy")
    assert (vectors.shape, vectors.dtype) == ((0, 48), np.float32)
    assert json.loads(succeed("tokenize", BERT, *source, "--json")) == []


def test_without_a_home_the_store_must_be_named(tmp_path: Path) -> None:
    assert "MCONNECT_STORE" in fail(1, [], "embed", BERT, "--text", "a")
    succeed("embed", BERT, "--text", "a", "--store", tmp_path / "store")
    assert any((tmp_path / "store").iterdir())


def test_an_output_that_cannot_be_written_is_named_before_the_work(tmp_path: Path) -> None:
    for output in ["", str(tmp_path), str(tmp_path / "absent" / "v.npy")]:
        fail(1, [f"'{output}'"], "embed", BERT, "--text", "a", "--output", output, store=tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_under_bazel_run_paths_are_relative_to_the_folder_of_the_user(tmp_path: Path, store: Path) -> None:
    (tmp_path / "x.bundle").symlink_to(BERT)
    env = {"BUILD_WORKING_DIRECTORY": str(tmp_path)}
    result = run("embed", "x.bundle", "--text", "a", "--json", store=store, env=env)
    assert result.code == 0, result.err


def test_empty_names_are_refused(tmp_path: Path) -> None:
    fail(1, ["''"], "inspect", "")
    fail(1, ["the folder to unpack to is empty"], "unpack", BERT, "")


def test_a_store_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    fail(1, [str(tmp_path / "file")], "embed", BERT, "--text", "a", store=tmp_path / "file" / "store")


def test_arguments_that_are_not_utf8_are_refused(store: Path) -> None:
    fail(1, ["--text 2", "0xff"], "embed", BERT, "--text", "a", "--text", b"b\xff", store=store)
    fail(1, ["0xff"], "tokenize", BERT, "--text", b"\xff")
    fail(1, ["the prompt", "0xff"], "run", QWEN3, "--prompt", b"\xff", store=store)
    fail(1, ["absent"], "inspect", b"absent\xff.bundle")
