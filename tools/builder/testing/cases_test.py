"""The cases must see mistakes: subjects that are wrong in one way each, and an oracle of the same arithmetic."""

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import pytest

from tools.builder.testing.cases import DecoderRun, decoder_cases, encoder_cases, error, greedy, random_ids
from tools.builder.testing.subjects import Array, Ids, Oracle

VOCAB = 11


def toy_logits(ids: Ids, positions: Ids, seen: Array) -> Array:
    """Logits that depend on each visible token, its order and the position: f32 [tokens, vocab] for one row."""
    mixed = np.cumsum(np.where(seen, (ids + 1) * 0.37, 0.0)) + positions * 0.11
    logits: Array = np.sin(mixed[:, None] * (np.arange(VOCAB) + 1)).astype(np.float32)
    return logits


class ToyOracle:
    def logits(self, ids: Ids) -> Array:
        return np.stack([toy_logits(row, np.arange(len(row)), np.ones(len(row), bool)) for row in ids])

    def hidden_states(self, ids: Ids, mask: Ids, types: Ids | None) -> Array:
        total = (np.where(mask, ids + (0 if types is None else types), 0)).sum(1, keepdims=True)
        states: Array = (total[..., None] + ids[..., None] + np.arange(ids.shape[1])[None, :, None]).astype(np.float32)
        return states


class ToyDecoder:
    """A right decoder, or one with a `fault`."""

    def __init__(self, fault: str = "") -> None:
        self.fault = fault
        self.reset()

    def reset(self) -> None:
        self.ids: Any = None

    def run(self, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        past = np.zeros((len(inputs["input_ids"]), 0), np.int64) if self.ids is None else self.ids
        if self.fault != "beam_idx" and past.shape[1]:
            past = past[inputs["beam_idx"]]
        self.ids = np.concatenate([past, inputs["input_ids"]], 1)
        start = 0 if self.fault == "cache" else past.shape[1]
        rows = []
        for ids, mask, new in zip(self.ids, inputs["attention_mask"], inputs["position_ids"], strict=True):
            seen = np.ones_like(mask, bool) if self.fault == "mask" else mask != 0
            if self.fault == "cache":
                ids, seen = ids[past.shape[1] :], seen[past.shape[1] :]
            positions = np.zeros(len(ids), np.int64)
            positions[start:] = np.arange(start, len(ids)) if self.fault == "positions" else new
            rows.append(toy_logits(ids, positions, seen)[start:])
        keep = 0 if self.fault == "keep" else int(inputs["logits_to_keep"][0])
        return {"logits": np.stack(rows)[:, -keep:] if keep else np.stack(rows)}


def broken(fault: str) -> set[str]:
    cases = decoder_cases(ToyDecoder(fault), cast(Oracle, ToyOracle()), VOCAB)
    return {name for name, distance in cases if distance > 1e-4}


def test_ARightDecoderPassesEveryCase() -> None:
    assert broken("") == set()


@pytest.mark.parametrize(
    "fault, case",
    [
        ("beam_idx", "beam_idx reorders the cache"),
        ("cache", "prefill and decode"),
        ("cache", "chunked prefill"),
        ("mask", "left-padded batch equals single texts"),
        ("positions", "left-padded batch equals single texts"),
        ("keep", "logits_to_keep"),
    ],
)
def test_EachFaultIsSeen(fault: str, case: str) -> None:
    assert case in broken(fault)


class ToyEncoder:
    def __init__(self, fault: str = "") -> None:
        self.fault = fault

    def reset(self) -> None:
        pass

    def run(self, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        ids, mask, types = inputs["input_ids"], inputs["attention_mask"], inputs.get("token_type_ids")
        mask = np.ones_like(mask) if self.fault == "mask" else mask
        types = None if self.fault == "types" else types
        return {"last_hidden_state": ToyOracle().hidden_states(ids, mask, types)}


@pytest.mark.parametrize(
    "fault, cases", [("", set()), ("mask", {"padded batch equals single texts"}), ("types", {"batch"})]
)
def test_EncoderCasesSeeMaskAndTypes(fault: str, cases: set[str]) -> None:
    got = encoder_cases(ToyEncoder(fault), cast(Oracle, ToyOracle()), VOCAB, 30, has_types=True)
    broken = {name for name, distance in got if distance > 1e-4}
    assert cases <= broken and bool(broken) == bool(fault)


def test_AnEncoderWithoutSegmentsAndItsOracleGetNone() -> None:
    class Strict(ToyEncoder):
        def run(self, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
            assert set(inputs) == {"input_ids", "attention_mask"}
            return super().run(inputs)

    found = list(encoder_cases(Strict(), cast(Oracle, ToyOracle()), VOCAB, 30, has_types=False))
    assert len(found) == 3 and all(distance == 0 for _, distance in found)


def test_GreedyFollowsTheLikeliestToken() -> None:
    oracle, ids = ToyOracle(), [3, 1, 4]
    for token in greedy(ToyDecoder(), ids, 6):
        assert token == oracle.logits(np.array([ids]))[0, -1].argmax()
        ids = [*ids, token]


def test_ErrorIsInfiniteWhereValuesCannotBeCompared() -> None:
    one: Array = np.ones(2, np.float32)
    assert error(one, one + np.float32(0.5)) == 0.5
    assert error(one, one[:1]) == error(one * np.float32("nan"), one) == float("inf")


def test_RandomIdsAreTheSameEverywhere() -> None:
    assert random_ids(3, (5,), 100).tolist() == [65, 4, 27, 12, 57]


def test_ARunMovesThePaddingWithItsRow() -> None:
    run = DecoderRun(ToyDecoder(), [0, 2])
    run.step(np.array([[1, 2, 3], [0, 0, 3]]))
    swapped = run.step(np.array([[4], [4]]), rows=[1, 0])
    want = [ToyOracle().logits(np.array([row]))[0, -1] for row in ([3, 4], [1, 2, 3, 4])]
    np.testing.assert_allclose(swapped[:, 0], want, atol=1e-6)
