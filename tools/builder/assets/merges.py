"""The merges of a byte-pair vocabulary that states only an order of its tokens, as SentencePiece models do."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def merges_of(tokens: Sequence[str], rank: Callable[[int], float]) -> list[tuple[str, str]]:
    """Every cut of a token into two others, best first: by the token's `rank`, then by the lengths of the parts.

    Follows transformers' `generate_merges`: a higher rank merges earlier, and among cuts of one token those into tokens
    of higher ids stand later.
    """
    ids = {token: index for index, token in enumerate(tokens)}
    found: list[tuple[float, int, int, str, str]] = []
    for index, token in enumerate(tokens):
        cuts = [(token[:at], token[at:]) for at in range(1, len(token))]
        known = sorted((ids[left], ids[right], left, right) for left, right in cuts if left in ids and right in ids)
        found += [(rank(index), len(left), len(right), left, right) for _, _, left, right in known]
    found.sort(key=lambda entry: entry[:3], reverse=True)
    return [(left, right) for *_, left, right in found]
