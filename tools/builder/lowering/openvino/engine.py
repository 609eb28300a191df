"""The only import of OpenVINO in the builder.

Importing `openvino` reports the import to its maker where the package `openvino_telemetry` is installed, and writes
files into the user's home. A build does neither: that package is hidden before the first import, and OpenVINO then does
without.
"""

from __future__ import annotations

import sys

sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]  # makes its import fail

import openvino as ov  # noqa: E402
import openvino.opset16 as opset  # noqa: E402

__all__ = ["opset", "ov"]
