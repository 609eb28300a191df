"""Writes docs/cli.md from the program's own --help, one section for each command."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

HEADER = """\
# The command line

`mconnect` is the native program: `bazel run //runtime/cli:mconnect -- COMMAND`, or `bin/mconnect` of the folder
that `bazel build //runtime/cli:dist` makes. Building bundles (from a checkpoint folder, a `.gguf` file or a hub id) and
looking for the operation where an engine departs from the reference are the work of the Python tool,
`bazel run //tools/mconnect -- build | debug`.

* Results go to standard output; notes, progress and errors to standard error. `--json` prints one JSON value on a line.
* An error is `error: ` and what happened, then an indented line that says what to do.
* Exit codes: 0 done, 1 the work failed, 2 the command line is wrong, 130 interrupted, 141 the output was closed.
* Bundles are unpacked once into a store: `$MCONNECT_STORE`, else `mconnect/store` in the user's cache folder.

This page is the program's own `--help`. To write it anew: `bazel run //runtime/cli:docs_gen -- --write`.
"""
COMMANDS = ["run", "embed", "search", "score", "tokenize", "inspect", "verify", "unpack"]


def page(program: str) -> str:
    """The whole page."""
    sections = [HEADER]
    for command in COMMANDS:
        text = subprocess.run([program, command, "--help"], capture_output=True, text=True, check=True).stdout
        lines = "\n".join(line.rstrip() for line in text.strip().splitlines())
        sections.append(f"## mconnect {command}\n\n```text\n{lines}\n```\n")
    return "\n".join(sections)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="runtime/cli/mconnect")
    parser.add_argument("--page", type=Path, default=Path("docs/cli.md"))
    parser.add_argument("--write", action="store_true", help="write the page into the source tree")
    args = parser.parse_args()
    text = page(args.program)
    if args.write:
        (Path(os.environ["BUILD_WORKSPACE_DIRECTORY"]) / args.page).write_text(text)
    elif args.page.read_text() != text:
        sys.exit(f"{args.page} is out of date: bazel run //runtime/cli:docs_gen -- --write")


if __name__ == "__main__":
    main()
