"""What `write_bundle` promises: a plain tar, the same bytes every time, a true index, nothing left behind."""

import hashlib
import io
import json
import os
import resource
import shutil
import signal
import struct
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
import zstandard

from tools.builder.bundle import writer
from tools.builder.bundle.format import FOOTER_MAGIC, FRAME, SKIPPABLE_MAGIC, BundleError
from tools.builder.bundle.testing import MEMBERS, example_manifest, pseudo_random
from tools.builder.bundle.writer import write_bundle


def write(path: Path, members: dict[str, bytes | Path] | None = None, **kwargs: Any) -> str:
    return write_bundle(path, example_manifest(), {**MEMBERS, **(members or {})}, **kwargs)


def untar(path: Path) -> tarfile.TarFile:
    with open(path, "rb") as file:
        stream = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read()
    return tarfile.open(fileobj=io.BytesIO(stream))


def read_index(path: Path) -> tuple[dict[str, Any], int]:
    """The index and the offset of its skippable frame, found from the end of the file as the specification says."""
    content = path.read_bytes()
    digest, (size, version, zero), magic = content[-56:-24], struct.unpack("<QII", content[-24:-8]), content[-8:]
    assert (version, zero, magic) == (1, 0, FOOTER_MAGIC)
    start = len(content) - 56 - size - 8
    assert struct.unpack("<II", content[start : start + 8]) == (SKIPPABLE_MAGIC, size + 56)
    index = content[start + 8 : start + 8 + size]
    assert hashlib.sha256(index).digest() == digest
    parsed: dict[str, Any] = json.loads(index)
    return parsed, start


def test_is_a_plain_tar_with_fixed_metadata(tmp_path: Path) -> None:
    write(tmp_path / "x.bundle")
    with untar(tmp_path / "x.bundle") as tar:
        assert tar.getnames() == ["manifest.json", *sorted(MEMBERS)]
        for info in tar:
            assert (info.mode, info.mtime, info.uid, info.gid, info.isreg()) == (0o644, 0, 0, 0, True)
            if info.name != "manifest.json":
                assert tar.extractfile(info).read() == MEMBERS[info.name]  # type: ignore[union-attr]


def test_the_tar_command_lists_and_extracts_members(tmp_path: Path) -> None:
    if shutil.which("zstd") is None or shutil.which("tar") is None:
        pytest.fail("this test needs tar and zstd on the machine")
    path = tmp_path / "x.bundle"
    write(path)
    listing = subprocess.run(["tar", "--zstd", "-tf", path], capture_output=True, check=True)
    assert listing.stdout.decode().split() == ["manifest.json", *sorted(MEMBERS)]
    assert listing.stderr == b""
    for name, content in MEMBERS.items():
        run = subprocess.run(["tar", "--zstd", "-xOf", path, name], capture_output=True, check=True)
        assert run.stdout == content


def test_the_id_is_the_digest_of_the_canonical_manifest(tmp_path: Path) -> None:
    identity = write(tmp_path / "x.bundle")
    with untar(tmp_path / "x.bundle") as tar:
        content = tar.extractfile("manifest.json").read()  # type: ignore[union-attr]
    assert identity == hashlib.sha256(content).hexdigest()
    manifest = json.loads(content)
    assert content == json.dumps(manifest, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
    assert [row["path"] for row in manifest["members"]] == sorted(MEMBERS)
    for row in manifest["members"]:
        expected = MEMBERS[row["path"]]
        assert row == {"path": row["path"], "size": len(expected), "sha256": hashlib.sha256(expected).hexdigest()}


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_same_inputs_same_bytes(tmp_path: Path, threads: int) -> None:
    big = pseudo_random(3 * FRAME + 12345)
    (tmp_path / "big").write_bytes(big)
    write(tmp_path / "a.bundle", {"weights/big.safetensors": big}, threads=1)
    reordered = dict(reversed(MEMBERS.items())) | {"weights/big.safetensors": tmp_path / "big"}
    manifest = dict(reversed(example_manifest().items()))
    write_bundle(tmp_path / "b.bundle", manifest, reordered, threads=threads)
    assert (tmp_path / "a.bundle").read_bytes() == (tmp_path / "b.bundle").read_bytes()


@pytest.mark.parametrize(
    "size", [0, 1, 511, 512, 513, FRAME - 513, FRAME - 512, FRAME - 511, FRAME, 2 * FRAME - 512, 2 * FRAME]
)
def test_the_index_leads_to_each_frame(tmp_path: Path, size: int) -> None:
    content = pseudo_random(size)
    path = tmp_path / "x.bundle"
    write(path, {"weights/big.safetensors": content})
    index, start = read_index(path)
    assert [m["path"] for m in index["members"]] == ["manifest.json", *sorted([*MEMBERS, "weights/big.safetensors"])]
    data, offset = path.read_bytes(), 0
    for member in index["members"]:
        stream = b""
        for number, compressed in enumerate(member["frames"]):
            frame = data[offset : offset + compressed]
            parameters = zstandard.get_frame_parameters(frame)
            last = number == len(member["frames"]) - 1
            assert parameters.has_checksum
            assert parameters.content_size == FRAME or (last and 0 < parameters.content_size < FRAME)
            stream += zstandard.ZstdDecompressor().decompress(frame)
            offset += compressed
        assert len(stream) == 512 + -(-member["size"] // 512) * 512
        assert hashlib.sha256(stream[512 : 512 + member["size"]]).hexdigest() == member["sha256"]
    assert zstandard.ZstdDecompressor().decompress(data[offset : offset + index["end"]]) == bytes(1024)
    assert offset + index["end"] == start


def test_a_build_key_stands_for_the_digest_in_the_manifest_only(tmp_path: Path) -> None:
    key = hashlib.sha256(b"key").hexdigest()
    ids = [
        write(
            tmp_path / f"{i}.bundle",
            {"modules/encoder/tensorrt/k.plan": plan},
            build_keys={"modules/encoder/tensorrt/k.plan": key},
        )
        for i, plan in enumerate([b"plan one", b"plan two"])
    ]
    assert ids[0] == ids[1]
    for i, plan in enumerate([b"plan one", b"plan two"]):
        index, _ = read_index(tmp_path / f"{i}.bundle")
        digests = {m["path"]: m["sha256"] for m in index["members"]}
        assert digests["modules/encoder/tensorrt/k.plan"] == hashlib.sha256(plan).hexdigest()


def test_long_paths_use_the_prefix(tmp_path: Path) -> None:
    name = "assets/" + "d" * 60 + "/" + "f" * 99
    write(tmp_path / "x.bundle", {name: b"content"})
    with untar(tmp_path / "x.bundle") as tar:
        assert tar.extractfile(name).read() == b"content"  # type: ignore[union-attr]


def test_refuses_a_manifest_that_lists_members(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="'members' is filled in"):
        write_bundle(tmp_path / "x.bundle", {**example_manifest(), "members": []}, MEMBERS)


def test_refuses_another_format(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="manifest.format: expected 1, found 2"):
        write_bundle(tmp_path / "x.bundle", {**example_manifest(), "format": 2}, MEMBERS)


def test_refuses_a_key_for_no_member(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="no member 'none'"):
        write(tmp_path / "x.bundle", build_keys={"none": "0" * 64})


@pytest.mark.parametrize(
    "bad", ["../x", "/x", "a//b", "manifest.json", "sha256sums", "a\\b", "assets", "ASSETS/tokenizer.json"]
)
def test_refuses_paths_and_leaves_nothing(tmp_path: Path, bad: str) -> None:
    with pytest.raises(BundleError):
        write(tmp_path / "x.bundle", {bad: b""})
    assert list(tmp_path.iterdir()) == []


def test_names_a_missing_file_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="none.bin"):
        write(tmp_path / "x.bundle", {"weights/none": tmp_path / "none.bin"})
    assert list(tmp_path.iterdir()) == []


def test_refuses_a_file_that_changes_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "w"
    source.write_bytes(b"one")
    # The manifest is validated after the digests are taken and before the content is written.
    monkeypatch.setattr(writer, "validate_manifest", lambda manifest: source.write_bytes(b"two"))
    with pytest.raises(BundleError, match="changed while"):
        write(tmp_path / "x.bundle", {"weights/w": source})
    assert sorted(tmp_path.iterdir()) == [source]


def test_a_failed_write_keeps_the_old_bundle(tmp_path: Path) -> None:
    """A limit on the size of files stands in for a full disk."""
    path = tmp_path / "x.bundle"
    write(path)
    before = path.read_bytes()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
        try:
            write(path, {"weights/big": pseudo_random(FRAME)})
        except OSError:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
