import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tools.builder.checkpoint import Checkpoint
from tools.builder.config import ConfigError
from tools.builder.resolve import Family, FamilyError, index, resolve
from tools.builder.testing.safetensors_files import checkpoint_folder, zeros
from tools.builder.weights import WeightError

SOURCE = """
from dataclasses import dataclass
from tools.builder import ops

UNNEEDED = ("*.extra",)
PREFIXES = ("model.",)

@dataclass(frozen=True)
class Config:
    size: int = 4

def encoder(g, c, w):
    g.output("y", ops.linear(g.input("x", "f32", ("batch", c.size)), w["w"]))
"""


def family(root: Path, name: str, /, **changes: Any) -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    body: dict[str, Any] = {
        "name": name,
        "source": f"{name}.py",
        "architectures": [f"{name.capitalize()}ForCausalLM"],
        "model_types": [name],
        "tasks": {"some-task": ["encoder"]},
    }
    (folder / "family.json").write_text(json.dumps(body | changes))
    (folder / f"{name}.py").write_text(SOURCE)
    return folder / "family.json"


@pytest.fixture
def families(tmp_path: Path) -> list[Family]:
    for name in ("alpha", "beta"):
        family(tmp_path, name)
    (tmp_path / "beta" / "beta.py").write_text("raise RuntimeError('this family must not be imported')")
    return index([tmp_path])


def test_AnArchitectureNamesItsFamily(families: list[Family]) -> None:
    assert resolve({"architectures": ["BetaForCausalLM"], "model_type": "alpha"}, families).name == "beta"


def test_TheModelTypeDecidesWhereNoArchitectureIsStated(families: list[Family]) -> None:
    assert resolve({"model_type": "alpha"}, families).name == "alpha"
    assert resolve({"architectures": [], "model_type": "alpha"}, families).name == "alpha"


def test_TheModelTypeDoesNotOverruleAnUnknownArchitecture(families: list[Family]) -> None:
    with pytest.raises(FamilyError, match="architecture AlphaForTokenClassification"):
        resolve({"architectures": ["AlphaForTokenClassification"], "model_type": "alpha"}, families)


def test_AnUnsupportedOneListsNearMissesAndAllThatIsSupported(families: list[Family]) -> None:
    with pytest.raises(
        FamilyError, match=r"Alfa.*Near misses: alpha\. Supported: alpha, beta|Near misses: AlphaForCausalLM"
    ):
        resolve({"architectures": ["AlfaForCausalLM"]}, families)
    with pytest.raises(FamilyError, match=r"model_type alph. Near misses: alpha. Supported: alpha, beta."):
        resolve({"model_type": "alph"}, families)
    with pytest.raises(FamilyError) as caught:
        resolve({"model_type": "zzz"}, families)
    assert "Near misses" not in str(caught.value)


@pytest.mark.parametrize("raw", [{}, {"architectures": None}, {"model_type": 3}])
def test_AConfigThatStatesNothingIsAnError(families: list[Family], raw: dict[str, Any]) -> None:
    with pytest.raises(FamilyError, match="neither architectures nor model_type"):
        resolve(raw, families)


def test_ArchitecturesMustBeAList(families: list[Family]) -> None:
    with pytest.raises(FamilyError, match="architectures is 'AlphaForCausalLM'"):
        resolve({"architectures": "AlphaForCausalLM"}, families)


def test_OnlyTheChosenFamilyIsImported(families: list[Family], tmp_path: Path) -> None:
    checkpoint = Checkpoint.open(
        checkpoint_folder(tmp_path / "ck", {"model_type": "alpha"}, zeros(w=(2, 4), a__extra=(1,)))
    )
    graphs = resolve(checkpoint.config, families).record(checkpoint)
    assert list(graphs) == ["encoder"] and graphs["encoder"].outputs[0].value.shape[-1] == 2
    assert "mconnect_family_beta" not in sys.modules


def test_RecordingAccountsForEveryTensor(families: list[Family], tmp_path: Path) -> None:
    checkpoint = Checkpoint.open(
        checkpoint_folder(tmp_path / "ck", {"model_type": "alpha"}, zeros(model__w=(2, 4), b=(1,)))
    )
    with pytest.raises(WeightError, match="1 tensors of .* not used: b"):
        families[0].record(checkpoint)


def test_RecordingReadsTheConfigStrictly(families: list[Family], tmp_path: Path) -> None:
    checkpoint = Checkpoint.open(checkpoint_folder(tmp_path / "ck", {"size": "4"}, zeros(w=(2, 4))))
    with pytest.raises(ConfigError, match="size is '4'"):
        families[0].record(checkpoint)


@pytest.mark.parametrize("failure", ["c.size // 0", "2.0 ** 10000", "[0] * (1 << 60)"])
def test_SizesThatNoArithmeticCanServeAreTheConfigsFault(tmp_path: Path, failure: str) -> None:
    path = family(tmp_path, "other")
    (tmp_path / "other" / "other.py").write_text(SOURCE + f"    {failure}\n")
    checkpoint = Checkpoint.open(checkpoint_folder(tmp_path / "c", {"size": 4}, zeros(w=(3, 4))))
    sys.modules.pop("mconnect_family_other", None)
    try:
        with pytest.raises(ConfigError, match="config.json: a size in it is impossible for other: "):
            Family.open(path).record(checkpoint)
    finally:
        sys.modules.pop("mconnect_family_other", None)


def test_AnUnknownTaskListsTheTasks(families: list[Family], tmp_path: Path) -> None:
    checkpoint = Checkpoint.open(checkpoint_folder(tmp_path / "ck", {}, zeros(w=(2, 4))))
    with pytest.raises(FamilyError, match="family alpha has no task 'other'; it has some-task"):
        families[0].record(checkpoint, "other")


@pytest.mark.parametrize(
    "claim", [{"architectures": ["AlphaForCausalLM"]}, {"model_types": ["alpha"]}, {"name": "alpha"}]
)
def test_TwoFamiliesForOneNameAreAnError(tmp_path: Path, claim: dict[str, Any]) -> None:
    family(tmp_path / "ours", "alpha")
    family(tmp_path / "theirs", "gamma", **claim)
    with pytest.raises(FamilyError, match="is claimed by both"):
        index([tmp_path / "ours", tmp_path / "theirs"])


@pytest.mark.parametrize("change", [{"tasks": []}, {"more": 1}, {"name": 5}])
def test_RefusesAMalformedFamilyJson(tmp_path: Path, change: dict[str, Any]) -> None:
    path = family(tmp_path, "alpha", **change)
    with pytest.raises(FamilyError, match="family.json"):
        Family.open(path)


def test_AFamilyWithoutItsSourceIsAnError(tmp_path: Path) -> None:
    path = family(tmp_path, "delta", source="elsewhere.py")
    with pytest.raises(FamilyError, match="elsewhere.py is not a Python file"):
        Family.open(path).load()


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"num_hidden_layers": 0}, "num_hidden_layers is 0; it must be an integer from 1"),
        ({"vocab_size": 9}, r"vocab_size is 9, and axis 0 of the tensor embed_tokens.weight \[5, 4\] is 5"),
        ({}, r"hidden_size is 8, and axis 1 of the tensor embed_tokens.weight"),
    ],
)
def test_SizesAreCheckedBeforeTheFamilySeesThem(tmp_path: Path, config: dict[str, Any], reason: str) -> None:
    path = family(tmp_path, "delta")
    source = SOURCE.replace("size: int = 4", "hidden_size: int | None = 8").replace("c.size", "1 / 0")
    path.with_name("delta.py").write_text(source)
    folder = checkpoint_folder(tmp_path / "model", config, zeros(embed_tokens__weight=(5, 4)))
    with pytest.raises(ConfigError, match=reason):  # in the last case of the family's own default
        Family.open(path).record(Checkpoint.open(folder))
