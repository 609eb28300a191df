"""The Unicode tables are what their references say today, on every code point.

The generators read each property off the pinned tokenizers library, utf8proc and Python's own unicodedata, on all of
U+0000 to U+10FFFF; what they print is compared with the tables that the runtime is built from.
"""

import contextlib
import io
import os
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def generated(script: str, options: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "argv", [script, *options])
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        runpy.run_path(str(HERE / script), run_name="__main__")
    return out.getvalue()


@pytest.mark.parametrize(
    ("script", "options", "table"),
    [
        ("unicode_tables_gen.py", ["--utf8proc", os.path.abspath(os.environ["UTF8PROC"])], "unicode_tables.h"),
        ("unicode_segmentation_tables_gen.py", [], "unicode_segmentation_tables.h"),
        ("template/case_tables_gen.py", [], "template/case_tables.h"),
    ],
)
def test_a_table_is_what_its_reference_says(
    script: str, options: list[str], table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert generated(script, options, monkeypatch) == (HERE / table).read_text(encoding="utf-8")
