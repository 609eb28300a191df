"""Merges recovered from a vocabulary are those that transformers recovers."""

from __future__ import annotations

import random

import pytest
from transformers.tokenization_utils_base import generate_merges

from tools.builder.assets.merges import merges_of


@pytest.mark.parametrize("seed", range(5))
def test_TheyAreTheReferences(seed: int) -> None:
    random.seed(seed)
    tokens = list(dict.fromkeys("".join(random.choices("abc▁", k=random.randint(1, 5))) for _ in range(300)))
    scores = [float(-random.randint(0, 20)) for _ in tokens]
    ids = {token: i for i, token in enumerate(tokens)}
    assert merges_of(tokens, scores.__getitem__) == generate_merges(ids, dict(zip(tokens, scores, strict=True)))
    assert merges_of(tokens) == generate_merges(ids)


def test_ATokenThatIsNoPairOfOthersHasNone() -> None:
    assert merges_of(["a", "b", "ab", "xyz"], lambda index: -index) == [("a", "b")]
