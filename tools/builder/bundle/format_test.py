"""Member paths and tar headers."""

import tarfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.builder.bundle.format import BundleError, check_path, check_paths, tar_header

SEGMENT = st.from_regex(r"[A-Za-z0-9_+=@-][A-Za-z0-9._+=@-]{0,90}", fullmatch=True)


@settings(deadline=None, derandomize=True, database=None)
@given(st.lists(SEGMENT, min_size=1, max_size=6).map("/".join), st.integers(0, 1 << 40))
def test_python_reads_every_header(path: str, size: int) -> None:
    try:
        check_path(path)
    except BundleError:
        return
    info = tarfile.TarInfo.frombuf(tar_header(path, size), "ascii", "strict")
    assert (info.name, info.size, info.mode, info.type) == (path, size, 0o644, tarfile.REGTYPE)


def test_equals_the_standard_librarys_header() -> None:
    info = tarfile.TarInfo("assets/tokenizer.json")
    info.size = 466247
    assert tar_header("assets/tokenizer.json", 466247) == info.tobuf(tarfile.USTAR_FORMAT)


@pytest.mark.parametrize(
    "path",
    ["", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "a/./b", "...", "a b", "a\\b", "a\0b", "a:b", "é", "a\n",
     "x" * 101, "d" * 156 + "/f", "d/" * 127 + "ff", "d/" + "f" * 101],
)  # fmt: skip
def test_refuses_paths_that_are_unsafe_or_do_not_fit(path: str) -> None:
    with pytest.raises(BundleError):
        check_path(path)


@pytest.mark.parametrize(
    "path", ["a", "a/b", ".hidden", "a..b", "x" * 100, "d" * 155 + "/" + "f" * 99, "d/" * 126 + "ff"]
)
def test_accepts_paths_up_to_the_limits(path: str) -> None:
    check_path(path)
    assert tarfile.TarInfo.frombuf(tar_header(path, 5), "ascii", "strict").name == path


@pytest.mark.parametrize("paths", [["a", "A"], ["a", "a/b"], ["a/b", "A/B/c"], ["manifest.json"], ["sha256sums"]])
def test_refuses_paths_that_collide(paths: list[str]) -> None:
    with pytest.raises(BundleError):
        check_paths(paths)
    with pytest.raises(BundleError):
        check_paths(paths[::-1])
