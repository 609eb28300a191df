"""Measures contenders against each other fairly: each in a process of its own, one round of each in turn.

Interleaving spreads what else the machine does over all of them; processes of their own keep one library's threads and
memory from another's. What counts is the median over the rounds of the ratio within one round.
"""

import multiprocessing
import statistics
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

PAUSE = 0.05  # seconds between two rounds

# Does the work once and returns its measures, such as {"seconds": 0.5} or {"prefill": 900.0, "decode": 80.0}.
Round = Callable[[], dict[str, float]]


@dataclass(frozen=True)
class Contender:
    """`make(*arguments)`, which another process imports, loads what it needs and returns the round."""

    name: str
    make: Callable[..., Round]
    arguments: tuple[Any, ...] = ()


class ContenderFailed(Exception):
    """A contender raised; the text has its name and traceback."""


def _serve(contender: Contender, pipe: Connection) -> None:
    try:
        run = contender.make(*contender.arguments)
        pipe.send(None)
        while pipe.recv():
            pipe.send(run())
    except EOFError:
        pass
    except Exception:
        pipe.send(ContenderFailed(f"{contender.name}: {traceback.format_exc()}"))


def interleave(contenders: Sequence[Contender], rounds: int) -> dict[str, list[dict[str, float]]]:
    """The measures of each contender, by name, in the order of the rounds.

    Raises:
        ContenderFailed: one raised while loading or running.
    """
    context = multiprocessing.get_context("spawn")
    pipes: dict[str, Connection] = {}
    processes = []
    try:
        for contender in contenders:  # one after the other: loading is heavy
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(contender, theirs), daemon=True)
            process.start()
            theirs.close()
            processes.append(process)
            pipes[contender.name] = ours
            _receive(contender.name, ours)
        measures: dict[str, list[dict[str, float]]] = {c.name: [] for c in contenders}
        turns = list(pipes.items())
        for r in range(rounds):
            # Each follows each in turn, after a pause: threads that spin after their work cost the next one a core.
            for name, pipe in turns[r % len(turns) :] + turns[: r % len(turns)]:
                time.sleep(PAUSE)
                pipe.send(True)
                measures[name].append(_receive(name, pipe))
        return measures
    finally:
        for pipe in pipes.values():
            pipe.close()  # ends the process
        for process in processes:
            process.join(timeout=10)


def _receive(name: str, pipe: Connection) -> Any:
    try:
        answer = pipe.recv()
    except EOFError:
        raise ContenderFailed(f"{name}: its process ended") from None
    if isinstance(answer, ContenderFailed):
        raise answer
    return answer


def typical(measures: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The median of each measure."""
    return {key: statistics.median(m[key] for m in measures) for key in measures[0]}


def ratios(results: Mapping[str, Sequence[Mapping[str, float]]], subject: str) -> dict[str, dict[str, float]]:
    """How many times as fast as each other contender `subject` is, by contender and measure.

    The median over the rounds of the ratio in one round: a machine that slows down slows both of a round.
    """

    def speedup(key: str, ours: float, theirs: float) -> float:
        return theirs / ours if key == "seconds" else ours / theirs

    ours = results[subject]
    return {
        name: {
            key: statistics.median(speedup(key, o[key], t[key]) for o, t in zip(ours, theirs, strict=True))
            for key in theirs[0]
        }
        for name, theirs in results.items()
        if name != subject
    }
