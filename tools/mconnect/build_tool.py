"""`mconnect build` as build actions run it: with the one family that is named, and no index of the others.

build_tool CHECKPOINT_DIR -o NAME.bundle --name NAME --family families/bert/family.json
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tools.mconnect.start import start


def main(argv: Sequence[str]) -> int:
    """Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted, 141 the output was closed."""
    from tools.mconnect import build_command  # takes seconds, which `start` guards
    from tools.mconnect.console import guarded

    parser = argparse.ArgumentParser(
        "build_tool", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    build_command.add_arguments(parser)
    args = parser.parse_args(argv)
    if args.family is None:
        parser.error("--family is required")
    return guarded(lambda: build_command.run(args))


if __name__ == "__main__":
    sys.exit(start(lambda: main(sys.argv[1:])))
