"""inspect, verify and unpack on a tiny bundle."""

import hashlib
import json
import os
from pathlib import Path

import pytest

from runtime.cli.testing import fail, run, succeed

BERT = Path(os.environ["BERT"]).resolve()


def test_inspect_prints_the_manifest_and_the_id(tmp_path: Path) -> None:
    result = json.loads(succeed("inspect", BERT, "--json"))
    succeed("unpack", BERT, tmp_path / "out")
    manifest = (tmp_path / "out/manifest.json").read_bytes()
    assert result == {"id": hashlib.sha256(manifest).hexdigest(), **json.loads(manifest)}


def test_inspect_shows_people_every_part() -> None:
    manifest = json.loads(succeed("inspect", BERT, "--json"))
    text = succeed("inspect", BERT).decode()
    parts = [manifest["id"], manifest["name"], "bert", "text-embedding", "module encoder"]
    parts += ["input_ids i64 [batch,tokens]", "last_hidden_state f32 [batch,tokens,48]", "openvino"]
    for part in parts + [member["path"] for member in manifest["members"]]:
        assert part in text, part


def test_verify_accepts_a_whole_bundle(tmp_path: Path) -> None:
    manifest = json.loads(succeed("inspect", BERT, "--json"))
    result = json.loads(succeed("verify", BERT, "--json"))
    assert result["ok"] is True
    assert result["damaged"] == []
    assert result["id"] == manifest["id"]
    assert result["members"] == len(manifest["members"]) + 1
    assert succeed("verify", BERT).startswith(b"ok  ")
    succeed("unpack", BERT, tmp_path / "out")
    succeed("verify", tmp_path / "out")


def test_verify_names_the_damaged_members(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    succeed("unpack", BERT, folder)
    damaged = ["assets/tokenizer.json", "modules/encoder/graph.json"]
    for name in damaged:
        path = folder / name
        path.chmod(0o644)
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    result = run("verify", folder, "--json")
    assert result.code == 1
    assert [entry["path"] for entry in json.loads(result.out)["damaged"]] == damaged
    fail(1, ["2 of", *damaged], "verify", folder)


@pytest.mark.parametrize("place", [0.02, 0.3, 0.6, 0.95])
def test_verify_finds_a_flipped_bit(place: float, tmp_path: Path) -> None:
    data = bytearray(BERT.read_bytes())
    data[int(len(data) * place)] ^= 1
    path = tmp_path / "flipped.bundle"
    path.write_bytes(data)
    fail(1, ["flipped.bundle"], "verify", path)


def test_verify_removes_damaged_blobs_of_the_store(tmp_path: Path) -> None:
    store = tmp_path / "store"
    expected = succeed("embed", BERT, "--text", "a cat", "--json", store=store)
    blob = max((store / "blobs").iterdir(), key=lambda path: path.stat().st_size)
    blob.chmod(0o644)
    data = bytearray(blob.read_bytes())
    first = 8 + int.from_bytes(data[:8], "little")  # the tensors of a safetensors file begin behind its header
    data[first : first + 64] = b"\xff" * 64  # f32: not a number
    blob.write_bytes(data)
    fail(1, ["not finite", "mconnect verify"], "embed", BERT, "--text", "a cat", store=store)
    result = run("verify", BERT, "--json", "--store", store)
    assert (result.code, json.loads(result.out)["removed_from_store"]) == (1, [blob.name])
    assert "the next load extracts them again" in result.err
    assert succeed("verify", BERT, "--store", store).startswith(b"ok  ")
    assert succeed("embed", BERT, "--text", "a cat", "--json", store=store) == expected


def test_unpack_makes_a_folder_that_runs_without_a_store(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    report = json.loads(succeed("unpack", BERT, folder, "--json"))
    assert report["folder"] == str(folder)
    from_folder = succeed("embed", folder, "--text", "a cat", "--json", store=tmp_path / "store")
    assert not (tmp_path / "store").exists()
    assert from_folder == succeed("embed", BERT, "--text", "a cat", "--json", store=tmp_path / "store")


def test_unpack_never_writes_into_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").write_text("mine")
    fail(1, ["full"], "unpack", BERT, tmp_path / "full")
    assert [p.name for p in (tmp_path / "full").iterdir()] == ["file"]
    fail(1, ["file"], "unpack", BERT, tmp_path / "full/file")


def test_unpack_names_a_parent_that_does_not_exist(tmp_path: Path) -> None:
    fail(
        1, [f"the folder {tmp_path}/absent does not exist", "create it first"], "unpack", BERT, tmp_path / "absent/out"
    )
