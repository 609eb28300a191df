import math
from typing import Any

import numpy as np
import pytest

from tools.builder.config import ConfigError
from tools.builder.graph import Graph
from tools.builder.rope import Rope, _cos_sin

LLAMA3 = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}


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
            {"rope_scaling": {"type": "yarn", "factor": 4}},
            "rope_scaling.rope_type is 'yarn'; supported are default, linear, llama3",
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
    cos, sin = _cos_sin(angles)
    assert np.abs(cos - [math.cos(a) for a in angles]).max() < 1e-15
    assert np.abs(sin - [math.sin(a) for a in angles]).max() < 1e-15


def test_TheTableHasARowForEachPosition() -> None:
    g = Graph("g")
    cos, sin = Rope(100.0).table(g, 4, 6)
    assert cos.shape == sin.shape == (6, 2)
    angles = np.arange(6)[:, None] * np.array([1.0, 0.1])
    np.testing.assert_allclose(g.constants["constant.rope.cos"], np.cos(angles), atol=1e-6)
    np.testing.assert_allclose(g.constants["constant.rope.sin"], np.sin(angles), atol=1e-6)
    assert g.constants["constant.rope.cos"].dtype == np.float32


@pytest.mark.parametrize(("head_dim", "positions"), [(128, 10**13), (10**12, 256), (128, 0), (128, -1)])
def test_ATableOfAnImpossibleSizeIsRefusedBeforeItIsMade(head_dim: int, positions: int) -> None:
    with pytest.raises(ConfigError, match=f"max_position_embeddings {positions} and head_dim {head_dim} make"):
        Rope().table(Graph("g"), head_dim, positions)


def test_AnOddHeadCannotBeRotated() -> None:
    with pytest.raises(ConfigError, match="head_dim is 5"):
        Rope().table(Graph("g"), 5, 1)
