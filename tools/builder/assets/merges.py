"""The merges of a byte-pair vocabulary that states only an order of its tokens, as SentencePiece models do."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def merges_of(tokens: Sequence[str], rank: Callable[[int], float] | None = None) -> list[tuple[str, str]]:
    """Every cut of a token into two others, best first.

    Follows transformers' `generate_merges`. With `rank`, a token of higher rank merges earlier, and of its cuts the one
    with the longer left part; without, a token of lower id, and the shorter left part.
    """
    ids = {token: index for index, token in enumerate(tokens)}
    found: list[tuple[float, int, int, str, str]] = []
    for index, token in enumerate(tokens):
        cuts = [(token[:at], token[at:]) for at in range(1, len(token))]
        known = sorted((ids[left], ids[right], left, right) for left, right in cuts if left in ids and right in ids)
        order = index if rank is None else rank(index)
        found += [(order, len(left), len(right), left, right) for _, _, left, right in known]
    found.sort(key=lambda entry: entry[:3], reverse=rank is not None)
    return [(left, right) for *_, left, right in found]
