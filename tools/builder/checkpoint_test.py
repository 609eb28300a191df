import json
import struct
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tools.builder.checkpoint import Checkpoint, CheckpointError, read_header
from tools.builder.testing.safetensors_files import checkpoint_folder, file_of, header_of, pack

TENSORS: dict[str, Any] = {
    "a.weight": np.arange(6, dtype=np.float32).reshape(2, 3),
    "b.bias": np.arange(4, dtype=np.float32).astype(ml_dtypes.bfloat16),
    "ids": np.arange(3, dtype=np.int64),
    "none": np.zeros((0, 4), np.float16),
}


def test_ReadsTensorsInTheirStoredDtype(tmp_path: Path) -> None:
    checkpoint = Checkpoint.open(checkpoint_folder(tmp_path, {"model_type": "x"}, TENSORS))
    assert checkpoint.config == {"model_type": "x"}
    for name, want in TENSORS.items():
        got = checkpoint.read(name)
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


def test_WritingToATensorLeavesTheFileAlone(tmp_path: Path) -> None:
    checkpoint_folder(tmp_path, {}, TENSORS)
    Checkpoint.open(tmp_path).read("a.weight")[:] = 7
    np.testing.assert_array_equal(Checkpoint.open(tmp_path).read("a.weight"), TENSORS["a.weight"])


def test_SameComparesTypeAndBytes(tmp_path: Path) -> None:
    a = np.ones((2, 2), np.float32)
    checkpoint = Checkpoint.open(checkpoint_folder(tmp_path, {}, {"a": a, "b": a, "c": a + 1, "d": a.reshape(4)}))
    assert checkpoint.same("a", "b")
    assert not checkpoint.same("a", "c")
    assert not checkpoint.same("a", "d")


def shards(folder: Path) -> dict[str, Any]:
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text("{}")
    names = {name: f"model-{i}.safetensors" for i, name in enumerate(TENSORS)}
    for name, shard in names.items():
        (folder / shard).write_bytes(file_of({name: TENSORS[name]}))
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": names}))
    return {"weight_map": names}


def test_ReadsShards(tmp_path: Path) -> None:
    shards(tmp_path)
    checkpoint = Checkpoint.open(tmp_path)
    assert set(checkpoint.tensors) == set(TENSORS)
    np.testing.assert_array_equal(checkpoint.read("a.weight"), TENSORS["a.weight"])


@pytest.mark.parametrize("shard", ["../other.safetensors", "/etc/passwd", "sub/x.safetensors", "..", "model.bin"])
def test_RefusesAShardOutsideTheFolder(tmp_path: Path, shard: str) -> None:
    shards(tmp_path)
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a.weight": shard}}))
    with pytest.raises(CheckpointError, match="is not the plain name of a safetensors file"):
        Checkpoint.open(tmp_path)


def test_NamesAMissingShard(tmp_path: Path) -> None:
    shards(tmp_path)
    (tmp_path / "model-1.safetensors").unlink()
    with pytest.raises(CheckpointError, match="lacks 1 of 4 shards: model-1.safetensors"):
        Checkpoint.open(tmp_path)


def test_NamesATensorThatNoShardHolds(tmp_path: Path) -> None:
    index = shards(tmp_path)
    index["weight_map"]["lost.weight"] = "model-0.safetensors"
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(CheckpointError, match="are in no shard: lost.weight"):
        Checkpoint.open(tmp_path)


def test_NamesATensorInTheWrongShard(tmp_path: Path) -> None:
    index = shards(tmp_path)
    index["weight_map"] |= {"a.weight": "model-1.safetensors", "b.bias": "model-0.safetensors"}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(CheckpointError, match="holds a.weight, which model.safetensors.index.json places in model-1"):
        Checkpoint.open(tmp_path)


@pytest.mark.parametrize("weight_map", [None, [], {"a": 1}])
def test_RefusesAnIndexWithoutAWeightMap(tmp_path: Path, weight_map: Any) -> None:
    shards(tmp_path)
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    with pytest.raises(CheckpointError, match="weight_map must give a file name"):
        Checkpoint.open(tmp_path)


def test_RefusesPickleAndSaysWhatToDo(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x02.")
    with pytest.raises(CheckpointError, match=r"only as pickle \(pytorch_model.bin\).*Ask the maker for safetensors"):
        Checkpoint.open(tmp_path)


@pytest.mark.parametrize(
    "content, reason", [(None, "has no config.json"), ("{", "is not valid JSON"), ("[1]", "not a JSON object")]
)
def test_RefusesAFolderWithoutConfig(tmp_path: Path, content: str | None, reason: str) -> None:
    if content is not None:
        (tmp_path / "config.json").write_text(content)
    with pytest.raises(CheckpointError, match=reason):
        Checkpoint.open(tmp_path)


def test_RefusesWhatIsNoCheckpoint(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="is not a folder"):
        Checkpoint.open(tmp_path / "absent")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(CheckpointError, match="has no weights"):
        Checkpoint.open(tmp_path)


HEADER = header_of({"a": np.zeros(2, np.float32), "b": np.zeros(2, np.float32)})


def with_entry(**changes: Any) -> dict[str, Any]:
    return {**HEADER, "b": {**HEADER["b"], **changes}}


@pytest.mark.parametrize(
    "content, reason",
    [
        (b"", "cannot hold a header length"),
        (b"1234567", "cannot hold a header length"),
        (struct.pack("<Q", 1 << 62), "the header is .* bytes long"),
        (struct.pack("<Q", 100) + b"{}", "the header is 100 bytes long, the file 10"),
        (pack(b"{", b""), "the header is not valid JSON"),
        (pack(b"\xff\xfe", b""), "the header is not UTF-8"),
        (pack({"a": {"dtype": "F32", "shape": [0, 1 << 62], "data_offsets": [0, 0]}}, b""), "a has the shape"),
        (pack({"a": {"dtype": "F32", "shape": [1] * 9, "data_offsets": [0, 4]}}, b"1234"), "up to 8 dimensions"),
        (pack([], b""), "not a JSON object"),
        (pack(b'{"a":{},"a":{}}', b""), "'a' stands twice"),
        (pack({"a": 1}, b""), "tensor a is not described"),
        (pack({"a": {"dtype": "F32", "shape": []}}, b""), "tensor a is not described"),
        (pack(with_entry(dtype="F8_E4M3"), bytes(16)), "tensor b has the dtype 'F8_E4M3'; supported are"),
        (pack(with_entry(dtype=["F32"]), bytes(16)), "tensor b has the dtype"),
        (pack(with_entry(shape=[-2]), bytes(16)), r"tensor b has the shape \[-2\]"),
        (pack(with_entry(shape=[True, 2]), bytes(16)), "tensor b has the shape"),
        (pack(with_entry(shape=[3]), bytes(16)), "which is 12 bytes, but its data_offsets"),
        (pack(with_entry(data_offsets=[8]), bytes(16)), "tensor b has the data_offsets"),
        (pack(with_entry(data_offsets=[16, 8]), bytes(16)), "8 bytes, but its data_offsets"),
        (pack(with_entry(data_offsets=[4, 12]), bytes(16)), "tensor b overlaps a"),
        (pack(with_entry(data_offsets=[12, 20]), bytes(20)), "tensor b leaves a gap after a"),
        (pack(HEADER, bytes(15)), "the tensors end at byte .* and the file at"),
        (pack(HEADER, bytes(17)), "the tensors end at byte .* and the file at"),
        (pack(with_entry(data_offsets=[1 << 70, (1 << 70) + 8]), bytes(16)), "leaves a gap"),
    ],
)
def test_RefusesADamagedFile(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "x.safetensors").write_bytes(content)
    with pytest.raises(CheckpointError, match=reason) as caught:
        read_header(tmp_path / "x.safetensors")
    assert "x.safetensors" in str(caught.value)


def test_RefusesEveryTruncation(tmp_path: Path) -> None:
    whole = file_of(TENSORS)
    for size in range(len(whole)):
        (tmp_path / "x.safetensors").write_bytes(whole[:size])
        with pytest.raises(CheckpointError):
            read_header(tmp_path / "x.safetensors")


@given(st.data())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_DamageIsAnErrorOrTensorsInsideTheFile(tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(file_of(TENSORS))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "x.safetensors"
    path.write_bytes(content)
    try:
        tensors = read_header(path)
    except CheckpointError:
        return
    checkpoint = Checkpoint(tmp_path, {}, tensors)
    for name, tensor in tensors.items():
        assert tensor.offset + tensor.size <= len(content)
        assert checkpoint.read(name).shape == tensor.shape
