"""What a module must do alike under every lowering: the schedules in which a runtime calls it.

Each case yields (name, error): the maximal absolute difference from the reference implementation in f32.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from tools.builder.testing.subjects import Array, Ids, Oracle, Subject

Case = tuple[str, float]


def random_ids(seed: int, shape: tuple[int, ...], vocab: int) -> Ids:
    """Token ids, the same on every machine."""
    return np.random.Generator(np.random.Philox(seed)).integers(0, vocab, shape, dtype=np.int64)


def error(got: Array, want: Array) -> float:
    """The maximal absolute difference; infinite where shapes differ or a value is not finite."""
    if got.shape != want.shape or not np.isfinite(got).all():
        return float("inf")
    return float(np.abs(got.astype(np.float64) - want.astype(np.float64)).max(initial=0.0))


def encoder_cases(subject: Subject, oracle: Oracle, vocab: int, limit: int, has_types: bool) -> Iterator[Case]:
    """A batch, texts of unequal length in one padded batch, and a text as long as the model's positions reach.

    `has_types`: the module has the input `token_type_ids`. Without it the oracle gets none either.
    """

    def run(ids: Ids, mask: Ids, types: Ids) -> Array:
        inputs = {"input_ids": ids, "attention_mask": mask} | ({"token_type_ids": types} if has_types else {})
        return subject.run(inputs)["last_hidden_state"]

    def want(ids: Ids, mask: Ids, types: Ids) -> Array:
        return oracle.hidden_states(ids, mask, types if has_types else None)

    ids = random_ids(1, (4, 24), vocab)
    types = (np.arange(24)[None, :] >= 10).astype(np.int64) * np.ones((4, 1), np.int64)
    ones = np.ones_like(ids)
    yield "batch", error(run(ids, ones, types), want(ids, ones, types))

    lengths = [24, 13, 7, 1]
    mask = (np.arange(24)[None, :] < np.array(lengths)[:, None]).astype(np.int64)
    padded = run(ids * mask, mask, types)
    worst = 0.0
    for row, n in enumerate(lengths):
        one = np.s_[row : row + 1, :n]
        worst = max(worst, error(padded[one], want(ids[one], mask[one], types[one])))
    yield "padded batch equals single texts", worst

    long = random_ids(2, (1, limit), vocab)
    ones, zeros = np.ones_like(long), np.zeros_like(long)
    yield f"text of {limit} tokens", error(run(long, ones, zeros), want(long, ones, zeros))


class DecoderRun:
    """Drives a cached decoder as a runtime does: positions and mask from the padding on the left of each row."""

    def __init__(self, subject: Subject, padding: Sequence[int]) -> None:
        subject.reset()
        self._subject, self._padding, self._past = subject, np.array(padding, np.int64), 0

    def step(self, ids: Ids, keep: int = 0, rows: Sequence[int] | None = None) -> Array:
        """Logits f32 [batch, kept, vocab] of the next tokens; row b continues row `rows[b]` of the cache."""
        batch, tokens = ids.shape
        beam_idx = np.arange(batch) if rows is None else np.array(rows)
        self._padding = self._padding[beam_idx]
        total = np.arange(self._past + tokens)[None, :]
        positions = np.maximum(total[:, self._past :] - self._padding[:, None], 0)
        self._past += tokens
        inputs = {
            "input_ids": ids,
            "attention_mask": (total >= self._padding[:, None]).astype(np.int64),
            "position_ids": positions.astype(np.int64),
            "beam_idx": beam_idx.astype(np.int32),
            "logits_to_keep": np.array([keep], np.int64),
        }
        return self._subject.run(inputs)["logits"]


def decoder_cases(subject: Subject, oracle: Oracle, vocab: int) -> Iterator[Case]:
    """Prefill, decode, chunked prefill, padding on the left, trailing logits, rows of the cache reordered."""
    ids = random_ids(3, (3, 23), vocab)
    want = oracle.logits(ids)
    flat = [0, 0, 0]

    def chunks(*cuts: int) -> Array:
        run, edges = DecoderRun(subject, flat), [0, *cuts, ids.shape[1]]
        return np.concatenate([run.step(ids[:, a:b]) for a, b in itertools.pairwise(edges)], 1)

    yield "prefill", error(chunks(), want)
    yield "prefill and decode", error(chunks(*range(17, 23)), want)
    yield "chunked prefill", error(chunks(9, 17), want)

    lengths = [23, 11, 5]
    padded = np.zeros_like(ids)
    for row, n in enumerate(lengths):
        padded[row, 23 - n :] = ids[row, :n]
    more = random_ids(4, (3, 4), vocab)
    run = DecoderRun(subject, [23 - n for n in lengths])
    got = np.concatenate(
        [run.step(padded[:, :20]), run.step(padded[:, 20:])] + [run.step(more[:, i : i + 1]) for i in range(4)], 1
    )
    worst = 0.0
    for row, n in enumerate(lengths):
        single = np.concatenate([ids[row : row + 1, :n], more[row : row + 1]], 1)
        worst = max(worst, error(got[row : row + 1, 23 - n :], oracle.logits(single)))
    yield "left-padded batch equals single texts", worst

    kept = [(DecoderRun(subject, flat).step(ids, keep), want[:, -min(keep, 23) :]) for keep in (1, 3, 23, 100)]
    yield "logits_to_keep", max(error(got, expected) for got, expected in kept)

    rows = [2, 0, 0]
    run = DecoderRun(subject, [23 - n for n in lengths])
    run.step(padded)
    got = np.concatenate([run.step(more[:, :1], rows=rows), run.step(more[:, 1:2], rows=[1, 1, 0])], 1)
    first = [(rows[b], more[b, 0]) for b in range(3)]
    worst = 0.0
    for b in range(3):
        for position, (source, token) in ((0, first[b]), (1, first[[1, 1, 0][b]])):
            history = [*ids[source, : lengths[source]], token] + ([more[b, 1]] if position else [])
            alone = oracle.logits(np.array([history], np.int64))[:, -1:]
            worst = max(worst, error(got[b : b + 1, position : position + 1], alone))
    yield "beam_idx reorders the cache", worst


def greedy(subject: Subject, prompt: Sequence[int], count: int) -> list[int]:
    """The likeliest continuation by `count` tokens."""
    run, tokens = DecoderRun(subject, [0]), list[int]()
    following = np.array([prompt], np.int64)
    for _ in range(count):
        tokens.append(int(run.step(following, keep=1)[0, -1].argmax()))
        following = np.array([[tokens[-1]]], np.int64)
    return tokens
