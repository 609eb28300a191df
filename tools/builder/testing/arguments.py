"""The command line of the programs that hold a family against its reference: paths, each of them required."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import transformers

CHECKPOINT = "a folder with config.json and safetensors"


def paths(argv: Sequence[str], program: str, description: str | None, **helps: str) -> argparse.Namespace:
    """Parses `--NAME PATH` for each keyword, whose value is its help, and silences the reference library's warnings."""
    parser = argparse.ArgumentParser(
        program, description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, help in helps.items():
        parser.add_argument(f"--{name}", type=Path, required=True, help=help)
    transformers.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    return parser.parse_args(argv)
