from pathlib import Path

import numpy as np
import pytest

from tools.builder import ops
from tools.builder.checkpoint import Checkpoint, CheckpointError
from tools.builder.graph import Graph
from tools.builder.testing.safetensors_files import Array, checkpoint_folder, zeros
from tools.builder.weights import Ledger, WeightError, Weights, arrays


def opened(folder: Path, tensors: dict[str, Array], prefixes: tuple[str, ...] = ()) -> tuple[Graph, Ledger, Weights]:
    checkpoint = Checkpoint.open(checkpoint_folder(folder, {}, tensors))
    graph, ledger = Graph("g"), Ledger(checkpoint, prefixes)
    return graph, ledger, Weights(graph, ledger)


def test_ScopesNameTensors(tmp_path: Path) -> None:
    g, ledger, w = opened(tmp_path, zeros(layers__0__q__weight=(3, 2)))
    layer = w["layers.0"]
    x = ops.linear(g.input("x", "f32", ("batch", 2)), layer["q.weight"])
    assert x.shape[-1] == 3
    assert [p.name for p in g.weights] == ["layers.0.q.weight"]
    assert "q.weight" in layer and "q.bias" not in layer
    ledger.check()


def test_AMissingTensorIsNamedWithNearMisses(tmp_path: Path) -> None:
    _, _, w = opened(tmp_path, zeros(layers__0__q_proj__weight=(1,)))
    with pytest.raises(WeightError, match=r"has no tensor layers.0.q.weight .*layers.0.q_proj.weight"):
        _ = w["layers.0.q.weight"].value


def test_UnusedTensorsAreListed(tmp_path: Path) -> None:
    _, ledger, w = opened(tmp_path, zeros(a=(1,), b=(1,), c__position_ids=(1,)))
    _ = w["a"].value
    with pytest.raises(WeightError, match="2 tensors of .* are not used: b, c.position_ids"):
        ledger.check()
    with pytest.raises(WeightError, match="1 tensors of .* are not used: b"):
        ledger.check(["*.position_ids"])
    ledger.check(["*.position_ids", "b"])


def test_APrefixMayStandBeforeEveryName(tmp_path: Path) -> None:
    g, ledger, w = opened(tmp_path, zeros(bert__a=(1,)), ("bert.",))
    assert w["a"].value is w["a"].value
    assert [p.name for p in g.weights] == ["bert.a"]
    ledger.check()


def test_AnIntegerTensorIsNoWeight(tmp_path: Path) -> None:
    _, _, w = opened(tmp_path, {"ids": np.zeros(2, np.int64)})
    with pytest.raises(WeightError, match="tensor ids is I64"):
        _ = w["ids"].value


EMBED, HEAD = "embed.weight", "head.weight"
ONE, OTHER = np.ones((2, 2), np.float32), np.zeros((2, 2), np.float32)


@pytest.mark.parametrize("stated", [True, False, None])
@pytest.mark.parametrize(
    "tensors, want",
    [
        ({EMBED: ONE, HEAD: ONE}, (EMBED, EMBED)),
        ({EMBED: ONE, HEAD: OTHER}, (EMBED, HEAD)),
    ],
)
def test_WhereBothTensorsExistTheyDecide(
    tmp_path: Path, tensors: dict[str, Array], want: tuple[str, str], stated: bool | None
) -> None:
    g, ledger, w = opened(tmp_path, tensors)
    embedding, head = w.tied(EMBED, HEAD, stated)
    assert (embedding.value is head.value) == (want[0] == want[1])
    assert [p.name for p in g.weights] == sorted(set(want))
    ledger.check()


@pytest.mark.parametrize("stated", [True, None])
@pytest.mark.parametrize("present", [EMBED, HEAD])
def test_WhereOneIsAbsentTheyAreOne(tmp_path: Path, present: str, stated: bool | None) -> None:
    g, ledger, w = opened(tmp_path, {present: ONE})
    embedding, head = w.tied(EMBED, HEAD, stated)
    assert embedding.value is head.value
    assert [p.name for p in g.weights] == [present]
    ledger.check()


@pytest.mark.parametrize(
    "tensors, stated, lost", [({EMBED: ONE}, False, "head.weight"), ({"x": ONE}, True, "embed.weight, head.weight")]
)
def test_AbsentThoughStatedApartIsAnError(tmp_path: Path, tensors: dict[str, Array], stated: bool, lost: str) -> None:
    _, _, w = opened(tmp_path, tensors)
    with pytest.raises(WeightError, match=f"has no tensor {lost}, and tie_word_embeddings is {stated}"):
        w.tied(EMBED, HEAD, stated)


def test_ArraysGivesEveryWeightInF32(tmp_path: Path) -> None:
    g, ledger, w = opened(tmp_path, {"a": np.ones(2, np.float16)})
    _ = w["a"].value
    g.scalar(0.5)
    got = arrays(g, ledger.checkpoint)
    assert {name: (array.dtype.name, array.tolist()) for name, array in got.items()} == {
        "a": ("float32", [1, 1]),
        "constant.scalar.0.5": ("float32", 0.5),
    }


def test_PartsOfOneShapeAreStoredAsOneTensor(tmp_path: Path) -> None:
    tensors = {f"m.{i}.w.weight": np.full((2, 3), i, np.float32) for i in range(4)}
    g, ledger, w = opened(tmp_path, tensors)
    for _ in range(2):  # a second module finds the same
        assert str(w["m"].stacked("w", [f"{i}.w.weight" for i in range(4)]).value.type) == "f32[4,2,3]"
    ledger.check()
    np.testing.assert_array_equal(arrays(g, ledger.checkpoint)["m.w"], np.stack(list(tensors.values())))


def test_PartsOfUnequalShapesAreRefused(tmp_path: Path) -> None:
    _, _, w = opened(tmp_path, zeros(a=(2, 3), b=(3, 2)))
    with pytest.raises(CheckpointError, match=r"a is F32\[2, 3\] and b F32\[3, 2\]; they .* must be alike"):
        w.stacked("ab", ["a", "b"])


def test_APartOfATensorIsStoredUnderANameOfItsOwn(tmp_path: Path) -> None:
    whole = np.arange(24, dtype=np.float32).reshape(2, 4, 3)
    g, ledger, w = opened(tmp_path, {"both": whole})
    assert [str(w.part(name, "both", 1, i, 2).value.type) for i, name in enumerate(("gate", "up"))] == [
        "f32[2,2,3]"
    ] * 2
    found = arrays(g, ledger.checkpoint)
    np.testing.assert_array_equal(found["gate"], whole[:, :2])
    np.testing.assert_array_equal(found["up"], whole[:, 2:])
    ledger.check()
    for axis, parts in ((2, 2), (3, 1)):
        with pytest.raises(WeightError, match=rf"both is \[2, 4, 3\]; axis {axis} must divide into {parts}"):
            w.part("x", "both", axis, 0, parts)
