"""embed, search, tokenize and run on tiny bundles."""

import json
import os
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from runtime.cli.testing import PROGRAM, fail, run, succeed

BERT = Path(os.environ["BERT"]).resolve()
QWEN3 = Path(os.environ["QWEN3"]).resolve()
TEXTS = ["a cat", "", "Ünïcödé 😀 漢字", "line\nbreak"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    """The reference library on the bundle's own tokenizer."""
    folder = tmp_path_factory.mktemp("unpacked") / "bert"
    succeed("unpack", BERT, folder)
    reference = Tokenizer.from_file(str(folder / "assets/tokenizer.json"))
    reference.no_truncation()
    reference.no_padding()
    return reference


def test_embed_prints_one_vector_for_each_text(store: Path) -> None:
    result = json.loads(succeed("embed", BERT, "--input", "-", "--json", stdin=json.dumps(TEXTS).encode(), store=store))
    assert set(result) == {"dimension", "tokens", "truncated", "vectors"}
    vectors = np.array(result["vectors"], np.float32)
    assert vectors.shape == (len(TEXTS), result["dimension"])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert result["truncated"] == [False] * len(TEXTS)
    assert result["tokens"][1] == 2


def test_embed_gives_the_same_vectors_by_every_way(tmp_path: Path, store: Path) -> None:
    texts = TEXTS[:3]
    (tmp_path / "list.json").write_text(json.dumps(texts))
    (tmp_path / "list.txt").write_text("".join(f"{text}\r\n" for text in texts))
    args = [part for text in texts for part in ("--text", text)]
    want = json.loads(succeed("embed", BERT, *args, "--json", store=store))["vectors"]
    for extra in (["--input", tmp_path / "list.json"], ["--input", tmp_path / "list.txt", "--batch-size", "1"]):
        got = json.loads(succeed("embed", BERT, *extra, "--json", store=store))["vectors"]
        np.testing.assert_allclose(got, want, atol=1e-5)
    assert succeed("embed", BERT, *args, "--output", tmp_path / "v.npy", store=store) == b""
    np.testing.assert_array_equal(np.load(tmp_path / "v.npy"), np.array(want, np.float32))


def test_embed_says_when_it_cuts_a_text(store: Path) -> None:
    result = run("embed", BERT, "--text", "word " * 500, "--json", store=store)
    assert json.loads(result.out)["truncated"] == [True]
    assert "1 of 1 texts were cut to" in result.err


def test_embed_shows_people_how_close_texts_are(store: Path) -> None:
    text = succeed("embed", BERT, "--text", "a cat", "--text", "a cat", store=store).decode()
    assert "2 texts" in text
    assert text.splitlines()[-1].split() == ["1", "1.000", "1.000"]


@pytest.mark.parametrize(
    ("stdin", "words"),
    [
        (b"", ["standard input holds no text"]),
        (b" \n", ["standard input holds no text"]),
        (b'["a", "b"', ["standard input is not JSON", "line 1, column"]),
        (b'["a",\n 7]', ["item 1 is number"]),
        (b'["\xff"]', ["not UTF-8", "0xff", "line 1, column 3"]),
        (b"a\nb\xe9\n", ["not UTF-8", "0xe9", "line 2, column 2"]),
    ],
)
def test_input_that_is_no_list_of_texts_is_refused(stdin: bytes, words: list[str], store: Path) -> None:
    fail(1, words, "embed", BERT, "--input", "-", stdin=stdin, store=store)
    fail(1, words, "tokenize", BERT, "--input", "-", "--json", stdin=stdin)


def test_limits_are_named_with_the_value(store: Path) -> None:
    for flag, limits, values in (
        ("--temperature", "above 0", ("-1", "0", "1e-300", "nan", "inf", "warm")),
        ("--top-p", "up to 1", ("0", "1.1")),
        ("--min-p", "from 0 to 1", ("-0.1",)),
        ("--repetition-penalty", "above 0", ("0",)),
        ("--timeout", "seconds above 0", ("0",)),
    ):
        for value in values:
            fail(2, [flag, limits, value], "run", QWEN3, "--prompt", "a", flag, value, store=store)


def test_tokenize_equals_the_reference(tokenizer: Tokenizer) -> None:
    texts = [*TEXTS, "e\u0301 👩‍👩‍👧 \u0000\u0007 שלום", "x" * 300, "word " * 600, "[CLS] [SEP]"]
    got = json.loads(succeed("tokenize", BERT, "--input", "-", "--json", stdin=json.dumps(texts).encode()))
    assert got == [tokenizer.encode(text).ids for text in texts]
    bare = ["tokenize", BERT, "--input", "-", "--json", "--no-special-tokens"]
    got = json.loads(succeed(*bare, stdin=json.dumps(texts).encode()))
    assert got == [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    assert json.loads(succeed("tokenize", BERT, "--input", "-", "--json", stdin=b"[]")) == []


def test_tokenize_takes_half_a_surrogate_pair_for_the_replacement_character(tokenizer: Tokenizer) -> None:
    stdin = rb'["a\ud800b", "\udc00", "\ud83d\ude00", "\\ud800"]'
    want = ["a\ufffdb", "\ufffd", "\U0001f600", "\\ud800"]
    got = json.loads(succeed("tokenize", BERT, "--input", "-", "--json", stdin=stdin))
    assert got == [tokenizer.encode(text).ids for text in want]


def test_tokenize_shows_people_each_token(tokenizer: Tokenizer) -> None:
    text = succeed("tokenize", BERT, "--text", "a cat").decode()
    ids = [int(line.split()[0]) for line in text.splitlines()[1:]]
    assert ids == tokenizer.encode("a cat").ids
    assert '"a"' in text


def test_decode_gives_the_text_back(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("a cat").ids
    joined = ",".join(map(str, ids))
    got = succeed("tokenize", BERT, "--decode", joined, "--no-special-tokens", "--json")
    assert json.loads(got) == tokenizer.decode(ids)
    got = succeed("tokenize", BERT, "--decode", joined, "--json")
    assert json.loads(got) == tokenizer.decode(ids, skip_special_tokens=False)
    fail(1, ["999999", "vocabulary"], "tokenize", BERT, "--decode", "999999")


def test_search_ranks_the_same_sentence_first(tmp_path: Path, store: Path) -> None:
    (tmp_path / "a.txt").write_text("The first one. A second one.\n\nAnd a cat sat down.\n")
    (tmp_path / "b.bin").write_bytes(b"\0\1\2")
    result = run("search", BERT, tmp_path, "And a cat sat down.", "The first one.", "--top", "2", "--json", store=store)
    assert result.code == 0
    assert "b.bin: it is binary" in result.err
    answers = json.loads(result.out)
    assert [answer["query"] for answer in answers] == ["And a cat sat down.", "The first one."]
    best = answers[0]["hits"][0]
    assert (best["file"], best["line"], best["text"]) == (str(tmp_path / "a.txt"), 3, "And a cat sat down.")
    assert best["score"] == pytest.approx(1, abs=1e-4)
    assert len(answers[1]["hits"]) == 2
    text = succeed("search", BERT, tmp_path, "The first one.", "--top", "1", store=store).decode()
    assert text.splitlines()[1].split(maxsplit=2) == ["1.000", f"{tmp_path / 'a.txt'}:1", "The first one."]


def test_search_without_text_is_an_error(tmp_path: Path, store: Path) -> None:
    result = run("search", BERT, tmp_path, "a query", store=store)
    assert result.code == 1
    assert "holds no text" in result.err
    fail(1, ["absent", "does not exist"], "search", BERT, tmp_path / "absent", "a query", store=store)


def generate(*args: str, store: Path, stdin: bytes = b"") -> dict[str, object]:
    result = json.loads(succeed("run", QWEN3, *args, "--json", stdin=stdin, store=store))
    assert isinstance(result, dict)
    return result


def test_run_streams_the_text_that_json_reports(store: Path) -> None:
    args = ["--prompt", "Once upon a time", "--max-new-tokens", "24", "--greedy"]
    whole = generate(*args, store=store)
    assert set(whole) == {
        "text", "ids", "finish_reason", "prompt_tokens", "completion_tokens", "prefill_seconds", "decode_seconds"
    }  # fmt: skip
    assert whole["finish_reason"] in ("length", "eos")
    streamed = run("run", QWEN3, *args, store=store)
    assert streamed.out.decode() == f"{whole['text']}\n"
    assert "new tokens" in streamed.err


def test_run_takes_its_prompt_from_a_pipe(store: Path) -> None:
    args = ["--max-new-tokens", "8", "--greedy"]
    want = generate("--prompt", "Once upon", *args, store=store)
    assert generate(*args, stdin=b"Once upon\n", store=store)["ids"] == want["ids"]


def test_run_samples_by_seed(store: Path) -> None:
    args = ["--prompt", "Once", "--max-new-tokens", "16", "--temperature", "1.5"]
    first = generate(*args, "--seed", "1", store=store)
    assert generate(*args, "--seed", "1", store=store)["ids"] == first["ids"]
    assert generate(*args, "--seed", "2", store=store)["ids"] != first["ids"]


def test_run_stops_before_a_stop_text(store: Path) -> None:
    args = ["--prompt", "Once", "--max-new-tokens", "24", "--greedy"]
    text = str(generate(*args, store=store)["text"])
    stop = text[len(text) // 2 :][:2]
    result = generate(*args, "--stop", stop, store=store)
    assert result["text"] == text[: text.index(stop)]
    assert result["finish_reason"] == "stop"


def test_ctrl_c_ends_the_text(store: Path) -> None:
    args = [PROGRAM, "run", str(QWEN3), "--prompt", "Once", "--max-new-tokens", "200", "--temperature", "1"]
    env = {"MCONNECT_STORE": str(store)}
    with subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        out, err = process.stdout.read(), process.stderr.read().decode()
    assert process.returncode == 130, err
    assert out.endswith(b"\n")
    assert "ended by cancelled" in err
