import hashlib

import numpy as np

from tools.builder.tiny import values


def test_TheSameNameGivesTheSameBytesEverywhere() -> None:
    made = values.noise("model.norm.weight", (64, 3))
    digest = hashlib.sha256(made.astype("<f4").tobytes()).hexdigest()
    assert digest == "00b3d764ba618922e28569b902d8e39df40e5bf22ae87346bdf4456f53eac97f"


def test_OtherNamesGiveOtherValues() -> None:
    assert not np.array_equal(values.noise("a", (8,)), values.noise("b", (8,)))


def test_NoiseIsUniform() -> None:
    made = values.noise("wide", (200, 100))
    assert made.dtype == np.float32 and made.min() >= -1 and made.max() < 1
    counts, _ = np.histogram(made, 10, (-1, 1))
    assert abs(counts - 2000).max() < 250


def test_ScalesFitWhatTheTensorsDo() -> None:
    assert abs(values.matrix("m", (300, 400), 400).std() * 20 - 1) < 0.02
    norm = values.norm_weight("n", (1000,))
    assert norm.min() >= 0.75 and norm.max() <= 1.25
    assert np.abs(values.bias("b", (1000,))).max() <= 0.1
