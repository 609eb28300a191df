"""The installed folder works wherever it lies, without anything of the build."""

import json
import os
import shutil
import subprocess
from pathlib import Path

BERT = Path(os.environ["BERT"]).resolve()


def test_a_copied_folder_runs_from_elsewhere(tmp_path: Path) -> None:
    shutil.copytree("runtime/cli/dist", tmp_path / "opt/mc")
    shutil.copy(BERT, tmp_path / "tiny.bundle")
    (tmp_path / "elsewhere").mkdir()
    process = subprocess.run(
        [tmp_path / "opt/mc/bin/mconnect", "embed", tmp_path / "tiny.bundle", "--text", "a cat", "--json"],
        cwd=tmp_path / "elsewhere",
        env={"MCONNECT_STORE": str(tmp_path / "store")},
        capture_output=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    assert len(json.loads(process.stdout)["vectors"]) == 1


def test_every_library_comes_from_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "mc"
    shutil.copytree("runtime/cli/dist", folder)
    listing = subprocess.run(["ldd", folder / "bin/mconnect"], capture_output=True, text=True, check=True).stdout
    paths = {name: path for name, arrow, path, *_ in (line.split() for line in listing.splitlines() if "=>" in line)}
    assert "not" not in paths.values(), listing
    bundled = {name: path for name, path in paths.items() if "openvino" in name or "tbb" in name}
    assert bundled
    for path in bundled.values():
        assert Path(path).resolve().is_relative_to(folder.resolve()), listing
