"""Constants are placed by name, and only where they fit."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from tools.builder.assets.weights_file import Placement
from tools.builder.lowering.openvino.engine import opset, ov
from tools.builder.lowering.openvino.ir import DECOMPRESSION, IrError, place_constants, serialize


def _model() -> ov.Model:
    x = opset.parameter([2, 3], ov.Type.f32)
    x.set_friendly_name("x")
    weight = opset.constant(np.zeros((3, 3), np.float16))
    weight.set_friendly_name("w")
    wide = opset.convert(weight, ov.Type.f32)
    wide.set_friendly_name("w" + DECOMPRESSION)
    product = opset.matmul(x, wide, False, True)
    product.set_friendly_name("y")
    result = opset.result(product)
    result.set_friendly_name("result")
    return ov.Model([result], [x], "m")


PLACE = Placement("f16", (3, 3), 640, 18)


def test_a_constant_points_at_its_tensor() -> None:
    net = ElementTree.fromstring(place_constants(serialize(_model()), {"w": PLACE}))
    data = net.find("layers/layer[@type='Const']/data")
    assert data is not None and (data.get("offset"), data.get("size")) == ("640", "18")


def test_the_conversion_of_a_stored_weight_is_marked_as_decompression() -> None:
    net = ElementTree.fromstring(place_constants(serialize(_model()), {"w": PLACE}))
    marks = net.findall("layers/layer[@type='Convert']/rt_info/attribute")
    assert [mark.attrib for mark in marks] == [{"name": "decompression", "version": "0"}]


def test_the_engine_reads_what_was_placed() -> None:
    weights = np.zeros(1024, np.uint8)
    weights[640:658] = np.arange(9, dtype=np.float16).view(np.uint8)
    model = ov.Core().read_model(place_constants(serialize(_model()), {"w": PLACE}), ov.Tensor(weights))
    constant = next(node for node in model.get_ordered_ops() if node.get_type_name() == "Constant")
    np.testing.assert_array_equal(constant.data, np.arange(9, dtype=np.float16).reshape(3, 3))


@pytest.mark.parametrize(
    ("places", "reason"),
    [
        ({}, "'w' is not among the stored tensors"),
        ({"w": Placement("f16", (3, 4), 640, 24)}, "'w' has 18 bytes of f16"),
        ({"w": Placement("bf16", (3, 3), 640, 18)}, "'w' has 18 bytes of f16"),
    ],
)
def test_refuses_a_constant_that_is_stored_otherwise(places: dict[str, Placement], reason: str) -> None:
    with pytest.raises(IrError, match=reason):
        place_constants(serialize(_model()), places)
