"""Holds a family against its reference for config.json fields that its tiny checkpoint leaves at one value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import transformers

from tools.builder.checkpoint import Checkpoint
from tools.builder.resolve import Family
from tools.builder.testing import cases
from tools.builder.testing.subjects import Oracle, ReferenceLowering
from tools.builder.tiny.make_tiny import make_tiny
from tools.builder.weights import arrays


def max_error(family: Path, changes: Mapping[str, Any], out: Path) -> float:
    """Makes the tiny checkpoint with `changes` to its config in the folder `out`; the worst error of every case.

    `family` is the folder of the family. A change to `...` leaves the field out.
    """
    transformers.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    description = json.loads((family / "tiny.json").read_text())
    merged = {**description["config"], **changes}
    description["config"] = {name: value for name, value in merged.items() if value is not ...}
    opened = Family.open(family / "family.json")
    make_tiny(opened, description, out)
    checkpoint = Checkpoint.open(out)
    worst = 0.0
    for graph in opened.record(checkpoint).values():
        oracle = Oracle(out, checkpoint.config["architectures"][0])
        subject = ReferenceLowering(graph, arrays(graph, checkpoint))
        vocab, context = oracle.model.config.vocab_size, oracle.model.config.max_position_embeddings
        has_types = any(port.name == "token_type_ids" for port in graph.inputs)
        found = (
            cases.decoder_cases(subject, oracle, vocab)
            if graph.caches
            else cases.encoder_cases(subject, oracle, vocab, context, has_types)
        )
        worst = max([worst, *(distance for _, distance in found)])
    return worst
