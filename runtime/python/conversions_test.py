"""Arrays and text cross into C++ and back unchanged, or are refused with their name."""

import os
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from runtime.python import conversions_echo as echo

DTYPES = {
    "bool": np.bool_,
    "i8": np.int8,
    "u8": np.uint8,
    "i16": np.int16,
    "u16": np.uint16,
    "i32": np.int32,
    "u32": np.uint32,
    "i64": np.int64,
    "u64": np.uint64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
}


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_survives(name: str) -> None:
    array = np.arange(6).reshape(2, 3).astype(DTYPES[name])
    assert echo.dtype(array) == name
    result = echo.array(array)
    assert result.dtype == array.dtype
    np.testing.assert_array_equal(result, array)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0, 3), (2, 3, 4, 5)])
def test_every_shape_survives(shape: tuple[int, ...]) -> None:
    array = np.zeros(shape, np.float32)
    assert echo.array(array).shape == shape


def test_contiguous_arrays_are_not_copied() -> None:
    array = np.arange(6, dtype=np.float32)
    result = echo.array(array)
    assert np.shares_memory(array, result)
    del array
    np.testing.assert_array_equal(result, np.arange(6, dtype=np.float32))


@pytest.mark.parametrize("view", [np.s_[:, ::2], np.s_[::-1], np.s_[:, 1]])
def test_views_arrive_as_what_they_show(view: object) -> None:
    array = np.arange(24, dtype=np.int64).reshape(4, 6)[view]  # type: ignore[index]
    np.testing.assert_array_equal(echo.array(array), array)
    np.testing.assert_array_equal(echo.array(array.T), array.T)


def test_read_only_arrays_are_taken() -> None:
    array = np.arange(3)
    array.flags.writeable = False
    np.testing.assert_array_equal(echo.array(array), array)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([1, 2], "input x is list, not a numpy array"),
        (np.array([1 + 2j]), "input x has dtype complex128"),
        (np.array(["a"]), "input x has dtype <U1"),
        (np.array([None]), "input x has dtype object"),
        (np.arange(3, dtype=">i4"), "input x has dtype >i4"),
        (np.zeros(2, np.longdouble), "input x has dtype float128"),
        (np.zeros(2, "datetime64[s]"), "input x has dtype datetime64"),
    ],
)
def test_what_no_tensor_can_hold_is_refused(value: object, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        echo.array(value)


@pytest.mark.parametrize(
    ("text", "utf8"),
    [
        ("a cat", b"a cat"),
        ("é😀\0", "é😀\0".encode()),
        ("\ud800", "\ufffd".encode()),
        ("a\udc00b", "a\ufffdb".encode()),
        ("\ud83d\ud83d\ude00", "\ufffd\U0001f600".encode()),
    ],
)
def test_text_arrives_as_utf8(text: str, utf8: bytes) -> None:
    assert echo.text(text) == utf8


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(RuntimeError, match="text is bytes, not str"):
        echo.text(b"a")
    with pytest.raises(RuntimeError, match=r"texts\[1\] is int, not str"):
        echo.texts(["a", 7])
    with pytest.raises(RuntimeError, match="texts is str, not a list of str"):
        echo.texts("a cat")
    with pytest.raises(RuntimeError, match="texts is int, not a list of str"):
        echo.texts(7)
    assert echo.texts(x for x in ("a", "b")) == ["a", "b"]


class _PathLike:
    def __fspath__(self) -> str:
        return "a/b"


@pytest.mark.parametrize("path", ["a/b", b"a/b", Path("a/b"), _PathLike()])
def test_paths_arrive_as_they_are(path: object) -> None:
    assert echo.path(path) == b"a/b"
    assert echo.path(b"\xff") == echo.path(os.fsdecode(b"\xff")) == b"\xff"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("a\0b", r"bundle is 'a\\x00b', and no path holds the character NUL"),
        (b"\0", "and no path holds the character NUL"),
        ("\ud800", r"bundle is '\\ud800', which holds half of a surrogate pair"),
        (7, "bundle is int, not a path"),
        (None, "bundle is NoneType, not a path"),
    ],
)
def test_what_is_no_path_is_refused_by_name(path: object, reason: str) -> None:
    with pytest.raises(RuntimeError, match=reason):
        echo.path(path)


def test_token_ids_arrive_as_they_are() -> None:
    assert echo.ids([0, 2**31 - 1]) == echo.ids(iter(np.array([0, 2**31 - 1]))) == [0, 2**31 - 1]


@pytest.mark.parametrize(
    ("ids", "reason"),
    [
        ([5, -1], r"ids\[1\] is -1, not a token id, which is an integer from 0; the vocabulary has 9 tokens"),
        ([2**31], r"ids\[0\] is 2147483648, not a token id"),
        ([1.5], r"ids\[0\] is 1.5, not a token id"),
        (["1"], r"ids\[0\] is '1', not a token id"),
        ("12", "ids is str, not a list of token ids"),
        (7, "ids is int, not a list of token ids"),
    ],
)
def test_what_is_no_token_id_is_refused_by_place(ids: object, reason: str) -> None:
    with pytest.raises(RuntimeError, match=reason):
        echo.ids(ids)
