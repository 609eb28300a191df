"""Writes a bundle: one file, the same bytes for the same inputs. `docs/bundle-format.md` describes it."""

import contextlib
import hashlib
import os
import struct
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

import zstandard

from tools.builder.bundle.format import (
    BLOCK,
    FOOTER_MAGIC,
    FORMAT,
    FRAME,
    MANIFEST,
    MAX_INDEX_SIZE,
    MAX_MEMBER_SIZE,
    MAX_MEMBERS,
    SKIPPABLE_MAGIC,
    TAR_END,
    BundleError,
    check_paths,
    tar_header,
)
from tools.builder.bundle.manifest import canonical_json, validate_manifest
from tools.builder.bundle.work_folder import work_folder

# Trained weights hardly compress: level 1 takes 8 to 9 % off at several hundred MB/s a core and higher levels take off
# nothing more. Text is small and compresses well, so it gets a level at which effort still pays.
_WEIGHTS_LEVEL = 1
_LEVEL = 9


def write_bundle(
    path: str | os.PathLike[str],
    manifest: Mapping[str, Any],
    members: Mapping[str, bytes | Path],
    *,
    build_keys: Mapping[str, str] | None = None,
    threads: int | None = None,
    work: Path | None = None,
) -> str:
    """Writes the bundle `path` and returns its id, the sha256 of its manifest.json.

    Args:
      path: the file to write. It appears complete or not at all and replaces what was there.
      manifest: every key of the manifest but `members` (and `format`, which may be left out).
      members: content of each member by its path: bytes, or a file, which is streamed and never held in memory.
      build_keys: 64 hex digits for each member whose bytes vary from build to build. The id covers the key in place of
        the content.
      threads: how many compress; the bytes do not depend on it.
      work: a folder of `path`'s file system for the file on its way; one is made and removed where there is none.

    Raises:
      BundleError: the manifest or a member breaks a rule of the format.
      OSError: a file cannot be read or written.
    """
    keys = dict(build_keys or {})
    if "members" in manifest:
        raise BundleError("manifest: the key 'members' is filled in by the writer")
    if len(members) > MAX_MEMBERS:
        raise BundleError(f"{len(members)} members, more than the limit of {MAX_MEMBERS}")
    if unknown := sorted(keys.keys() - members.keys()):
        raise BundleError(f"build_keys: there is no member {unknown[0]!r}")
    paths = sorted(members)
    check_paths(paths)
    digests = {name: _digest(name, members[name]) for name in paths}
    rows = [{"path": name, "size": digests[name][0], **_identity(keys.get(name), digests[name][1])} for name in paths]
    complete = {"format": FORMAT, **manifest, "members": rows}
    validate_manifest(complete)
    content = canonical_json(complete)
    identity = hashlib.sha256(content).hexdigest()
    sources: dict[str, bytes | Path] = {MANIFEST: content, **{name: members[name] for name in paths}}
    digests[MANIFEST] = (len(content), identity)
    with _replacing(Path(path), work) as out:
        _write(out, sources, digests, threads or len(os.sched_getaffinity(0)))
    return identity


def _identity(build_key: str | None, sha256: str) -> dict[str, str]:
    return {"sha256": sha256} if build_key is None else {"build_key": build_key}


def _chunks(source: bytes | Path) -> Iterator[bytes]:
    if isinstance(source, bytes):
        for start in range(0, len(source), FRAME):
            yield source[start : start + FRAME]
        return
    with open(source, "rb") as file:
        while chunk := file.read(FRAME):
            yield chunk


def _digest(name: str, source: bytes | Path) -> tuple[int, str]:
    """(size, sha256) of a member."""
    size, sha256 = 0, hashlib.sha256()
    for chunk in _chunks(source):
        size += len(chunk)
        sha256.update(chunk)
    if size > MAX_MEMBER_SIZE:
        raise BundleError(f"member {name!r} has {size} bytes, more than the limit of {MAX_MEMBER_SIZE}")
    return size, sha256.hexdigest()


def _frames(name: str, source: bytes | Path, digest: tuple[int, str]) -> Iterator[bytes]:
    """The member's part of the tar stream (header, content, padding), cut into what one frame holds."""
    size, sha256 = 0, hashlib.sha256()
    pending = bytearray(tar_header(name, digest[0]))
    for chunk in _chunks(source):
        size += len(chunk)
        sha256.update(chunk)
        pending += chunk
        while len(pending) >= FRAME:
            yield bytes(pending[:FRAME])
            del pending[:FRAME]
    if (size, sha256.hexdigest()) != digest:
        raise BundleError(f"member {name!r}: {source!s} changed while the bundle was written")
    pending += bytes(-size % BLOCK)
    if pending:
        yield bytes(pending)


class _Compressor:
    """Independent frames, each with its content's size and checksum; a zstd context for each thread and level."""

    def __init__(self) -> None:
        self._contexts = threading.local()

    def __call__(self, level: int, content: bytes) -> bytes:
        contexts: dict[int, zstandard.ZstdCompressor] = self._contexts.__dict__.setdefault("by_level", {})
        if level not in contexts:
            contexts[level] = zstandard.ZstdCompressor(
                level=level, write_checksum=True, write_content_size=True, write_dict_id=False
            )
        return contexts[level].compress(content)


def _write(
    out: IO[bytes], sources: Mapping[str, bytes | Path], digests: Mapping[str, tuple[int, str]], threads: int
) -> None:
    compress = _Compressor()
    pending: deque[tuple[list[int], Future[bytes]]] = deque()

    def drain(limit: int) -> None:
        while len(pending) > limit:
            sizes, future = pending.popleft()
            sizes.append(out.write(future.result()))

    index: list[dict[str, object]] = []
    with ThreadPoolExecutor(threads) as pool:
        for name, source in sources.items():
            size, sha256 = digests[name]
            sizes: list[int] = []
            index.append({"path": name, "size": size, "sha256": sha256, "frames": sizes})
            level = _WEIGHTS_LEVEL if name.startswith("weights/") or name.endswith(".plan") else _LEVEL
            for content in _frames(name, source, digests[name]):
                pending.append((sizes, pool.submit(compress, level, content)))
                drain(2 * threads)
        drain(0)
    end = out.write(compress(_LEVEL, TAR_END))
    encoded = canonical_json({"format": FORMAT, "members": index, "end": end})
    if len(encoded) > MAX_INDEX_SIZE:
        raise BundleError(f"the index has {len(encoded)} bytes, more than the limit of {MAX_INDEX_SIZE}")
    footer = hashlib.sha256(encoded).digest() + struct.pack("<QII", len(encoded), FORMAT, 0) + FOOTER_MAGIC
    out.write(struct.pack("<II", SKIPPABLE_MAGIC, len(encoded) + len(footer)) + encoded + footer)


@contextlib.contextmanager
def _replacing(path: Path, work: Path | None) -> Iterator[IO[bytes]]:
    """A file that takes the place of `path` when the block ends well and leaves nothing when it does not."""
    with work_folder(path) if work is None else contextlib.nullcontext(work) as folder:
        partial = folder / "bundle"
        with partial.open("wb") as file:
            yield file
            file.flush()
            os.fchmod(file.fileno(), 0o644)
            os.fsync(file.fileno())
        os.replace(partial, path)
