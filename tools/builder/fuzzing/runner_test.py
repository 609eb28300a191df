"""What breaks a promise is found and can be made again; what keeps it is not."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.builder.fuzzing.runner import Limits, Target, damaged, main, run


def _target(read: Callable[[Path], None]) -> Target:
    return Target(lambda rng: rng.randbytes(8), read, (KeyError,), ".x")


def _raise(error: Exception) -> Callable[[Path], None]:
    def read(path: Path) -> None:
        raise error

    return read


def _slow(path: Path) -> None:
    began = time.process_time()
    while time.process_time() - began < 30:
        pass


def _greedy(path: Path) -> None:
    bytearray(1 << 31)


def test_a_readers_own_error_is_no_finding() -> None:
    outcome = run(_target(_raise(KeyError("a b"))), Limits(inputs=5), 1)
    assert (outcome.inputs, outcome.findings, list(outcome.kinds)) == (5, [], ["'a b'"])
    assert run(_target(lambda path: None), Limits(inputs=5), 1).kinds == {"": 5}


@pytest.mark.parametrize(
    ("read", "words"),
    [(_raise(ValueError("x")), "ValueError: x"), (_slow, "for one input"), (_greedy, "MemoryError")],
)
def test_what_breaks_a_promise_is_found(read: Callable[[Path], None], words: str) -> None:
    outcome = run(_target(read), Limits(inputs=1, input_seconds=0.2), 1)
    (finding,) = outcome.findings
    assert finding[0] == 0 and len(finding[1]) == 8 and words in finding[2]


def test_an_input_depends_on_seed_and_number_alone() -> None:
    def made(seed: int, first: int, inputs: int) -> list[bytes]:
        seen: list[bytes] = []
        run(_target(lambda path: seen.append(path.read_bytes())), Limits(inputs=inputs), seed, first)
        return seen

    assert made(1, 0, 4)[2:] == made(1, 2, 2) != made(2, 2, 2)


def test_damage_is_of_every_kind() -> None:
    rng, content = random.Random(3), bytes(100)
    sizes = {len(damaged(rng, content, 1)) for _ in range(500)}
    assert min(sizes) < 100 < max(sizes) and 100 in sizes
    assert damaged(rng, content, 0) == content
    assert damaged(rng, b"", 50) is not None


def test_the_program_keeps_findings_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = _target(_raise(ValueError("x")))
    assert main(broken, ["--inputs", "2", "--seed", "7", "--keep", str(tmp_path / "kept")], None) == 1
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == ["7-0.x", "7-1.x"]
    assert capsys.readouterr().out.endswith("2 inputs, 2 broke a promise\n")
    assert main(_target(lambda path: None), ["--inputs", "1"], None) == 0
    with pytest.raises(SystemExit):
        main(broken, ["--inputs", "x"], None)
