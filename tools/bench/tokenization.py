"""Tokenization: one text to token ids, as a whole and line by line, by Model Connect and by the tokenizers library.

Each function loads a tokenizer.json and returns a round, which gives "whole" and "lines": megabytes of text a second of
processor time, the best of a few runs, on one thread. What else the machine does counts little. Imports are inside: a
process loads only its own contender's library.
"""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tools.bench.rounds import Round

RUNS = 3


def _speeds(text: str, encode: Callable[[str], Any]) -> Round:
    """`encode` is called for the whole text, and for each line."""
    lines = text.split("\n")
    megabytes = len(text.encode()) / 1e6

    def seconds(work: Callable[[], object]) -> float:
        best = float("inf")
        for _ in range(RUNS):
            start = time.process_time()
            work()
            best = min(best, time.process_time() - start)
        return best

    def each_line() -> None:
        for line in lines:
            encode(line)

    def run() -> dict[str, float]:
        return {"whole": megabytes / seconds(lambda: encode(text)), "lines": megabytes / seconds(each_line)}

    return run


def mconnect(tokenizer: Path, text: Path) -> Round:
    """The Python module: ids."""
    import mconnect

    ours = mconnect.Tokenizer.from_json(tokenizer.read_bytes())
    return _speeds(text.read_text(encoding="utf-8"), ours.encode)


def mconnect_offsets(program: str, tokenizer: Path, text: Path) -> Round:
    """The C++ library, by runtime/text/tokenizer_benchmark.cc: ids, masks and offsets."""

    def run() -> dict[str, float]:
        output = subprocess.run([program, tokenizer, text], check=True, capture_output=True, text=True).stdout
        with_offsets = next(line for line in output.splitlines() if line.startswith("with offsets:"))
        numbers = with_offsets.removeprefix("with offsets:").split()  # "50.1 MB/s whole, 49.2 MB/s by line, ..."
        return {"whole": float(numbers[0]), "lines": float(numbers[3])}

    return run


def tokenizers(tokenizer: Path, text: Path) -> Round:
    """The reference, without truncation and padding, as it is most often called: it has offsets, too."""
    os.environ |= {"TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1"}
    from tokenizers import Tokenizer

    reference = Tokenizer.from_file(str(tokenizer))
    reference.no_truncation()
    reference.no_padding()
    return _speeds(text.read_text(encoding="utf-8"), lambda part: reference.encode(part).ids)


def tokenizers_fast(tokenizer: Path, text: Path) -> Round:
    """The reference without offsets."""
    os.environ |= {"TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1"}
    from tokenizers import Tokenizer

    reference = Tokenizer.from_file(str(tokenizer))
    reference.no_truncation()
    reference.no_padding()
    return _speeds(text.read_text(encoding="utf-8"), lambda part: reference.encode_batch_fast([part])[0].ids)
