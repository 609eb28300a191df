"""Holds a family against its reference implementation (transformers, f32, eager) under every lowering.

    parity --family families/qwen3/family.json --checkpoint <folder>

Prints the maximal absolute error of each case; fails above 1e-4, or where greedy text of 64 tokens differs. This is
the body of every family's `:parity_test`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import tokenizers

from tools.builder.checkpoint import Checkpoint
from tools.builder.graph import Graph
from tools.builder.resolve import Family, FamilyError, resolve
from tools.builder.testing import cases
from tools.builder.testing.arguments import CHECKPOINT, paths
from tools.builder.testing.subjects import Oracle, Subject, subjects
from tools.builder.weights import arrays

TOLERANCE = 1e-4
NEW_TOKENS = 64
PROMPTS = ("The river rises in the hills", "On the first day of every month", "Der Fluss")


def check(family: Family, folder: Path) -> bool:
    """Runs every case of every module, printing as it goes; whether all held."""
    checkpoint = Checkpoint.open(folder)
    if resolve(checkpoint.config, [family]).name != family.name:
        raise FamilyError(f"{folder} is not a checkpoint of the family {family.name}")
    oracle = Oracle(folder, checkpoint.config["architectures"][0])
    good = True
    for name, graph in family.record(checkpoint).items():
        for engine, subject in subjects(graph, arrays(graph, checkpoint)).items():
            for case, error in _cases(graph, subject, oracle, checkpoint):
                held = error <= TOLERANCE
                good &= held
                print(f"{'ok  ' if held else 'FAIL'} {family.name}.{name} {engine}: {case}: max abs error {error:.2e}")
            if graph.caches:
                good &= _check_greedy(f"{family.name}.{name} {engine}", subject, oracle, folder)
    return good


def _cases(graph: Graph, subject: Subject, oracle: Oracle, checkpoint: Checkpoint) -> list[cases.Case]:
    config = oracle.model.config
    if graph.caches:
        return list(cases.decoder_cases(subject, oracle, config.vocab_size))
    limit, has_types = config.max_position_embeddings, any(port.name == "token_type_ids" for port in graph.inputs)
    return list(cases.encoder_cases(subject, oracle, config.vocab_size, limit, has_types))


def _check_greedy(where: str, subject: Subject, oracle: Oracle, folder: Path) -> bool:
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    good = True
    for prompt in PROMPTS:
        ids = tokenizer.encode(prompt).ids
        got = cases.greedy(subject, ids, NEW_TOKENS)
        want = oracle.greedy(np.array([ids], np.int64), NEW_TOKENS)
        same = sum(a == b for a, b in zip(got, want, strict=True))
        good &= got == want
        verdict = f"{'ok  ' if got == want else 'FAIL'} {where}: greedy text: {same} of {NEW_TOKENS} tokens equal"
        print(f"{verdict}: {prompt!r} -> {tokenizer.decode(got)!r}")
    return good


def main(argv: Sequence[str]) -> int:
    """Exit codes: 0 all cases held, 1 some did not."""
    args = paths(argv, "parity", __doc__, family="the family's family.json", checkpoint=CHECKPOINT)
    return 0 if check(Family.open(args.family), args.checkpoint) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
