import math
from typing import Any

import numpy as np
import pytest

from tools.builder.config import ConfigError
from tools.builder.frequencies import cos_sin
from tools.builder.graph import Graph
from tools.builder.rope import LayerRopes, Rope

LLAMA3 = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}

YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}
LONG = {
    "rope_type": "longrope",
    "short_factor": [1.0, 2.0],
    "long_factor": [3.0, 4.0],
    "original_max_position_embeddings": 64,
}


@pytest.mark.parametrize(
    "raw, want",
    [
        ({}, Rope()),
        ({"rope_theta": 1000000}, Rope(1e6)),
        ({"rope_theta": None, "rope_scaling": None}, Rope()),
        ({"rope_theta": 5e5, "rope_scaling": None, "rope_parameters": None}, Rope(5e5)),
        ({"rope_theta": 2.0, "rope_scaling": {"type": "linear", "factor": 4}}, Rope(2.0, "linear", 4.0)),
        (
            {"rope_theta": 2.0, "rope_scaling": {"rope_type": "linear", "type": "linear", "factor": 4}},
            Rope(2.0, "linear", 4.0),
        ),
        ({"rope_parameters": {"rope_type": "default", "rope_theta": 3.0}}, Rope(3.0)),
        ({"rope_parameters": {"rope_theta": 3.0}}, Rope(3.0)),
        ({"rope_theta": 9.0, "rope_parameters": {"rope_type": "default", "rope_theta": 3.0}}, Rope(3.0)),
        ({"rope_theta": 5e5, "rope_scaling": {"rope_type": "llama3", **LLAMA3}}, Rope(5e5, "llama3", 8.0)),
        ({"rope_parameters": {"rope_type": "llama3", "rope_theta": 5e5, **LLAMA3}}, Rope(5e5, "llama3", 8.0)),
        ({"partial_rotary_factor": 1.0}, Rope()),
        ({"rope_scaling": {"type": "dynamic", "factor": 2.0}}, Rope(kind="dynamic", factor=2.0)),
        ({"rope_scaling": {"type": "linear", "factor": 2.0, "mscale": None}}, Rope(kind="linear", factor=2.0)),
    ],
)
def test_ReadsEveryDialect(raw: dict[str, Any], want: Rope) -> None:
    assert Rope.read(raw) == want


def test_TheOriginalContextDefaultsToTheWholeOne() -> None:
    scaling = {k: v for k, v in LLAMA3.items() if k != "original_max_position_embeddings"} | {"rope_type": "llama3"}
    assert Rope.read({"rope_scaling": scaling, "max_position_embeddings": 77}).original_max_position_embeddings == 77


@pytest.mark.parametrize(
    "raw, reason",
    [
        (
            {"rope_scaling": {"type": "su"}},
            "rope_scaling.rope_type is 'su'; supported are default, linear, dynamic, llama3, yarn, longrope",
        ),
        ({"rope_scaling": {"type": ["linear"]}}, "rope_scaling.rope_type"),
        ({"rope_scaling": "linear"}, "rope_scaling is 'linear'; it must be an object"),
        ({"rope_scaling": {"type": "linear"}}, "rope_scaling.factor is None"),
        ({"rope_scaling": {"type": "linear", "factor": 0}}, "rope_scaling.factor is 0"),
        ({"rope_scaling": {"type": "linear", "factor": float("nan")}}, "rope_scaling.factor is nan"),
        (
            {"rope_scaling": {"type": "linear", "rope_type": "default", "factor": 2}},
            "rope_type is 'default' and .*type 'linear'",
        ),
        ({"rope_scaling": {"type": "default", "mrope_section": [1]}}, "rope_scaling.mrope_section has no meaning"),
        ({"rope_parameters": {"full_attention": {"rope_theta": 1}}}, "rope_parameters.full_attention"),
        ({"rope_parameters": {"rope_theta": -1}}, "rope_theta is -1"),
        ({"rope_theta": 1e308}, "rope_theta is 1e[+]308; it may be up to 1e[+]30"),
        (
            {"rope_scaling": {"type": "linear", "factor": 2}, "rope_parameters": {"rope_theta": 2}},
            "both given and differ",
        ),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor is 0.5"),
        ({"rope_parameters": {"partial_rotary_factor": 0.25}}, "partial_rotary_factor is 0.25"),
        ({"rope_scaling": {"rope_type": "llama3", **LLAMA3, "high_freq_factor": 1}}, "high_freq_factor must exceed"),
        ({"rope_scaling": {"type": "yarn"}}, "rope_scaling.factor is None"),
        ({"rope_scaling": {"type": "yarn", "factor": 4}}, "original_max_position_embeddings is None"),
        ({"rope_scaling": {**YARN, "truncate": 1}}, "rope_scaling.truncate is 1; it must be true or false"),
        ({"rope_scaling": {**YARN, "mscale": "x"}}, "rope_scaling.mscale is 'x'"),
        (
            {"rope_scaling": YARN, "original_max_position_embeddings": 8},
            "original_max_position_embeddings is 64 and original_max_position_embeddings 8",
        ),
        ({"rope_scaling": {**LONG, "short_factor": 2.0}}, "short_factor is 2.0; it must be a list of numbers"),
        ({"rope_scaling": {**LONG, "long_factor": [1, -1]}}, r"long_factor\[1\] is -1"),
        ({"rope_scaling": LONG}, "max_position_embeddings is None"),
        ({"rope_scaling": {**LONG, "original_max_position_embeddings": 1}}, "is 1.0; it must be 2 or more"),
    ],
)
def test_WhatItCannotInterpretIsNamed(raw: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        Rope.read(raw)


def test_FrequenciesFallFromOne() -> None:
    f = Rope(10000.0).frequencies(8)
    np.testing.assert_allclose(f, [1, 0.1, 0.01, 0.001], rtol=1e-6)
    np.testing.assert_allclose(Rope(10000.0, "linear", 4.0).frequencies(8), f / 4, rtol=1e-6)


def test_Llama3KeepsFastSlowsSlowAndPassesBetween() -> None:
    plain, scaled = Rope(500000.0).frequencies(128), Rope(500000.0, "llama3", 8.0).frequencies(128)
    ratio = plain / scaled
    wavelengths = 2 * math.pi / plain
    np.testing.assert_allclose(ratio[wavelengths < 8192 / 4], 1)
    np.testing.assert_allclose(ratio[wavelengths > 8192], 8)
    between = ratio[(wavelengths >= 8192 / 4) & (wavelengths <= 8192)]
    assert len(between) and (np.diff(between) > 0).all() and (between >= 1).all() and (between <= 8).all()


def test_CosAndSinAreExactToTheLastBitsOfF64() -> None:
    angles = np.concatenate(
        [np.linspace(0, 20, 4001), np.linspace(0, 2.0**24, 4001), np.arange(0, 100) * (math.pi / 2)]
    )
    cos, sin = cos_sin(angles)
    assert np.abs(cos - [math.cos(a) for a in angles]).max() < 1e-15
    assert np.abs(sin - [math.sin(a) for a in angles]).max() < 1e-15


def test_TheTableHasARowForEachPosition() -> None:
    g = Graph("g")
    cos, sin = Rope(100.0).table(g, 4, 6)
    assert cos.shape == sin.shape == (6, 2)
    angles = np.arange(6)[:, None] * np.array([1.0, 0.1])
    for name, want in (("cos", np.cos(angles)), ("sin", np.sin(angles))):
        (table,) = [array for key, array in g.constants.items() if key.startswith(f"constant.rope.{name}.")]
        np.testing.assert_allclose(table, want, atol=1e-6)
        assert table.dtype == np.float32


@pytest.mark.parametrize(("head_dim", "positions"), [(128, 10**13), (10**12, 256), (128, 0), (128, -1)])
def test_ATableOfAnImpossibleSizeIsRefusedBeforeItIsMade(head_dim: int, positions: int) -> None:
    with pytest.raises(ConfigError, match=f"max_position_embeddings {positions} and head_dim {head_dim} make"):
        Rope().table(Graph("g"), head_dim, positions)


def test_AnOddHeadCannotBeRotated() -> None:
    with pytest.raises(ConfigError, match="head_dim is 5"):
        Rope().table(Graph("g"), 5, 1)


def test_TheSamePositionsInTwoKindsOfTablesDoNotCollide() -> None:
    g = Graph("g")
    tables = [Rope(theta).table(g, 4, 6) for theta in (100.0, 10.0, 100.0)]
    assert tables[0] == tables[2] and tables[0] != tables[1] and len(g.constants) == 4


def test_YarnScalesCosAndSinUnlessConfigSays() -> None:
    assert Rope.read({"rope_scaling": YARN}).attention_scale == pytest.approx(0.1 * math.log(4) + 1)
    assert Rope.read({"rope_scaling": {**YARN, "attention_factor": 1.5}}).attention_scale == 1.5
    deepseek = Rope.read({"rope_scaling": {**YARN, "mscale": 1.0, "mscale_all_dim": 0.5}})
    assert deepseek.attention_scale == pytest.approx((0.1 * math.log(4) + 1) / (0.05 * math.log(4) + 1))


def test_LongropeHasATableOfShortTextsBesideThatOfLongOnes() -> None:
    rope = Rope.read({"rope_scaling": LONG, "max_position_embeddings": 256})
    assert rope.attention_scale == pytest.approx(math.sqrt(1 + math.log(4) / math.log(64)))
    table = rope.table(Graph("g"), 4, 256)
    assert [value.shape for value in table] == [(256, 2), (256, 2), (64, 2), (64, 2)]
    with pytest.raises(ConfigError, match="long_factor has 2 numbers; 8 rotated dimensions need 4"):
        rope.table(Graph("g"), 8, 256)


def test_OnlyArchitecturesThatRotateAPartReadOne() -> None:
    rope = Rope.read({"partial_rotary_factor": 0.5}, partial=True)
    assert rope.table(Graph("g"), 8, 3)[0].shape == (3, 2)
    assert Rope.read({"rope_parameters": {"partial_rotary_factor": 0.25}}, partial=True).rotary == 0.25
    with pytest.raises(ConfigError, match="head_dim is 6 and partial_rotary_factor 0.5; .* even"):
        rope.table(Graph("g"), 6, 3)
    with pytest.raises(ConfigError, match="partial_rotary_factor is 1.5; it may be up to 1"):
        Rope.read({"partial_rotary_factor": 1.5}, partial=True)


def test_AnArchitecturesOwnDefaultsAndNames() -> None:
    assert Rope.read({}, theta=2e6).theta == 2e6
    old = {"rope_scaling": {**LONG, "rope_type": "su"}, "max_position_embeddings": 64}
    assert Rope.read(old, aliases={"su": "longrope"}).kind == "longrope"


GEMMA: dict[str, Any] = {"theta": 1e6, "local_theta": 1e4}


@pytest.mark.parametrize(
    "raw, full, sliding",
    [
        ({}, Rope(1e6), Rope(1e4)),
        ({"rope_theta": 5e5, "rope_local_base_freq": 2e4}, Rope(5e5), Rope(2e4)),
        ({"rope_scaling": {"rope_type": "linear", "factor": 8.0}}, Rope(1e6, "linear", 8.0), Rope(1e4)),
        (
            {
                "rope_parameters": {
                    "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 3e5},
                    "sliding_attention": {"rope_type": "default", "rope_theta": 7e3},
                }
            },
            Rope(3e5, "linear", 8.0),
            Rope(7e3),
        ),
        ({"rope_parameters": {"full_attention": {"rope_theta": 3e5}, "sliding_attention": None}}, Rope(3e5), Rope(1e4)),
    ],
)
def test_ReadsARopeForEachKindOfLayer(raw: dict[str, Any], full: Rope, sliding: Rope) -> None:
    assert LayerRopes.read(raw, **GEMMA) == LayerRopes(full, sliding)


@pytest.mark.parametrize(
    "raw, reason",
    [
        ({"rope_parameters": {"rope_theta": 1e4}}, "must be an object of full_attention and sliding_attention"),
        ({"rope_parameters": {"full_attention": 3}}, "rope_parameters.full_attention is 3"),
        ({"rope_parameters": {"full_attention": {"rope_type": "no"}}}, "full_attention.rope_type is 'no'"),
        (
            {"rope_parameters": {"full_attention": {}}, "rope_scaling": {"rope_type": "linear", "factor": 2}},
            "both given",
        ),
        ({"rope_local_base_freq": -1}, "rope_theta is -1"),
    ],
)
def test_WhatItCannotInterpretForAKindOfLayerIsNamed(raw: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        LayerRopes.read(raw, **GEMMA)
