"""One type to a name, read from the sources of the runtime.

Two classes of one qualified name break C++'s one-definition rule: nothing warns, and in a build with shared libraries
the linker takes the members of one for those of the other.
"""

import re
from collections.abc import Callable, Iterator, Sequence

_OPENED = re.compile(r"^(?:inline )?namespace\s*([\w:]*)\s*\{")
_CLOSED = re.compile(r"^\}\s*//\s*namespace")
# Defined at the left margin: what is nested in a class, or a member such as `struct Model::Impl`, has its owner's name.
_TYPE = re.compile(r"^(?:class|struct|union|enum(?: class| struct)?)\s+(\w+)(?:\s+final)?\s*(?::[^:].*)?\{")


def types(text: str) -> Iterator[str]:
    """Qualified names of the types that a C++ file defines in named namespaces."""
    namespaces: list[str] = []
    for line in text.splitlines():
        if opened := _OPENED.match(line):
            namespaces.append(opened[1])
        elif _CLOSED.match(line):
            namespaces.pop()
        elif (defined := _TYPE.match(line)) and all(namespaces):
            yield "::".join([*namespaces, defined[1]])


def check(files: Sequence[str], read: Callable[[str], str]) -> list[str]:
    """Every name among the runtime's `files` that two of them give to a type; tests are programs of their own."""
    owners: dict[str, list[str]] = {}
    for path in files:
        if path.startswith("runtime/") and path.endswith((".cc", ".h")) and not path.endswith("_test.cc"):
            for name in types(read(path)):
                owners.setdefault(name, []).append(path)
    return [f"{paths[1]}: {name} is also defined in {paths[0]}" for name, paths in owners.items() if len(paths) > 1]
