"""`mconnect build`: from a checkpoint to a bundle."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from tools.builder import pipeline
from tools.builder.resolve import Family, FamilyError, index
from tools.mconnect.console import ROOT, Bars, print_json
from tools.mconnect.start import OK, put

EXAMPLE = """\
examples:
  mconnect build sentence-transformers/all-MiniLM-L6-v2 -o minilm.bundle
  mconnect build ./Qwen3-0.6B -o qwen3.bundle --weights f16 --json
  mconnect build qwen2.5-0.5b-instruct-q4_k_m.gguf -o qwen2.bundle --weights f16
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument(
        "checkpoint", metavar="CHECKPOINT", help="a checkpoint folder, a .gguf file or a hub id such as Qwen/Qwen3-0.6B"
    )
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, required=True, help="the bundle to write")
    parser.add_argument("--name", help="the bundle's name (default: made from the checkpoint's)")
    parser.add_argument(
        "--weights",
        choices=("auto", "f16", "f32"),
        default="auto",
        help="auto: f16 where the checkpoint has 16-bit floats and f16 holds every value exactly, else f32; "
        "f16: round matrices to f16; f32: expand everything (default: auto)",
    )
    parser.add_argument("--revision", help="branch, tag or commit of the hub repository (default: its main branch)")
    parser.add_argument(
        "--family", help="build with this family: a name, or the path of a family.json (default: by config.json)"
    )
    parser.add_argument("--json", action="store_true", help='print {"id", "path", "size"} on stdout')


def run(args: argparse.Namespace) -> int:
    """Builds, and prints the bundle's id."""
    with Bars() as bars:
        identity = pipeline.build(
            args.checkpoint,
            args.output,
            families=choose(args.family),
            name=args.name,
            weights=args.weights,
            revision=args.revision,
            progress=bars,
        )
    size = args.output.stat().st_size
    if args.json:
        print_json({"id": identity, "path": str(args.output), "size": size})
    else:
        put(f"{args.output}: {size / 1e6:.1f} MB, id {identity}")
    return OK


def choose(family: str | None) -> Sequence[Family]:
    """The families that may build: those of this repository, or the one that is named. Raises FamilyError."""
    if family is not None and family.endswith(".json"):
        return [Family.open(Path(family))]
    known = index([ROOT / "families"])
    if family is None:
        return known
    if chosen := [one for one in known if one.name == family]:
        return chosen
    raise FamilyError(
        f"there is no family {family!r}; there are {', '.join(one.name for one in known)}, or give a family.json"
    )
