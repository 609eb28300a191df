"""`debug` prints which op departs first, for bundles and checkpoints, and exits with 1 then."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tools.builder.lowering.openvino.engine import opset
from tools.builder.lowering.openvino.ops import LOWERINGS
from tools.mconnect import main
from tools.mconnect.start import FAILED, OK
from tools.mconnect.testing import Shell

PROMPT = "the cat sat on the mat"


def _debug(shell: Shell, *args: str) -> int:
    return main.main(["debug", *args, "--family", str(shell.family), "--prompt", PROMPT])


@pytest.fixture(params=["encoder", "decoder"])
def shell(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A shell whose family has this module; the family is imported anew."""
    monkeypatch.delitem(sys.modules, "mconnect_family_toy", raising=False)
    monkeypatch.chdir(tmp_path)
    return Shell(tmp_path, request.param)


def test_a_right_engine_departs_nowhere(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    assert _debug(shell, "toy") == OK
    printed = capsys.readouterr().out
    assert "departs by more than 0.0001" in printed and "worst ops" in printed


def test_a_bundle_is_compared_as_it_was_built(
    shell: Shell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(e: Any, node: Any, a: Any, b: Any) -> Any:
        return opset.subtract(a, b)

    assert main.main(["build", "toy", "-o", "good.bundle", "--family", str(shell.family)]) == OK
    with monkeypatch.context() as patch:
        patch.setitem(LOWERINGS, "add", wrong)
        assert main.main(["build", "toy", "-o", "bad.bundle", "--family", str(shell.family)]) == OK
    capsys.readouterr()
    assert _debug(shell, "good.bundle", "--json") == OK
    assert json.loads(capsys.readouterr().out)["first"] is None
    assert _debug(shell, "bad.bundle", "--json") == FAILED
    first = json.loads(capsys.readouterr().out)["first"]
    assert (first["op"], first["scope"]) == ("add", "mix")


def test_a_wrong_op_is_named_in_the_table(
    shell: Shell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LOWERINGS, "add", lambda e, node, a, b: opset.subtract(a, b))
    assert _debug(shell, "toy") == FAILED
    printed = capsys.readouterr().out
    assert printed.startswith("The first op of ")
    header, row = printed.splitlines()[1:3]
    assert header.split() == ["op", "scope", "value", "shape", "max", "abs", "max", "rel"]
    assert row.split()[:2] == ["add", "mix"]
