"""Whatever stands in a GGUF file, reading its head gives tensors inside the file or an error that names the file."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tools.builder.checkpoint import CheckpointError
from tools.builder.gguf.reader import MAX_ITEMS, read_file, read_gguf


def text(value: bytes) -> bytes:
    """A string of the format."""
    return struct.pack("<Q", len(value)) + value


def pair(key: bytes, kind: int, value: bytes) -> bytes:
    """A metadata entry."""
    return text(key) + struct.pack("<I", kind) + value


def info(name: bytes = b"a", shape: tuple[int, ...] = (32,), kind: int = 0, offset: int = 0) -> bytes:
    """A tensor's entry; `shape` is in the file's order."""
    return text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)


def file_of(pairs: list[bytes], infos: list[bytes], data: int = 0, counts: tuple[int, int] | None = None) -> bytes:
    """A file of `data` zero bytes after the head."""
    tensors, entries = counts or (len(infos), len(pairs))
    head = b"GGUF" + struct.pack("<IQQ", 3, tensors, entries) + b"".join(pairs + infos)
    return head + bytes(-len(head) % 32 + data)


def write(path: Path) -> bytes:
    """A well-formed file of the package's writer, with every kind of value."""
    writer = gguf.GGUFWriter(path, "llama")
    for name, value in {"u8": 200, "i8": -3, "u16": 60000, "i16": -4, "u32": 1 << 31, "i32": -5}.items():
        getattr(
            writer, f"add_{name.replace('u', 'uint').replace('i', 'int', 1) if name[0] == 'i' else 'uint' + name[1:]}"
        )(f"n.{name}", value)
    writer.add_uint64("n.u64", 1 << 63)
    writer.add_int64("n.i64", -(1 << 62))
    writer.add_float32("n.f32", 1e-6)
    writer.add_float64("n.f64", 0.1)
    writer.add_bool("n.bool", True)
    writer.add_string("n.text", "日本")
    writer.add_array("n.texts", ["a", "", "ü"])
    writer.add_array("n.numbers", [1, 2, 3])
    writer.add_array("n.bools", [True, False])
    writer.add_tensor("plain", np.arange(6, dtype=np.float32).reshape(2, 3))
    writer.add_tensor("half", np.ones((4,), np.float16))
    raw = gguf.quants.quantize(np.ones((2, 64), np.float32), gguf.GGMLQuantizationType.Q8_0)
    writer.add_tensor("blocks", raw, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path.read_bytes()


def test_ReadsWhatThePackageWrites(tmp_path: Path) -> None:
    write(tmp_path / "x.gguf")
    read = read_gguf(tmp_path / "x.gguf")
    assert {key: value for key, value in read.metadata.items() if key.startswith("n.")} == {
        "n.u8": 200, "n.i8": -3, "n.u16": 60000, "n.i16": -4, "n.u32": 1 << 31, "n.i32": -5, "n.u64": 1 << 63,
        "n.i64": -(1 << 62), "n.f32": 1e-6, "n.f64": 0.1, "n.bool": True, "n.text": "日本", "n.texts": ["a", "", "ü"],
        "n.numbers": [1, 2, 3], "n.bools": [True, False],
    }  # fmt: skip
    assert {t.name: (t.kind, t.shape, t.size) for t in read.tensors.values()} == {
        "plain": ("F32", (2, 3), 24),
        "half": ("F16", (4,), 8),
        "blocks": ("Q8_0", (2, 64), 136),
    }


GOOD = info(shape=(32,))
HUGE = struct.pack("<Q", 1 << 62)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "0 bytes cannot hold the head"),
        (b"GGUF" + bytes(19), "23 bytes cannot hold the head"),
        (b"GGML" + bytes(40), "is no GGUF file"),
        (b"GGUF" + struct.pack("<I", 1) + bytes(40), "version 1; supported are 2 and 3"),
        (b"GGUF" + struct.pack(">I", 3) + bytes(40), "big-endian files are not read"),
        (file_of([], [], counts=(1 << 60, 0)), "tensors: 1152921504606846976 items do not fit"),
        (file_of([], [], counts=(0, 1 << 60)), "metadata entries: .* items do not fit"),
        (file_of([HUGE], [], 64), "a metadata key has 4611686018427387904 bytes"),
        (file_of([pair(b"\xff", 4, bytes(4))], []), "a metadata key is not UTF-8"),
        (file_of([pair(b"k", 8, text(b"\xc3("))], []), "k is not UTF-8"),
        (file_of([pair(b"k", 13, bytes(8))], []), "k has the value type 13"),
        (file_of([pair(b"k", 9, struct.pack("<IQ", 9, 1) + bytes(64))], []), "k has the value type 9"),
        (file_of([pair(b"k", 9, struct.pack("<IQ", 8, 1 << 50))], []), "k: .* items do not fit"),
        (
            file_of([pair(b"k", 9, struct.pack("<IQ", 0, MAX_ITEMS + 1))], [], MAX_ITEMS + 64),
            "k: 16777217 items do not",
        ),
        (file_of([pair(b"k", 4, bytes(4))] * 2, []), "the metadata key k stands twice"),
        (file_of([pair(b"general.alignment", 4, bytes(4))], []), "general.alignment is 0"),
        (file_of([pair(b"general.alignment", 8, text(b"x"))], []), "general.alignment is 'x'"),
        (file_of([], [info(shape=(1,) * 5)], 128), "tensor a has 5 dimensions"),
        (file_of([], [info(shape=())], 128), r"tensor a is F32 of shape \[\]"),
        (file_of([], [info(shape=(0,))], 128), r"tensor a is F32 of shape \[0\]"),
        (
            file_of([], [info(shape=(33,), kind=2)], 128),
            r"tensor a is Q4_0 of shape \[33\]; its rows have blocks of 32",
        ),
        (file_of([], [info(kind=99)], 128), "tensor a has the type 99, which is not read; read are F32"),
        (file_of([], [info(kind=39)], 128), "tensor a has the type MXFP4, which is not read"),
        (file_of([], [GOOD, GOOD], 128), "tensor a overlaps a|tensor a stands twice"),
        (file_of([], [GOOD, info(b"a", offset=128)], 256), "tensor a stands twice"),
        (file_of([], [GOOD, info(b"b", offset=96)], 256), "tensor b overlaps a"),
        (file_of([], [info(offset=33)], 256), "tensor a lies at 33, which is no multiple of 32"),
        (file_of([], [info(shape=(1 << 40, 1 << 20))], 128), "tensor a ends at byte"),
        (file_of([], [info(offset=1 << 63)], 128), "tensor a ends at byte"),
        (file_of([], [GOOD], 127), "tensor a ends at byte"),
        (file_of([], [info(name=b"\xf0\x28")], 128), "a tensor's name is not UTF-8"),
    ],
)
def test_RefusesADamagedFile(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=reason) as caught:
        read_gguf(path)
    assert str(path) in str(caught.value)


def test_RefusesEveryTruncation(tmp_path: Path) -> None:
    whole = write(tmp_path / "x.gguf")
    last = max(tensor.offset + tensor.size for tensor in read_file(tmp_path / "x.gguf").tensors.values())
    for size in range(last):
        (tmp_path / "x.gguf").write_bytes(whole[:size])
        with pytest.raises(CheckpointError):
            read_file(tmp_path / "x.gguf")


@given(st.data())
@settings(
    max_examples=1500, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_DamageIsAnErrorOrTensorsInsideTheFile(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "x.gguf"
    content = bytearray(write(path))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 8))
        piece = data.draw(
            st.one_of(st.binary(min_size=1, max_size=1), st.sampled_from([b"\xff" * 4, b"\xff" * 8, HUGE]))
        )
        content[at : at + len(piece)] = piece
    path.write_bytes(content)
    try:
        tensors = read_gguf(path).tensors
    except CheckpointError as error:
        assert str(tmp_path) in str(error)
        return
    assert all(tensor.offset + tensor.size <= len(content) for tensor in tensors.values())


def parts(folder: Path, changes: dict[int, dict[str, Any]] | None = None) -> list[Path]:
    """A model of three parts with a tensor each; `changes` are metadata by part."""
    paths = []
    for number in range(3):
        path = folder / f"m-{number + 1:05}-of-00003.gguf"
        entries: dict[str, Any] = {"split.no": number, "split.count": 3, "split.tensors.count": 3}
        entries |= (changes or {}).get(number, {})
        pairs = [pair(key.encode(), 5, struct.pack("<i", value)) for key, value in entries.items() if key != "name"]
        name = str(entries.get("name", f"t{number}")).encode()
        path.write_bytes(file_of(pairs, [info(name)], 128))
        paths.append(path)
    return paths


def test_PartsAreFoundFromEachOfThem(tmp_path: Path) -> None:
    for path in parts(tmp_path):
        read = read_gguf(path)
        assert {tensor.name: tensor.file.name[2:7] for tensor in read.tensors.values()} == {
            "t0": "00001", "t1": "00002", "t2": "00003"
        }  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({1: {"split.no": 2}}, "calls itself part 2 of 3, its name 1"),
        ({1: {"split.count": 4}}, "calls itself part 1 of 4"),
        ({2: {"name": "t0"}}, "holds t0, which an earlier part holds too"),
        ({0: {"split.tensors.count": 7}}, "states 7 tensors in all, and the parts hold 3"),
    ],
)
def test_PartsThatDoNotFitAreRefused(tmp_path: Path, changes: dict[int, dict[str, Any]], reason: str) -> None:
    with pytest.raises(CheckpointError, match=reason):
        read_gguf(parts(tmp_path, changes)[0])


def test_AMissingOrRenamedPartIsNamed(tmp_path: Path) -> None:
    paths = parts(tmp_path)
    paths[2].rename(tmp_path / "other.gguf")
    with pytest.raises(CheckpointError, match="lacks 1 of 3 parts: m-00003-of-00003.gguf"):
        read_gguf(paths[0])
    with pytest.raises(CheckpointError, match="other.gguf is one of 3 parts, but its name does not end in"):
        read_gguf(tmp_path / "other.gguf")
