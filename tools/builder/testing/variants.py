"""Holds a family against its reference for config.json fields that its tiny checkpoint leaves at one value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import transformers

from tools.builder.checkpoint import Checkpoint
from tools.builder.graph import Graph
from tools.builder.resolve import Family
from tools.builder.testing import cases
from tools.builder.testing.subjects import Oracle, ReferenceLowering, Subject, subjects
from tools.builder.tiny.make_tiny import make_tiny
from tools.builder.weights import arrays


def opened(family: Path, changes: Mapping[str, Any], out: Path) -> tuple[Oracle, dict[str, dict[str, Subject]]]:
    """Makes the tiny checkpoint with `changes` to its config in the folder `out`; its reference, and each module under
    every lowering.

    `family` is the folder of the family. A change to `...` leaves the field out.
    """
    checkpoint, graphs = _record(family, changes, out)
    modules = {name: subjects(graph, arrays(graph, checkpoint)) for name, graph in graphs.items()}
    return Oracle(out, checkpoint.config["architectures"][0]), modules


def max_error(family: Path, changes: Mapping[str, Any], out: Path) -> float:
    """The worst error of every case under the reference lowering; the arguments are those of `opened`."""
    checkpoint, graphs = _record(family, changes, out)
    worst = 0.0
    for graph in graphs.values():
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


def _record(family: Path, changes: Mapping[str, Any], out: Path) -> tuple[Checkpoint, dict[str, Graph]]:
    transformers.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    description = json.loads((family / "tiny.json").read_text())
    merged = {**description["config"], **changes}
    description["config"] = {name: value for name, value in merged.items() if value is not ...}
    made = Family.open(family / "family.json")
    make_tiny(made, description, out)
    checkpoint = Checkpoint.open(out)
    return checkpoint, made.record(checkpoint)
