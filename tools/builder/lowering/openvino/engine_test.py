"""OpenVINO is imported without its telemetry."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_importing_reports_nothing_to_anyone(tmp_path: Path) -> None:
    (tmp_path / "openvino_telemetry.py").write_text("raise SystemExit('telemetry is imported')")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    home = tmp_path / "home"
    home.mkdir()
    code = "import tools.builder.lowering.openvino.lower, tools.builder.lowering.openvino.execute"
    env = {**os.environ, "PYTHONPATH": path, "HOME": str(home)}
    subprocess.run([sys.executable, "-c", code], env=env, check=True)
    assert list(home.iterdir()) == []
