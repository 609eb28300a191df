"""What the gate counts as passed, and what the proof of affected-only rebuilds lets pass."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


def load(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


summary = load(".ci/summary.py").summary
check = load("tests/affected/check.py")


def configured(label: str, **more: Any) -> str:
    return json.dumps({"id": {"targetConfigured": {"label": label}}, "configured": {"targetKind": "x rule", **more}})


def summarized(label: str, status: str) -> str:
    return json.dumps({"id": {"testSummary": {"label": label}}, "testSummary": {"overallStatus": status}})


def test_counts_each_test_once() -> None:
    lines = [configured("//a", testSize="SMALL"), configured("//b", testSize="SMALL"), configured("//library")]
    assert summary([*lines, summarized("//a", "PASSED"), summarized("//b", "FAILED")]) == (1, 1)


@pytest.mark.parametrize("status", ["FAILED", "TIMEOUT", "FLAKY", "NO_STATUS", "INCOMPLETE"])
def test_only_passed_is_passed(status: str) -> None:
    assert summary([summarized("//a", status)]) == (0, 1)


def test_a_test_that_was_never_built_is_a_failure() -> None:
    assert summary([configured("//a", testSize="SMALL")]) == (0, 1)


def spawn(mnemonic: str, *outputs: str) -> str:
    return json.dumps({"mnemonic": mnemonic, "listedOutputs": outputs}, indent=2) + "\n"


BUNDLE = spawn("ModelBundle", "bazel-out/k8-opt/bin/families/bert/bundle.bundle")


def test_own_actions_pass() -> None:
    own, foreign = check.verdict(BUNDLE + spawn("PyCompile", "bazel-out/k8-opt/bin/families/bert/x.pyc"), "bert")
    assert own == {"ModelBundle": 1, "PyCompile": 1}
    assert not foreign


def test_an_action_of_another_family_is_named() -> None:
    _, foreign = check.verdict(BUNDLE + BUNDLE.replace("bert", "gpt2"), "bert")
    assert foreign == ["ModelBundle -> bazel-out/k8-opt/bin/families/gpt2/bundle.bundle"]


def test_an_action_outside_families_is_named() -> None:
    _, foreign = check.verdict(spawn("CppCompile", "bazel-out/k8-opt/bin/runtime/base/_objs/file.o"), "bert")
    assert len(foreign) == 1


def test_a_family_whose_name_begins_alike_is_another() -> None:
    _, foreign = check.verdict(BUNDLE.replace("bert", "bert2"), "bert")
    assert len(foreign) == 1


def test_a_rebuild_that_ran_nothing_fails(tmp_path: Path) -> None:
    log = tmp_path / "log.json"
    log.write_text("")
    assert check.main(str(log), "bert") == 1
    log.write_text(BUNDLE)
    assert check.main(str(log), "bert") == 0
