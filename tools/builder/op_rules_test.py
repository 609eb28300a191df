import pytest

from tools.builder.op_rules import OPS, Op, OpError, Type, axis_of, broadcast, read_shape, rule


def example() -> Op:
    @rule("example of op_rules_test")
    def _example(x: Type, y: Type | None = None, *, count: int, names: list[int | str], scale: float) -> Type:
        return x

    return OPS.pop("example of op_rules_test")


X = Type("f32", (2, 3))
GOOD = {"count": 1, "names": [1, "a"], "scale": 2}


def test_AnOptionalInputMayBeAbsent() -> None:
    assert example().infer([X, None], GOOD) == X
    assert example().infer([X], GOOD) == X


@pytest.mark.parametrize(
    "inputs, attrs, reason",
    [
        ([None], GOOD, "input x is absent"),
        ([], GOOD, "missing"),
        ([X, X, X], GOOD, "positional"),
        ([X], {**GOOD, "count": 1.5}, "count is 1.5"),
        ([X], {**GOOD, "count": True}, "count is True"),
        ([X], {**GOOD, "names": [None]}, "names"),
        ([X], {**GOOD, "scale": "1"}, "scale"),
        ([X], {**GOOD, "more": 1}, "more"),
        ([X], {"count": 1}, "missing"),
    ],
)
def test_RefusesInputsAndAttributesThatTheSignatureDoesNotAllow(
    inputs: list[Type | None], attrs: dict[str, object], reason: str
) -> None:
    with pytest.raises(OpError, match=reason):
        example().infer(inputs, attrs)


def test_DescribesInputsByParameterName() -> None:
    assert example().describe([X, None]) == "x f32[2,3]"


def test_AnOpHasOneRule() -> None:
    rule("twice in op_rules_test")(lambda: X)
    with pytest.raises(ValueError, match="two rules"):
        rule("twice in op_rules_test")(lambda: X)
    del OPS["twice in op_rules_test"]


def test_BroadcastAlignsAtTheRight() -> None:
    batch = read_shape(["batch", 1, 4])
    assert broadcast(batch, (3, 1)) == (*batch[:1], 3, 4)
    with pytest.raises(OpError, match="3 against 4"):
        broadcast((3,), batch)


def test_AxesCountFromBothEnds() -> None:
    assert (axis_of(-1, 3), axis_of(2, 3)) == (2, 2)
    for axis in (3, -4):
        with pytest.raises(OpError, match="outside the 3 dimensions"):
            axis_of(axis, 3)


def test_AShapeAttributeHasToBeAShape() -> None:
    with pytest.raises(OpError, match="dimension -1 is negative"):
        read_shape([-1])
