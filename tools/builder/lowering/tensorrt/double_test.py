"""The double is as strict as what it stands for: what it does not know, or TensorRT would refuse, is an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tools.builder.lowering.tensorrt.double import Handle, Run, module

TRT = module()


def _network() -> Any:
    return TRT.Builder(None).create_network(0)


def _constant(network: Any, values: Any, dtype: Any = np.float32) -> Handle:
    array = np.array(values, dtype)
    handle: Handle = network.add_constant(array.shape, array).get_output(0)
    return handle


def test_computes_a_product() -> None:
    n = _network()
    a, b = _constant(n, [[1, 2]]), _constant(n, [[3, 4]])
    out = n.add_matrix_multiply(a, "NONE", b, "TRANSPOSE").get_output(0)
    np.testing.assert_array_equal(Run({})(out), [[11]])


def test_an_unknown_layer_is_an_error() -> None:
    with pytest.raises(AttributeError, match="add_convolution_nd"):
        _network().add_convolution_nd()
    assert not hasattr(TRT.INetworkDefinition, "add_normalization")
    assert hasattr(module(extended=True).INetworkDefinition, "add_normalization")


def test_an_unknown_enumerator_or_property_is_an_error() -> None:
    with pytest.raises(AttributeError, match="HARDSWISH"):
        _ = TRT.ActivationType.HARDSWISH
    with pytest.raises(AttributeError, match="this layer has no property axis"):
        _network().add_softmax(None or _constant(_network(), [1])).axis = 0


def test_dtypes_must_agree() -> None:
    n = _network()
    with pytest.raises(AssertionError, match="SUM of float32 and float16"):
        n.add_elementwise(_constant(n, [1]), _constant(n, [1], np.float16), "SUM")
    with pytest.raises(AssertionError, match="product of float32 and float16"):
        n.add_matrix_multiply(_constant(n, [[1]]), "NONE", _constant(n, [[1]], np.float16), "NONE")


def test_a_weakly_typed_layer_has_the_type_that_it_computes_in() -> None:
    n = _network()
    layer = n.add_softmax(_constant(n, [1]))
    layer.precision = "float16"
    with pytest.raises(AssertionError, match="float16 for float16"):
        layer.set_output_type(0, "float16")


def test_ranks_must_agree() -> None:
    n = _network()
    out = n.add_elementwise(_constant(n, [1]), _constant(n, [[1]]), "SUM").get_output(0)
    with pytest.raises(AssertionError):
        Run({})(out)


def test_a_slice_must_lie_inside() -> None:
    n = _network()
    out = n.add_slice(_constant(n, [1, 2]), (1,), (2,), (1,)).get_output(0)
    with pytest.raises(AssertionError):
        Run({})(out)


def test_an_input_must_have_its_declared_shape() -> None:
    x = _network().add_input("x", "float32", (-1, 2))
    assert Run({"x": np.zeros((5, 2), np.float32)})(x).shape == (5, 2)
    with pytest.raises(AssertionError, match="input x"):
        Run({"x": np.zeros((5, 3), np.float32)})(x)
