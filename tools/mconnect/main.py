"""`mconnect`: the command line. `build` and `debug` are here; the native binary does the rest."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tools.mconnect.start import start

_EPILOG = """\
commands of the native binary:
{native}
Each command explains itself with examples: mconnect COMMAND --help
Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted, 141 the output was closed.
"""


def parser() -> argparse.ArgumentParser:
    """The arguments of the commands that are here."""
    from tools.mconnect import build_command, debug_command, native  # takes seconds, which `start` guards

    raw = argparse.RawDescriptionHelpFormatter
    listed = "".join(f"  {name:<10}{text}\n" for name, text in native.COMMANDS.items())
    top = argparse.ArgumentParser(
        "mconnect",
        description="Turns checkpoints into bundles, and runs them.",
        epilog=_EPILOG.format(native=listed),
        formatter_class=raw,
    )
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, module, text in (
        ("build", build_command, "turn a checkpoint into a bundle"),
        ("debug", debug_command, "find the first op where an engine departs from the reference"),
    ):
        command = commands.add_parser(
            name, help=text, description=module.__doc__, epilog=module.EXAMPLE, formatter_class=raw
        )
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return top


def main(argv: Sequence[str]) -> int:
    """Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted, 141 the output was closed."""
    from tools.mconnect import native
    from tools.mconnect.console import enter_working_directory, guarded

    enter_working_directory()
    if argv and argv[0] in native.COMMANDS:
        return native.execute(argv)
    args = parser().parse_args(argv)
    return guarded(lambda: int(args.run(args)))


if __name__ == "__main__":
    sys.exit(start(lambda: main(sys.argv[1:])))
