"""Writes an example bundle for tests: `make_example small|large PATH`. The large one has members of several frames."""

import sys
from pathlib import Path

from tools.builder.bundle.format import FRAME
from tools.builder.bundle.testing import MEMBERS, example_manifest, pseudo_random
from tools.builder.bundle.writer import write_bundle

PLAN = "modules/encoder/tensorrt/example.plan"


def main(size: str, path: Path) -> None:
    members: dict[str, bytes | Path] = dict(MEMBERS)
    keys = {}
    if size == "large":
        members["weights/large.safetensors"] = pseudo_random(3 * FRAME + 777)
        members["weights/zero.safetensors"] = bytes(2 * FRAME - 512)
        members[PLAN], keys[PLAN] = pseudo_random(5000, seed=2), "b" * 64
    write_bundle(path, example_manifest(), members, build_keys=keys)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
