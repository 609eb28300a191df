import math

import numpy as np
import pytest

from tools.builder import frequencies


def test_PowersAndTheirInversesMeetInOne() -> None:
    np.testing.assert_allclose(frequencies.powers(10000.0, 8), [1, 10, 100, 1000], rtol=1e-6)
    np.testing.assert_allclose(frequencies.default(10000.0, 8) * frequencies.powers(10000.0, 8), 1, rtol=1e-6)


def test_YarnKeepsWhatTurnsFastAndSlowsTheRest() -> None:
    plain = frequencies.default(10000.0, 64)
    ratio = plain / frequencies.yarn(10000.0, 64, 4.0, 32.0, 1.0, 2048, True)
    turns = 2048 * plain / (2 * math.pi)
    np.testing.assert_allclose(ratio[turns > 40], 1, rtol=1e-6)
    np.testing.assert_allclose(ratio[turns < 0.5], 4, rtol=1e-6)
    assert (np.diff(ratio) >= -1e-6).all()


def test_YarnWithoutAPassageStepsAtOnce() -> None:
    ratio = frequencies.default(100.0, 8) / frequencies.yarn(100.0, 8, 2.0, 1.0, 1.0, 2 * math.pi, False)
    np.testing.assert_allclose(ratio, [1, 2, 2, 2], rtol=1e-6)


@pytest.mark.parametrize("factor, want", [(1.0, 1.0), (0.5, 1.0), (math.e, 1.1)])
def test_YarnScalesByTheLogarithmOfTheFactor(factor: float, want: float) -> None:
    assert frequencies.yarn_scale(factor, None, None) == pytest.approx(want)
    assert frequencies.yarn_scale(factor, 1.0, None) == pytest.approx(want)
    assert frequencies.yarn_scale(factor, 1.0, 1.0) == 1.0


def test_LongropeDividesEachFrequencyByItsOwnFactor() -> None:
    got = frequencies.longrope(10000.0, 8, [1, 2, 4, 8])
    np.testing.assert_allclose(frequencies.default(10000.0, 8) / got, [1, 2, 4, 8], rtol=1e-6)
    assert frequencies.longrope_scale(1.0, 64) == 1.0
    assert frequencies.longrope_scale(64.0, 64) == pytest.approx(math.sqrt(2))
