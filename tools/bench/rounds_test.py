"""Interleaving, failures and ratios."""

import time

import pytest

from tools.bench.rounds import Contender, ContenderFailed, Round, interleave, ratios, typical


def clock(log: str, seconds: float) -> Round:
    """A round that notes when it ran."""
    count = 0

    def run() -> dict[str, float]:
        nonlocal count
        count += 1
        with open(log, "a", encoding="utf-8") as file:
            file.write(f"{seconds} {count}\n")
        return {"seconds": seconds + count, "at": time.monotonic()}

    return run


def fails_to_load() -> Round:
    raise ValueError("no such model")


def fails_to_run() -> Round:
    def run() -> dict[str, float]:
        raise RuntimeError("out of fuel")

    return run


def test_rounds_take_turns_and_each_follows_each(tmp_path):
    log = str(tmp_path / "log")
    measures = interleave([Contender("a", clock, (log, 1.0)), Contender("b", clock, (log, 2.0))], rounds=3)
    assert (tmp_path / "log").read_text().splitlines() == ["1.0 1", "2.0 1", "2.0 2", "1.0 2", "1.0 3", "2.0 3"]
    assert [m["seconds"] for m in measures["b"]] == [3.0, 4.0, 5.0]


@pytest.mark.parametrize(("make", "words"), [(fails_to_load, "no such model"), (fails_to_run, "out of fuel")])
def test_a_failure_names_its_contender(make, words):
    with pytest.raises(ContenderFailed, match=f"(?s)loser: .*{words}"):
        interleave([Contender("loser", make)], rounds=1)


def test_the_median_is_typical():
    rounds = [{"seconds": 2.0, "decode": 5.0}, {"seconds": 1.0, "decode": 4.0}, {"seconds": 9.0, "decode": 4.5}]
    assert typical(rounds) == {"seconds": 2.0, "decode": 4.5}


def test_ratios_say_how_many_times_as_fast():
    rounds = {"us": [{"seconds": 1.0, "decode": 30.0}], "them": [{"seconds": 2.0, "decode": 10.0}]}
    assert ratios(rounds, "us") == {"them": {"seconds": 2.0, "decode": 3.0}}


def test_a_round_that_slows_both_changes_no_ratio():
    rounds = {"us": [{"seconds": s} for s in (1.0, 7.0, 1.0)], "them": [{"seconds": s} for s in (2.0, 14.0, 2.0)]}
    assert ratios(rounds, "us") == {"them": {"seconds": 2.0}}
