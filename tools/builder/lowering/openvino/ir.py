"""OpenVINO IR as text: the same bytes in every process, with constants that point into a safetensors file.

OpenVINO writes the IR itself; this module then gives each constant its place in the weights file and marks the
conversions that decompress stored weights, which OpenVINO's Python API cannot do. Without that mark OpenVINO would
expand f16 weights to f32 at load.
"""

from __future__ import annotations

import os
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from pathlib import Path

from tools.builder.assets.weights_file import Placement
from tools.builder.lowering.openvino.engine import ov

DECOMPRESSION = "/f32"
"""Suffix of the name of a Convert that expands the f16 weight of that name."""


class IrError(RuntimeError):
    """The IR and the weights file do not belong together: a defect of the lowering, not of the input."""


def serialize(model: ov.Model) -> bytes:
    """The IR of `model` without its binary part: constants carry their names, sizes and no meaningful offset."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.xml"
        ov.serialize(model, str(path), os.devnull)
        return path.read_bytes()


def place_constants(xml: bytes, placements: Mapping[str, Placement]) -> bytes:
    """Points each constant of an IR at the tensor of its name.

    Raises IrError where a constant has no tensor or another size.
    """
    net = ElementTree.fromstring(xml)
    for layer in net.iterfind("layers/layer"):
        name = layer.get("name", "")
        if layer.get("type") == "Const":
            _place(layer, name, placements)
        elif (
            layer.get("type") == "Convert"
            and name.endswith(DECOMPRESSION)
            and name.removesuffix(DECOMPRESSION) in placements
        ):
            info = ElementTree.Element("rt_info")
            ElementTree.SubElement(info, "attribute", {"name": "decompression", "version": "0"})
            layer.insert(1, info)
    ElementTree.indent(net, "\t")
    return f'<?xml version="1.0"?>\n{ElementTree.tostring(net, encoding="unicode")}\n'.encode()


def _place(layer: ElementTree.Element, name: str, placements: Mapping[str, Placement]) -> None:
    data = layer.find("data")
    if data is None or name not in placements:
        raise IrError(f"the constant {name!r} is not among the stored tensors")
    place = placements[name]
    if (data.get("size"), data.get("element_type")) != (
        str(place.nbytes),
        _ELEMENT_TYPES.get(place.dtype, place.dtype),
    ):
        raise IrError(
            f"the constant {name!r} has {data.get('size')} bytes of {data.get('element_type')}; stored are {place}"
        )
    data.set("offset", str(place.offset))


_ELEMENT_TYPES = {"bool": "boolean"}
