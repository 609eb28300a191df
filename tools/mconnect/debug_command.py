"""`mconnect debug`: find the first op where an engine departs from the reference lowering (torch, f32)."""

from __future__ import annotations

import argparse
import dataclasses
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tools.mconnect.build_command import choose
from tools.mconnect.console import print_json
from tools.mconnect.start import FAILED, OK, put

if TYPE_CHECKING:
    from tools.builder.debug import Report, Row

EXAMPLE = """\
examples:
  mconnect debug minilm.bundle
  mconnect debug ./Qwen3-0.6B --module decoder --precision bf16 --prompt "Once upon a time"

Exits with 1 where an op departs by more than the tolerance.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument(
        "model", metavar="BUNDLE|CHECKPOINT", help="a bundle, a checkpoint folder, a .gguf file or a hub id"
    )
    parser.add_argument("--module", help="the module to run (default: the only one)")
    parser.add_argument(
        "--engine", choices=("openvino",), default="openvino", help="the engine to compare (default: openvino)"
    )
    parser.add_argument(
        "--precision", choices=("f32", "bf16"), default="f32", help="the engine's arithmetic (default: f32)"
    )
    parser.add_argument(
        "--prompt", default="The quick brown fox jumps over the lazy dog.", help="text to run the module on"
    )
    parser.add_argument(
        "--tolerance", type=float, help="relative to a value's largest magnitude (default: 1e-4 for f32, 0.1 for bf16)"
    )
    parser.add_argument("--family", help="build a checkpoint with this family: a name, or the path of a family.json")
    parser.add_argument(
        "--top", type=int, default=5, metavar="N", help="how many of the worst ops to show (default: 5)"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON on stdout")


def run(args: argparse.Namespace) -> int:
    """Compares and prints a table."""
    from tools.builder.debug import compare  # torch takes seconds to import
    from tools.mconnect.subject import open_subject

    with tempfile.TemporaryDirectory(prefix="mconnect-debug-") as work:
        subject = open_subject(args.model, args.module, choose(args.family), Path(work))
        steps = subject.steps(args.prompt)
        report = compare(
            subject.graph, subject.read, subject.weights(), steps, precision=args.precision, tolerance=args.tolerance
        )
    if args.json:
        print_json(_json(report))
    else:
        put(_table(report, args.top))
    return OK if report.first is None else FAILED


def _json(report: Report) -> dict[str, object]:
    def row(one: Row) -> dict[str, object]:
        fields = dataclasses.asdict(one)
        return {
            key: None if isinstance(value, float) and not math.isfinite(value) else value
            for key, value in fields.items()
        }

    return {
        "first": row(report.first) if report.first else None,
        "fused": report.fused,
        "outputs": [row(one) for one in report.outputs],
        "rows": [row(one) for one in report.rows],
        "tolerance": report.tolerance,
    }


def _table(report: Report, top: int) -> str:
    if report.first is None:
        head = f"No op of {len(report.rows)} departs by more than {report.tolerance:g}."
        listed: list[Row] = []
    elif report.fused:
        head = f"Each op alone is right. As the engine fuses them, the first to depart by over {report.tolerance:g} is:"
        listed = [report.first]
    else:
        place = next(i for i, row in enumerate(report.rows) if row.value == report.first.value)
        head = (
            f"The first op of {len(report.rows)} that departs by more than {report.tolerance:g} is number {place + 1}:"
        )
        listed = [report.first]
    lines = [head, *_lines(listed)]
    lines += [
        "",
        f"The {min(top, len(report.rows))} worst ops:",
        *_lines(report.worst(top)),
        "",
        "Outputs:",
        *_lines(report.outputs),
    ]
    return "\n".join(lines)


def _lines(rows: Sequence[Row]) -> list[str]:
    if not rows:
        return []
    cells = [("op", "scope", "value", "shape", "max abs", "max rel")]
    for row in rows:
        shape = "x".join(map(str, row.shape)) or "scalar"
        cells.append((row.op, row.scope or "-", row.value, shape, f"{row.max_abs:.2e}", f"{row.max_rel:.2e}"))
    widths = [max(len(line[i]) for line in cells) for i in range(6)]
    padded = [[cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in cells]
    return ["  " + "  ".join(line).rstrip() for line in padded]
