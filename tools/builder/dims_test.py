import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.builder.dims import Dim, Dimension, product, shape_of, to_json

SYMBOLS = {"batch": 3, "tokens": 5, "past": 11}
factors = st.one_of(st.integers(0, 9), st.sampled_from(sorted(SYMBOLS)))
texts = st.lists(st.lists(factors.map(str), min_size=1, max_size=3).map("*".join), min_size=1, max_size=4).map("+".join)


def value(dim: Dimension) -> int:
    """A dimension with numbers for its symbols, by Python's own arithmetic."""
    return int(eval(str(dim), {}, dict(SYMBOLS)))


@given(texts)
def test_PrintsWhatItReadsBack(text: str) -> None:
    dim = Dim.of(text)
    assert value(dim) == eval(text, {}, dict(SYMBOLS))
    assert Dim.of(str(dim)) == dim
    assert str(Dim.of(str(dim))) == str(dim)


@given(texts, texts)
def test_ArithmeticAgreesWithNumbers(a: str, b: str) -> None:
    x, y = Dim.of(a), Dim.of(b)
    assert value(x + y) == value(x) + value(y)
    assert value(product([x, y])) == value(x) * value(y)
    assert x + y == y + x
    assert x + y - y == x


def test_OrderOfWritingDoesNotMatter() -> None:
    assert Dim.of("tokens*batch+past+1") == Dim.of("1+past+batch*tokens")
    assert str(Dim.of("tokens*batch*2+past+1")) == "1+past+2*batch*tokens"


def test_PlainNumbersAreIntegers() -> None:
    tokens = Dim.of("tokens")
    assert (tokens - tokens, Dim.of("2*3"), Dim.of(7)) == (0, 6, 7)
    assert to_json(shape_of(["batch", 4, "past+tokens"])) == ["batch", 4, "past+tokens"]


@pytest.mark.parametrize("bad", ["", "batch+", "a b", "-1", "2**3", "Batch", "x-y", -1, True, 1.5, None, "٣"])
def test_RefusesWhatIsNoDimension(bad: object) -> None:
    with pytest.raises(ValueError, match="dimension"):
        Dim.of(bad)  # type: ignore[arg-type]
