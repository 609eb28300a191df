"""Reads Bazel's execution log after one family was touched. Exit code 1 if anything else ran, or nothing.

usage: check.py LOG FAMILY
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def spawns(text: str) -> Iterator[dict[str, Any]]:
    """The log is JSON objects one after another."""
    decoder, at = json.JSONDecoder(), 0
    while at < len(text.rstrip()):
        spawn, at = decoder.raw_decode(text, at)
        yield spawn
        at += len(text[at:]) - len(text[at:].lstrip())


def verdict(text: str, family: str) -> tuple[Counter[str], list[str]]:
    """Mnemonics of the family's own actions with their number, and one line for each action of anything else."""
    own: Counter[str] = Counter()
    foreign = []
    for spawn in spawns(text):
        outputs = spawn.get("listedOutputs", []) or [f.get("path", "") for f in spawn.get("actualOutputs", [])]
        if outputs and all(re.search(rf"(^|/)families/{re.escape(family)}/", path) for path in outputs):
            own[spawn["mnemonic"]] += 1
        else:
            foreign.append(f"{spawn['mnemonic']} -> {', '.join(outputs) or 'no outputs'}")
    return own, foreign


def main(log: str, family: str) -> int:
    own, foreign = verdict(Path(log).read_text("utf-8"), family)
    if foreign or not own["ModelBundle"]:
        others = "; ".join(foreign) or "nothing"
        print(f"FAILED  affected: touching {family} ran {dict(own)} and besides: {others}")
        return 1
    print(f"PASSED  affected: touching {family} ran {dict(own)} and nothing else")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
