"""The limit of decoding: the tokens a second if reading the weights once for each were all the work.

A round measures how fast the memory is read just then, by as many threads as the contenders have, and gives "decode":
that speed over the bytes of weights that one token needs. `mconnect / memory` is the fraction of it that is reached.
"""

import json
import math
import threading
import time
from pathlib import Path
from typing import Any

from tools.bench.embedding import unpack
from tools.bench.rounds import Round

BLOCK = 512 << 20
"""Bytes that a round reads: many times a last-level cache."""

ITEM_BYTES = {"F64": 8, "I64": 8, "U64": 8, "F32": 4, "I32": 4, "F16": 2, "BF16": 2, "I8": 1, "U8": 1, "BOOL": 1}


def bytes_per_token(graph: dict[str, Any], tensors: dict[str, Any]) -> int:
    """Bytes of weights that a token reads: all of them but tables of which it takes a row.

    `graph` is a graph.json, `tensors` the header of its safetensors file. A mixture counts all of its experts.
    """
    names = {weight["id"]: weight["name"] for weight in graph["weights"]}
    looked_up = ("embedding", "rope")
    read = {names[i] for node in graph["nodes"] if node["op"] not in looked_up for i in node["inputs"] if i in names}
    return sum(ITEM_BYTES[tensors[name]["dtype"]] * math.prod(tensors[name]["shape"]) for name in read)


def _header(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        header: dict[str, Any] = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return header


def memory(bundle: Path, threads: int) -> Round:
    import numpy as np

    folder = unpack(bundle)
    graph = json.loads((folder / "modules/decoder/graph.json").read_text("utf-8"))
    needed = bytes_per_token(graph, _header(next((folder / "weights").iterdir())))
    parts = np.array_split(np.ones(BLOCK // 4, np.float32), threads)

    def run() -> dict[str, float]:
        readers = [threading.Thread(target=np.maximum.reduce, args=(part,)) for part in parts]
        start = time.perf_counter()
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        return {"decode": BLOCK / (time.perf_counter() - start) / needed}

    run()  # the pages are there from now on
    return run
