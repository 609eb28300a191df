"""Text generation against transformers' generate() on a family's tiny checkpoint: f32 on the CPU, eager attention.

Options that transformers has are passed to it by its own names; presence and frequency penalties, which it lacks, are
the few lines of `Penalties`. CHECKPOINT is the checkpoint's folder, BUNDLE the bundle built from it.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mconnect
import numpy as np
import pytest
import torch
import transformers

CHECKPOINT = Path(os.environ["CHECKPOINT"])
PROMPTS = ("The river rises in the hills and runs to the sea", "On the first day of every month", "a")
NEW_TOKENS = 40
TOLERANCE = 1e-4  # of log-probabilities


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> mconnect.Model:
    return mconnect.Model.load(os.environ["BUNDLE"], device="cpu", store=tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def task(model: mconnect.Model) -> mconnect.TextGeneration:
    return model.text_generation()


class Penalties(transformers.LogitsProcessor):
    """presence_penalty and frequency_penalty as OpenAI's reference of the API defines them."""

    def __init__(self, prompt_tokens: int, presence: float, frequency: float) -> None:
        self.prompt_tokens, self.presence, self.frequency = prompt_tokens, presence, frequency

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        counts = torch.zeros_like(scores)
        for row, ids in enumerate(input_ids[:, self.prompt_tokens :]):
            counts[row] += torch.bincount(ids, minlength=scores.shape[1])
        return scores - self.frequency * counts - self.presence * (counts > 0)


class Reference:
    """transformers' generate() on the checkpoint."""

    def __init__(self, model: mconnect.Model) -> None:
        architecture = json.loads((CHECKPOINT / "config.json").read_text())["architectures"][0]
        self.model = getattr(transformers, architecture).from_pretrained(
            CHECKPOINT, dtype=torch.float32, attn_implementation="eager"
        )
        self.model.eval()
        self.tokenizer: Any = transformers.PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
            tokenizer_file=str(CHECKPOINT / "tokenizer.json")
        )
        self.ends: list[int] = json.loads(model.asset("text-generation"))["eos_token_ids"]

    def generate(self, ids: Sequence[int], **options: Any) -> Any:
        """The output of generate() for one prompt."""
        processors = transformers.LogitsProcessorList()
        penalties = [options.pop(name, 0.0) for name in ("presence_penalty", "frequency_penalty")]
        if any(penalties):
            processors.append(Penalties(len(ids), *penalties))
        settings: dict[str, Any] = {
            "do_sample": False,
            "max_new_tokens": NEW_TOKENS,
            "eos_token_id": self.ends,
            "pad_token_id": 0,
        }
        # from_pretrained put the checkpoint's defaults here, and generate fills what is left open from them.
        config = transformers.GenerationConfig(**{**settings, **options})  # type: ignore[no-untyped-call]
        self.model.generation_config = config
        tensor = torch.tensor([list(ids)])
        return self.model.generate(
            tensor,
            attention_mask=torch.ones_like(tensor),
            logits_processor=processors,
            tokenizer=self.tokenizer,
            return_dict_in_generate=True,
            output_logits=True,
            output_scores=True,
        )

    def continuations(self, ids: Sequence[int], **options: Any) -> list[list[int]]:
        """New tokens of each returned sequence, up to and with the end token where there is one."""
        rows = [row.tolist() for row in self.generate(ids, **options).sequences[:, len(ids) :]]
        cuts = [next((i + 1 for i, token in enumerate(row) if token in self.ends), len(row)) for row in rows]
        return [row[:cut] for row, cut in zip(rows, cuts, strict=True)]

    def logprobs(self, ids: Sequence[int]) -> np.ndarray:
        """Log-probabilities behind each position, f64 [tokens, vocab]."""
        with torch.no_grad():
            logits = self.model(input_ids=torch.tensor([list(ids)])).logits[0]
        return np.asarray(torch.log_softmax(logits.double(), -1).numpy())


@pytest.fixture(scope="module")
def reference(model: mconnect.Model) -> Reference:
    torch.set_num_threads(1)
    return Reference(model)


@pytest.fixture(scope="module")
def prompts(model: mconnect.Model) -> list[list[int]]:
    return [model.tokenizer().encode(prompt) for prompt in PROMPTS]


@pytest.fixture(scope="module")
def greedy(reference: Reference, prompts: list[list[int]]) -> list[list[int]]:
    """The reference's continuations of the prompts that nothing ends."""
    return [reference.continuations(ids, eos_token_id=None)[0] for ids in prompts]


def generate(task: mconnect.TextGeneration, ids: Sequence[int], **options: Any) -> mconnect.Generation:
    settings: dict[str, Any] = {"max_new_tokens": NEW_TOKENS, "greedy": True, "repetition_penalty": 1.0}
    return task.generate(ids, **{**settings, **options})


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"repetition_penalty": 1.3},
        {"repetition_penalty": 0.8},
        {"presence_penalty": 0.7},
        {"frequency_penalty": 0.3},
        {"presence_penalty": -0.2, "frequency_penalty": 0.5, "repetition_penalty": 1.1},
        {"max_new_tokens": 1},
    ],
    ids=str,
)
def test_greedy_text_with_penalties_equals_the_reference(
    options: dict[str, Any], task: mconnect.TextGeneration, reference: Reference, prompts: list[list[int]]
) -> None:
    for ids in prompts:
        assert generate(task, ids, **options).ids == reference.continuations(ids, **options)[0]


def test_every_end_token_ends_a_text_and_none_does_before_the_least_length(
    task: mconnect.TextGeneration, reference: Reference, prompts: list[list[int]]
) -> None:
    assert len(reference.ends) > 1
    for end in reference.ends:
        for ids in prompts:
            for least in (0, 7):
                # A bias that makes the end token the best one at once where the least length allows it.
                bias = {"min_new_tokens": least, "sequence_bias": [[[end], 100.0]]}
                want = reference.continuations(ids, **bias)[0]
                got = generate(task, ids, min_new_tokens=least, logit_bias={end: 100.0})
                assert got.ids == want
                assert (len(got.ids), got.finish_reason) == (least + 1, "eos")


def test_biased_and_forbidden_tokens_equal_the_reference(
    task: mconnect.TextGeneration, reference: Reference, prompts: list[list[int]], greedy: list[list[int]]
) -> None:
    for ids, free in zip(prompts, greedy, strict=True):
        seen = sorted(set(free))
        bias = {token: (-1.5, 0.75, -0.25)[i % 3] for i, token in enumerate(seen)}
        want = reference.continuations(ids, sequence_bias=[[[token], value] for token, value in bias.items()])[0]
        assert generate(task, ids, logit_bias=bias).ids == want
        forbidden = seen[: len(seen) // 2 + 1]
        want = reference.continuations(ids, bad_words_ids=[[token] for token in forbidden])[0]
        got = generate(task, ids, logit_bias=dict.fromkeys(forbidden, -np.inf)).ids
        assert got == want
        assert not set(got) & set(forbidden)


def test_stop_strings_across_token_borders_end_where_the_reference_ends(
    task: mconnect.TextGeneration, reference: Reference, prompts: list[list[int]], greedy: list[list[int]]
) -> None:
    tried = 0
    for ids, free in zip(prompts, greedy, strict=True):
        pieces = [reference.tokenizer.decode([token]) for token in free]
        for i in range(3, len(pieces) - 1):
            stop = pieces[i][-1:] + pieces[i + 1][:1]
            if not stop.isascii() or len(stop) < 2:
                continue
            tried += 1
            want = reference.continuations(ids, eos_token_id=None, stop_strings=[stop, "never written"])[0]
            got = generate(task, ids, ignore_eos=True, stop=["never written", stop])
            assert got.ids == want
            assert got.finish_reason == "stop"
            whole = reference.tokenizer.decode(want)
            assert got.text == whole[: whole.index(stop)]
            break
    assert tried > 0


@pytest.mark.parametrize("length_penalty", [1.0, 0.0, 2.0, -1.0])
@pytest.mark.parametrize("early_stopping", [False, True, "never"])
def test_beams_equal_the_reference(
    length_penalty: float,
    early_stopping: bool | str,
    task: mconnect.TextGeneration,
    reference: Reference,
    prompts: list[list[int]],
) -> None:
    # The bias makes texts end at unequal lengths: without it no sequence of a random model ever finishes.
    bias = dict.fromkeys(reference.ends, 2.5)
    shared: dict[str, Any] = {"length_penalty": length_penalty, "early_stopping": early_stopping}
    ended = 0
    for ids, (beams, count) in zip(prompts, ((2, 1), (4, 3), (4, 4)), strict=True):
        want = reference.generate(
            ids,
            num_beams=beams,
            num_return_sequences=count,
            sequence_bias=[[[token], value] for token, value in bias.items()],
            max_new_tokens=16,
            **shared,
        )
        settings: dict[str, Any] = {"logit_bias": bias, "max_new_tokens": 16, "repetition_penalty": 1.0, **shared}
        got = task.generate_batch([ids], num_beams=beams, n=count, **settings)
        rows = [row.tolist() for row in want.sequences[:, len(ids) :]]
        for generation, row in zip(got, rows, strict=True):
            # A row that is shorter than others ends with its end token; the rest is padding.
            length = next((i + 1 for i, token in enumerate(row) if token in reference.ends), len(row))
            assert generation.ids == row[:length]
            ended += generation.finish_reason == "eos"
        for generation, score in zip(got, want.sequences_scores.tolist(), strict=True):
            # A score is a sum of log-probabilities over length ** length_penalty.
            length = len(generation.ids)
            assert abs(generation.score - score) * length**length_penalty < TOLERANCE * length
    assert ended > 0


def test_beams_end_at_stop_strings_where_the_reference_ends_them(
    task: mconnect.TextGeneration, reference: Reference, prompts: list[list[int]], greedy: list[list[int]]
) -> None:
    stopped = 0
    for ids, free in zip(prompts, greedy, strict=True):
        # What is likely to come soon. The reference also looks for stop strings in the names of special tokens ("e" in
        # "<|end_of_text|>"), which are no text.
        text = reference.tokenizer.decode(free)
        parts = [text[i : i + size] for size in (1, 2) for i in range(len(text) - 1)]
        names = " ".join(reference.tokenizer.get_added_vocab())
        stops = [part for part in parts if part.isascii() and part.isprintable() and part not in names][:2]
        if not stops:
            continue
        options: dict[str, Any] = {"num_beams": 3, "max_new_tokens": 12, "early_stopping": True}
        want = reference.continuations(ids, num_return_sequences=3, stop_strings=stops, **options)
        got = task.generate_batch([ids], n=3, stop=stops, repetition_penalty=1.0, **options)
        for generation, row in zip(got, want, strict=True):
            assert generation.ids == row[: len(generation.ids)]
            assert not any(stop in generation.text for stop in stops)
            stopped += generation.finish_reason == "stop"
    assert stopped > 0


def test_one_beam_is_greedy_and_penalties_hold_in_beams(
    task: mconnect.TextGeneration, reference: Reference, prompts: list[list[int]]
) -> None:
    for ids in prompts:
        assert generate(task, ids, num_beams=1).ids == reference.continuations(ids, num_beams=1)[0]
        for options in ({"repetition_penalty": 1.3}, {"min_new_tokens": 5}, {"frequency_penalty": 0.4}):
            want = reference.continuations(ids, num_beams=3, max_new_tokens=12, **options)[0]
            settings: dict[str, Any] = {"repetition_penalty": 1.0, **options}
            assert task.generate(ids, num_beams=3, max_new_tokens=12, **settings).ids == want


def test_log_probabilities_equal_the_reference_before_any_change_of_the_logits(
    task: mconnect.TextGeneration, reference: Reference, prompts: list[list[int]]
) -> None:
    for ids in prompts:
        options: dict[str, Any] = {"repetition_penalty": 1.3}
        got = generate(task, ids, logprobs=True, top_logprobs=7, **options)
        raw = torch.stack(reference.generate(ids, **options).logits)[:, 0]
        want = torch.log_softmax(raw.double(), -1).numpy()
        assert len(got.logprobs) == len(got.ids) == len(want)
        for token, entry, row in zip(got.ids, got.logprobs, want, strict=True):
            assert entry.id == token
            assert abs(entry.logprob - row[token]) < TOLERANCE
            assert len(entry.top) == 7
            np.testing.assert_allclose([value for _, value in entry.top], np.sort(row)[::-1][:7], atol=TOLERANCE)
            np.testing.assert_allclose(
                [value for _, value in entry.top], [row[i] for i, _ in entry.top], atol=TOLERANCE
            )


def test_a_padded_batch_equals_its_prompts_alone(
    task: mconnect.TextGeneration, reference: Reference, prompts: list[list[int]]
) -> None:
    options: dict[str, Any] = {"repetition_penalty": 1.2, "max_new_tokens": NEW_TOKENS}
    batch = task.generate_batch(prompts, greedy=True, logprobs=True, **options)
    for ids, together in zip(prompts, batch, strict=True):
        alone = generate(task, ids, logprobs=True, **options)
        assert together.ids == alone.ids == reference.continuations(ids, **options)[0]
        assert (together.text, together.finish_reason) == (alone.text, alone.finish_reason)
        pairs = zip(together.logprobs, alone.logprobs, strict=True)
        assert max(abs(a.logprob - b.logprob) for a, b in pairs) < TOLERANCE


@pytest.mark.parametrize(
    "options",
    [{"temperature": 0.5, "top_k": 5}, {"top_p": 0.3}, {"min_p": 0.5, "temperature": 2.0}, {"top_k": 20, "top_p": 0.6}],
    ids=str,
)
def test_samples_are_what_the_references_filters_leave_over(
    options: dict[str, float], task: mconnect.TextGeneration, reference: Reference, prompts: list[list[int]]
) -> None:
    ids = prompts[0]
    settings: dict[str, Any] = {"top_k": 0, "top_p": 1.0, "min_p": 0.0, "temperature": 1.0, **options}
    torch.manual_seed(0)
    [scores] = reference.generate(ids, do_sample=True, max_new_tokens=1, **settings).scores
    probabilities = torch.softmax(scores[0].double(), -1).numpy()
    left = np.flatnonzero(probabilities)
    assert 1 < len(left) < len(probabilities)
    draws = np.concatenate(
        [
            [g.ids[0] for g in task.generate_batch([ids], n=128, seed=seed, max_new_tokens=1, **settings)]
            for seed in range(8)
        ]
    )
    assert set(draws) <= set(left)
    # Of n fair draws from k tokens the total variation to the probabilities is at most about 0.4 * sqrt(k / n).
    frequencies = np.bincount(draws, minlength=len(probabilities)) / len(draws)
    assert abs(frequencies - probabilities).sum() / 2 < 0.8 * np.sqrt(len(left) / len(draws))


@pytest.mark.parametrize("tokens", [100, 120, 127, 128, 129, 200])
def test_long_texts_equal_the_reference(tokens: int, task: mconnect.TextGeneration, reference: Reference) -> None:
    """Around 128 tokens a model with LongRoPE goes over to other rotary factors."""
    ids = np.random.default_rng(tokens).integers(0, 500, tokens).tolist()
    options: dict[str, Any] = {"max_new_tokens": 24}
    want = reference.continuations(ids, eos_token_id=None, **options)[0]
    assert generate(task, ids, ignore_eos=True, **options).ids == want


def test_a_session_gives_the_tokens_that_prompts_give_alone(task: mconnect.TextGeneration) -> None:
    random = np.random.default_rng(7)
    session = task.session()
    settings: dict[str, Any] = {
        "greedy": True,
        "repetition_penalty": 1.0,
        "ignore_eos": True,
        "max_new_tokens": 8,
        "logprobs": True,
    }
    text: list[int] = []
    reused = 0
    for turn in range(24):
        if turn % 3 == 2:
            text = text[: -int(random.integers(1, 12))]
        text = text[:60] if len(text) > 200 else text
        text += random.integers(0, 500, int(random.integers(1, 12))).tolist()
        got, want = session.generate(text, **settings), task.generate(text, **settings)
        assert got.ids == want.ids
        pairs = zip(got.logprobs, want.logprobs, strict=True)
        assert max(abs(a.logprob - b.logprob) for a, b in pairs) < TOLERANCE
        assert want.cached_tokens == 0
        reused += got.cached_tokens > 0
        text += got.ids
    assert reused > 12


def test_the_score_of_a_text_equals_the_reference(
    task: mconnect.TextGeneration, reference: Reference, prompts: list[list[int]], greedy: list[list[int]]
) -> None:
    for ids, free in zip(prompts, greedy, strict=True):
        text = [*ids, *free]
        want = reference.logprobs(text)[np.arange(len(text) - 1), text[1:]]
        got = task.score(text)
        assert got.ids == text
        np.testing.assert_allclose(got.logprobs, want, atol=TOLERANCE)
        assert got.perplexity == pytest.approx(np.exp(-want.mean()), rel=TOLERANCE)
