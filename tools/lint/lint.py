"""Runs every linter over the working tree; one line for each, and the last line counts them.

usage: lint [LINTER...]     linters: see LINTERS; all by default
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.lint import layers, type_names

ROOT = Path(os.environ.get("BUILD_WORKSPACE_DIRECTORY", "."))
RUNFILES = Path(__file__).parents[3]  # RUNFILES/mconnect/tools/lint/lint.py

Verdict = tuple[bool, str]


def files(pattern: str) -> list[str]:
    """Files of the working tree, but for ignored ones, whose path matches the regular expression."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return [f for f in sorted(set(listed)) if re.search(pattern, f) and (ROOT / f).is_file()]


def run(*command: str) -> Verdict:
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode == 0, done.stdout


def program(*names: str) -> str:
    """The first of `names` that is installed."""
    for name in names:
        if found := shutil.which(name):
            return found
    raise SystemExit(f"{names[0]} is missing: run tools/setup --lint")


def buildifier() -> Verdict:
    """BUILD and .bzl files: layout, load() of every rule, docstrings. From npm, pinned by package-lock.json."""
    lock = ROOT / "tools/lint/package-lock.json"
    cache = Path(os.environ.get("MCONNECT_CACHE") or Path.home() / ".cache/mconnect")
    folder = cache / "lint" / hashlib.sha256(lock.read_bytes()).hexdigest()[:16]
    binary = folder / "node_modules/@bazel/buildifier/buildifier-linux_amd64"
    if not binary.exists():
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(lock.with_name(name), folder)
        npm = [program("npm"), "ci", "--prefix", str(folder), "--ignore-scripts", "--no-audit", "--no-fund"]
        ok, output = run(*npm)
        if not ok:
            return False, f"npm cannot install buildifier:\n{output}"
    paths = files(r"(^|/)(BUILD|WORKSPACE(\.bzlmod)?|MODULE\.bazel|[^/]+\.bzl)$")
    return run(str(binary), "-mode=check", "-lint=warn", "-warnings=-module-docstring", *paths)


def ruff() -> Verdict:
    """Python: likely bugs, imports, line length. Configured by pyproject.toml."""
    binary = next(RUNFILES.glob("pypi_ruff/site-packages/ruff-*.data/scripts/ruff"))
    return run(str(binary), "check", "--no-cache", "--output-format=concise", *files(r"\.py$"))


def mypy() -> Verdict:
    """Types of the builder, strictly."""
    return run(sys.executable, "-m", "mypy", "--cache-dir=/dev/null", "tools/builder")


def clang_format() -> Verdict:
    """Layout of C++."""
    return run(
        program("clang-format-14", "clang-format"), "--dry-run", "-Werror", "--ferror-limit=1", *files(r"\.(cc|h|c)$")
    )


def clang_tidy() -> Verdict:
    """Bugs in C++: the runtime's sources without tests, by .clang-tidy."""
    external = Path(os.path.realpath(next(RUNFILES.glob("pypi_ruff/site-packages/*/METADATA")))).parents[3]
    # root/ in an external repository is where third_party/deb unpacks a package: nothing of the machine's own /usr.
    system = [*external.glob("*/root/usr/include"), *external.glob("*/root/usr/include/x86_64-linux-gnu")]
    system += [*external.glob("*/root/usr/include/python3.*"), *external.glob("pypi_*/site-packages/*/include")]
    own = sorted({f.split("/include/")[0] + "/include" for f in files(r"/include/mconnect/")})
    flags = ["-std=c++20", "-I.", *(f"-I{d}" for d in own), *(f"-isystem{d}" for d in system)]
    flags += ["-DPCRE2_CODE_UNIT_WIDTH=8", "-DPCRE2_STATIC", "-DUTF8PROC_STATIC"]
    tidy = program("clang-tidy-14", "clang-tidy")

    def one(path: str) -> Verdict:
        return run(tidy, "--quiet", path, "--", *flags)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        verdicts = list(pool.map(one, files(r"^runtime/(?!.*(_test\.cc|/testing/)).*\.cc$")))
    return all(ok for ok, _ in verdicts), "".join(output for ok, output in verdicts if not ok)


def shellcheck() -> Verdict:
    """Shell scripts, which have no suffix."""
    scripts = [f for f in files(r"(^|/)[^.]+$|\.sh$") if (ROOT / f).read_bytes().startswith(b"#!/bin/bash")]
    return run(program("shellcheck"), "-x", "--severity=warning", *scripts)


def layering() -> Verdict:
    """Who may import and include whom."""
    breaches = layers.check(files(r"\.(cc|h|c|py)$"), lambda f: (ROOT / f).read_text("utf-8"))
    return not breaches, "".join(f"{b}\n" for b in breaches)


def one_type_a_name() -> Verdict:
    """One type to a name."""
    breaches = type_names.check(files(r"\.(cc|h)$"), lambda f: (ROOT / f).read_text("utf-8"))
    return not breaches, "".join(f"{b}\n" for b in breaches)


LINTERS: dict[str, Callable[[], Verdict]] = {
    "buildifier": buildifier,
    "ruff": ruff,
    "mypy": mypy,
    "clang-format": clang_format,
    "clang-tidy": clang_tidy,
    "shellcheck": shellcheck,
    "layering": layering,
    "type-names": one_type_a_name,
}


def main(names: list[str]) -> int:
    unknown = [n for n in names if n not in LINTERS]
    if unknown:
        print(f"No linter is called {', '.join(unknown)}; there are {', '.join(LINTERS)}", file=sys.stderr)
        return 2
    failed = 0
    for name in names or LINTERS:
        ok, output = LINTERS[name]()
        failed += not ok
        print(f"{'PASSED' if ok else 'FAILED'}  {name}" + ("" if ok else f"\n{output.rstrip()}"), flush=True)
    print(f"{len(names or LINTERS) - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
