"""The layering rules, read from the sources.

* A family imports `tools.builder` and packages from outside; never a sibling or another part of this repository.
* A folder of runtime/ includes only its own headers and those of lower layers (`LAYERS`, lowest first).
* The builder imports no family and nothing of the command line.
"""

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

LAYERS = ("base", "bundle", "engine", "engine/openvino", "text", "tasks", "api", "cli", "python")

# Not a layer: testing/ folders serve the tests of any folder, and may use what those may.
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def layer_of(path: str) -> str | None:
    """The layer that a path like runtime/engine/openvino/core.cc belongs to; None outside runtime/."""
    parts = path.split("/")
    if parts[0] != "runtime":
        return None
    folder = "/".join(p for p in parts[1:-1] if p not in ("include", "mconnect", "testing", "testdata"))
    while folder and folder not in LAYERS:
        folder = folder.rpartition("/")[0]
    return folder or None


def includes(path: str, text: str, public: dict[str, str]) -> Iterator[str]:
    """What the C++ file at `path` includes from a layer that is not below its own.

    `public` maps "mconnect/tensor.h" to the path of that header in the repository.
    """
    own = layer_of(path)
    if own is None:
        return
    for name in _INCLUDE.findall(text):
        other = layer_of(public.get(name, name))
        if other is not None and LAYERS.index(other) > LAYERS.index(own):
            yield f"{path}: runtime/{own} includes {name}, which belongs to the higher layer runtime/{other}"


def imports(path: str, text: str) -> Iterator[str]:
    """What the Python file at `path` imports against the rules."""
    if path.startswith("families/"):
        allowed, who = ("tools.builder",), "a family"
    elif path.startswith("tools/builder/") and not path.endswith("_test.py"):
        allowed, who = ("tools.builder", "runtime.python"), "the builder"
    else:
        return
    if path.startswith("families/") and path.endswith("_test.py"):
        allowed = (*allowed, "families." + path.split("/")[1])
    for node in ast.walk(ast.parse(text, path)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                yield f"{path}:{node.lineno}: relative import; name the package"
                continue
            module = node.module or ""
            names = [f"{module}.{alias.name}" for alias in node.names] if module == "tools" else [module]
        else:
            continue
        for name in names:
            ours = name.split(".")[0] in ("families", "tools", "runtime", "tests", "examples")
            if ours and not any(name == a or name.startswith(a + ".") for a in allowed):
                yield f"{path}:{node.lineno}: {who} imports {name}; allowed is {' and '.join(allowed)}"


def check(files: Sequence[str], read: Callable[[str], str]) -> list[str]:
    """Every breach among `files` (paths from the root of the repository)."""
    public = {p.split("/include/", 1)[1]: p for p in files if "/include/mconnect/" in p}
    breaches: list[str] = []
    for path in files:
        suffix = Path(path).suffix
        if suffix in (".cc", ".h", ".c"):
            breaches += includes(path, read(path), public)
        elif suffix == ".py":
            breaches += imports(path, read(path))
    return breaches
