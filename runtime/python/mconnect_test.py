"""The package on tiny bundles: what it returns, what it refuses, how it stops."""

import hashlib
import importlib
import inspect
import json
import os
import pickle
import re
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import mconnect
import numpy as np
import pytest

BERT = Path(os.environ["BERT"])
QWEN3 = Path(os.environ["QWEN3"])


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def bert(store: Path) -> mconnect.Model:
    return mconnect.Model.load(BERT, store=store)


@pytest.fixture(scope="module")
def qwen3(store: Path) -> mconnect.Model:
    return mconnect.Model.load(str(QWEN3), device="cpu", threads=1, store=store)


def test_a_model_says_what_it_is(bert: mconnect.Model) -> None:
    assert (bert.family, bert.tasks, bert.modules, bert.device) == ("bert", ["text-embedding"], ["encoder"], "cpu")
    manifest = mconnect.inspect(BERT)
    assert bert.id == manifest["id"]
    assert bert.name == manifest["name"]
    sizes = {member["path"]: member for member in manifest["members"]}
    assert hashlib.sha256(bert.asset("tokenizer")).hexdigest() == sizes["assets/tokenizer.json"]["sha256"]


def test_embed_returns_a_matrix_in_the_order_of_the_texts(bert: mconnect.Model) -> None:
    task = bert.text_embedding()
    texts = ["a cat", "", "a much longer text about several dogs", "a cat"]
    vectors = task.embed(texts)
    assert vectors.dtype == np.float32
    assert vectors.shape == (4, task.dimension)
    np.testing.assert_allclose(vectors[0], vectors[3], atol=1e-5)
    np.testing.assert_allclose(task.embed(texts, batch_size=1), vectors, atol=1e-5)
    assert task.embed([]).shape == (0, task.dimension)
    assert task.embed(iter(["a cat"])).shape == (1, task.dimension)


def test_embed_detailed_counts_tokens(bert: mconnect.Model) -> None:
    details = bert.text_embedding().embed_detailed(["a", "word " * 500], max_tokens=8)
    assert details.truncated == [False, True]
    assert details.tokens[1] == 8
    assert details.vectors.shape[0] == 2


def test_vectors_outlive_the_model(store: Path) -> None:
    vectors = mconnect.Model.load(BERT, store=store).text_embedding().embed(["a cat"])
    np.testing.assert_allclose(np.linalg.norm(vectors), 1, atol=1e-5)


def test_a_module_runs_on_arrays(bert: mconnect.Model) -> None:
    module = bert.module("encoder")
    assert {tensor.name for tensor in module.inputs} == {"input_ids", "attention_mask", "token_type_ids"}
    assert [(t.name, t.dtype, t.shape[0]) for t in module.outputs] == [("last_hidden_state", "f32", "batch")]
    assert not module.stateful
    ids = np.array([[2, 5, 6, 3]], np.int64)
    inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    first = module.run(inputs)["last_hidden_state"]
    assert first.shape == (1, 4, int(module.outputs[0].shape[2]))
    kept = first.copy()
    module.run({**inputs, "input_ids": ids + 1})
    np.testing.assert_array_equal(first, kept)


def test_a_module_refuses_other_inputs(bert: mconnect.Model) -> None:
    module = bert.module("encoder")
    ids = np.ones((1, 4), np.int64)
    good = {"input_ids": ids, "attention_mask": ids, "token_type_ids": ids * 0}
    for bad, words in [
        ({**good, "input_ids": ids.astype(np.int32)}, "input_ids"),
        ({**good, "attention_mask": ids[0]}, "attention_mask"),
        ({**good, "attention_mask": np.ones((1, 5), np.int64)}, "attention_mask|tokens"),
        ({**good, "pixels": ids}, "pixels"),
        ({"input_ids": ids}, "attention_mask"),
        ({**good, "input_ids": [[1, 2]]}, "input_ids is list"),
    ]:
        with pytest.raises(mconnect.Error, match=words) as raised:
            module.run(bad)  # type: ignore[arg-type]
        assert raised.value.code in ("invalid-argument", "not-found")


def test_a_session_keeps_its_state_until_reset(qwen3: mconnect.Model) -> None:
    module = qwen3.module("decoder")
    assert module.stateful

    def inputs(ids: list[int], past: int) -> dict[str, np.ndarray]:
        n = len(ids)
        return {
            "input_ids": np.array([ids], np.int64),
            "attention_mask": np.ones((1, past + n), np.int64),
            "position_ids": np.arange(past, past + n, dtype=np.int64)[None],
            "beam_idx": np.zeros(1, np.int32),
            "logits_to_keep": np.array([1], np.int64),
        }

    whole = module.run(inputs([5, 6, 7, 8], 0))["logits"]
    session = module.session()
    session.run(inputs([5, 6, 7], 0))
    np.testing.assert_allclose(session.run(inputs([8], 3))["logits"], whole, atol=1e-4)
    session.reset()
    np.testing.assert_allclose(session.run(inputs([5, 6, 7, 8], 0))["logits"], whole, atol=1e-4)


def test_generate_and_stream_give_the_same_text(qwen3: mconnect.Model) -> None:
    task = qwen3.text_generation()
    pieces: list[str] = []
    result = task.generate("Once upon a time", max_new_tokens=24, greedy=True, on_text=pieces.append)
    assert "".join(pieces) == result.text
    assert result.completion_tokens == len(result.ids)
    stream = task.stream("Once upon a time", max_new_tokens=24, greedy=True)
    assert "".join(stream) == result.text
    assert stream.result().ids == result.ids
    ids = qwen3.tokenizer().encode("Once upon a time")
    assert task.generate(ids, max_new_tokens=24, greedy=True).ids == result.ids
    assert task.generate(np.array(ids), max_new_tokens=24, greedy=True).ids == result.ids


def test_sampling_follows_the_seed(qwen3: mconnect.Model) -> None:
    task = qwen3.text_generation()
    first, again, other = (
        task.generate("Once", max_new_tokens=16, temperature=1.5, top_k=100, top_p=0.99, min_p=0.0, seed=seed).ids
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_generation_stops_where_it_is_told(qwen3: mconnect.Model) -> None:
    task = qwen3.text_generation()
    text = task.generate("Once", max_new_tokens=24, greedy=True).text
    stop = text[len(text) // 2 :][:2]
    result = task.generate("Once", max_new_tokens=24, greedy=True, stop=[stop])
    assert (result.text, result.finish_reason) == (text[: text.index(stop)], "stop")


def test_an_exception_of_the_callback_ends_the_generation(qwen3: mconnect.Model) -> None:
    seen: list[str] = []

    def callback(piece: str) -> None:
        seen.append(piece)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        qwen3.text_generation().generate("Once", max_new_tokens=100, greedy=True, on_text=callback)
    assert len(seen) == 1


def test_a_cancelled_stream_ends_early(qwen3: mconnect.Model) -> None:
    stream = qwen3.text_generation().stream([5, 6, 7], max_new_tokens=240, temperature=1.0)
    next(stream)
    stream.cancel()
    assert stream.result().finish_reason in ("cancelled", "eos")


def test_a_dropped_stream_does_no_harm(qwen3: mconnect.Model) -> None:
    for _ in range(5):
        next(qwen3.text_generation().stream("Once", max_new_tokens=200, temperature=1.0))


def test_ctrl_c_interrupts_a_generation(qwen3: mconnect.Model) -> None:
    def callback(piece: str) -> None:
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        qwen3.text_generation().generate("Once", max_new_tokens=200, greedy=True, on_text=callback)


def test_ctrl_c_interrupts_a_long_embed(bert: mconnect.Model) -> None:
    main = threading.main_thread().ident
    assert main is not None
    texts = ["word " * 50] * 200_000
    timer = threading.Timer(0.3, signal.pthread_kill, (main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        bert.text_embedding().embed(texts)


def test_other_threads_run_during_native_work(bert: mconnect.Model) -> None:
    """Four threads embed at once; each must get its own texts' vectors."""
    task = bert.text_embedding()
    texts = [[f"text {i} of thread {t}" for i in range(20)] for t in range(4)]
    want = [task.embed(group) for group in texts]
    got: list[np.ndarray | None] = [None] * 4

    def work(t: int) -> None:
        got[t] = task.embed(texts[t])

    threads = [threading.Thread(target=work, args=(t,)) for t in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for t in range(4):
        np.testing.assert_allclose(got[t], want[t], atol=1e-5)


def test_the_tokenizer_goes_both_ways(bert: mconnect.Model) -> None:
    tokenizer = bert.tokenizer()
    ids = tokenizer.encode("the river")
    assert tokenizer.decode(ids) == "the river"
    assert tokenizer.encode("the river", add_special_tokens=False) == ids[1:-1]
    token = tokenizer.id_to_token(ids[0])
    assert token is not None
    assert tokenizer.token_to_id(token) == ids[0]
    assert tokenizer.id_to_token(10**6) is None
    assert tokenizer.token_to_id("no such token") is None
    assert tokenizer.encode("\ud800") == tokenizer.encode("\ufffd")


def _within(model: mconnect.Model) -> str:
    return f"which is an integer from 0; the vocabulary has {model.tokenizer().vocab_size} tokens"


def test_errors_carry_code_message_and_remedy(bert: mconnect.Model, tmp_path: Path) -> None:
    cases = [
        (lambda: mconnect.Model.load(tmp_path / "absent.bundle"), "not-found", "absent.bundle"),
        (lambda: mconnect.Model.load(BERT, device="tpu"), "invalid-argument", "tpu"),
        (lambda: mconnect.inspect(tmp_path / "absent.bundle"), "not-found", "absent.bundle"),
        (lambda: bert.module("decoder"), "not-found", "encoder"),
        (lambda: bert.text_generation(), "not-found", "text-embedding"),
        (lambda: bert.asset("labels"), "not-found", "tokenizer"),
        (lambda: bert.text_embedding().embed(["a"], batch_size=0), "invalid-argument", "batch_size"),
        (lambda: bert.text_embedding().embed("a cat"), "invalid-argument", "list of str"),
        (lambda: mconnect.Tokenizer.from_json("{"), "corrupt", "tokenizer.json"),
        (lambda: mconnect.Model.load("a\0b"), "invalid-argument", "no path holds the character NUL"),
        (lambda: mconnect.Model.load(BERT, store="\ud800"), "invalid-argument", "store is '\\ud800'"),
        (lambda: mconnect.inspect(7), "invalid-argument", "bundle is int, not a path"),  # type: ignore[arg-type]
        (lambda: bert.tokenizer().decode([-1]), "invalid-argument", f"ids[0] is -1, not a token id, {_within(bert)}"),
    ]
    for call, code, words in cases:
        with pytest.raises(mconnect.Error, match=re.escape(words)) as raised:
            call()
        assert raised.value.code == code, raised.value
        copy = pickle.loads(pickle.dumps(raised.value))
        assert (copy.code, copy.message, copy.remedy) == (code, raised.value.message, raised.value.remedy)


def test_prompts_that_cannot_be_continued_are_refused(qwen3: mconnect.Model) -> None:
    task = qwen3.text_generation()
    for prompt in ([10**6], [-1], ["a"], b"bytes", 7):
        with pytest.raises(mconnect.Error) as raised:
            task.generate(prompt)  # type: ignore[arg-type]
        assert raised.value.code == "invalid-argument"
    with pytest.raises(TypeError, match="temprature"):
        task.generate("a", temprature=1.0)  # type: ignore[call-arg]


def test_options_are_checked_by_type_and_by_value(qwen3: mconnect.Model) -> None:
    task = qwen3.text_generation()
    for options in ({"max_new_tokens": 10**12}, {"seed": -1}, {"n": 0}, {"top_logprobs": 21}, {"timeout": 0}):
        with pytest.raises(mconnect.Error) as raised:
            task.generate_batch(["a"], **options)  # type: ignore[arg-type]
        assert raised.value.code == "invalid-argument"
        assert next(iter(options)).removesuffix("_seconds") in raised.value.message
    for options in ({"max_new_tokens": "4"}, {"greedy": 1}, {"temperature": "hot"}, {"logit_bias": [1]}):
        with pytest.raises(TypeError, match=next(iter(options))):
            task.generate("a", **options)  # type: ignore[arg-type]


def test_batches_samples_and_logprobs(qwen3: mconnect.Model) -> None:
    task = qwen3.text_generation()
    results = task.generate_batch(
        ["Once", "upon"], n=2, max_new_tokens=4, temperature=2.0, logprobs=True, top_logprobs=1
    )
    assert len(results) == 4
    assert results[0].ids != results[1].ids
    assert results[2].ids == task.generate("upon", max_new_tokens=4, temperature=2.0).ids
    assert [logprob.id for logprob in results[0].logprobs] == results[0].ids
    assert results[0].logprobs[0].top[0][1] >= results[0].logprobs[0].logprob
    beams = task.generate_batch(["Once"], n=2, num_beams=3, max_new_tokens=4, early_stopping="never")
    assert beams[0].score >= beams[1].score


def test_an_answer_keeps_to_its_format(qwen3: mconnect.Model) -> None:
    task = qwen3.text_generation()
    messages = [{"role": "user", "content": "Is 7 prime?"}]
    assert task.has_chat_template
    assert task.chat(messages, choice=["yes", "no"], max_new_tokens=8).text in ("yes", "no")
    schema = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 3}
    numbers = json.loads(task.chat(messages, json_schema=schema, temperature=2.0, max_new_tokens=150).text)
    assert 2 <= len(numbers) <= 3
    assert task.encode_chat(messages) != task.encode_chat(messages, add_generation_prompt=False)
    with pytest.raises(mconnect.Error, match="multipleOf"):
        task.chat(messages, json_schema={"multipleOf": 2})
    with pytest.raises(TypeError, match="moed"):
        task.chat(messages, moed=1)  # type: ignore[call-arg]


def test_a_text_has_a_score(qwen3: mconnect.Model) -> None:
    score = qwen3.text_generation().score("Once upon a time")
    assert len(score.logprobs) == len(score.ids) - 1
    assert score.log_likelihood == pytest.approx(sum(score.logprobs), abs=1e-3)
    assert score.perplexity == pytest.approx(np.exp(-score.log_likelihood / len(score.logprobs)))


def test_a_session_computes_only_what_is_new(qwen3: mconnect.Model) -> None:
    task = qwen3.text_generation()
    session = task.session()
    options = {"max_new_tokens": 6, "greedy": True, "ignore_eos": True}
    messages = [{"role": "user", "content": "Hello"}]
    first = session.chat(messages, **options)
    assert (first.cached_tokens, first.ids) == (0, task.chat(messages, **options).ids)
    again = session.chat(messages, **options)
    assert (again.cached_tokens, again.ids) == (first.prompt_tokens - 1, first.ids)
    prompt = [1, 2, 3, *session.generate([1, 2, 3], **options).ids, 4]
    assert "".join(session.stream(prompt, **options)) == task.generate(prompt, **options).text
    session.reset()
    assert session.generate(prompt, **options).cached_tokens == 0


def test_threads_that_share_a_session_wait_for_each_other(qwen3: mconnect.Model) -> None:
    task = qwen3.text_generation()
    session = task.session()
    options = {"max_new_tokens": 12, "greedy": True, "ignore_eos": True}
    prompts = [[i, 2 * i, 3 * i] for i in range(1, 9)]
    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda prompt: session.generate(prompt, **options).ids, prompts))
    assert got == [task.generate(prompt, **options).ids for prompt in prompts]


def test_the_stub_describes_the_module() -> None:
    """Every public name of the native module stands in its stub with all its members, and the other way round."""
    stub = Path(mconnect.__file__).with_name("_native.pyi").read_text()
    blocks = {m[1]: m[2] for m in re.finditer(r"^class (\w+)(?:\([^)]*\))?:\n((?:(?: .*)?\n)*)", stub, re.MULTILINE)}
    native = importlib.import_module("mconnect._native")
    classes = {
        name: value for name, value in vars(native).items() if inspect.isclass(value) and not name.startswith("_")
    }
    assert set(blocks) == set(classes)
    for name, value in classes.items():
        documented = {m[1] for m in re.finditer(r"^    def (\w+)\(", blocks[name], re.MULTILINE)}
        assert {n for n in documented if not n.startswith("_")} == {n for n in vars(value) if not n.startswith("_")}, (
            name
        )
    assert set(mconnect.__all__) == set(classes) | {"Error", "inspect"}
