"""The commands that the native binary fulfils."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tools.mconnect.console import ROOT, report
from tools.mconnect.start import FAILED

COMMANDS = {
    "run": "generate text, or run one module on tensors",
    "embed": "turn texts into vectors",
    "search": "search files by meaning",
    "tokenize": "show the token ids of texts",
    "inspect": "show what a bundle holds, without reading it all",
    "verify": "check a bundle's every byte",
    "unpack": "extract a bundle into a folder that loads as it is",
}
BINARY = ROOT / "runtime" / "cli" / "mconnect"


def execute(argv: Sequence[str]) -> int:
    """Becomes the native `mconnect` with these arguments; returns only where there is none."""
    if not os.access(BINARY, os.X_OK) or BINARY.is_dir():
        report(
            f"`{argv[0]}` is a command of the native binary, which is not at {BINARY}",
            "run it through Bazel, which builds it: bazel run //tools/mconnect -- " + argv[0],
        )
        return FAILED
    os.execv(BINARY, ["mconnect", *argv])
