"""Bundle format 1, the parts that are arithmetic: limits, member paths, tar headers. See `docs/bundle-format.md`.

`runtime/bundle/format.cc` is the same in C++; the two are held together by tests that read here what was written there.
"""

import re

FORMAT = 1
"""The format that this module writes. It stands in the manifest, in the index and in the footer."""

BLOCK = 512
"""Bytes of a tar block (POSIX.1-1988, ustar)."""

FRAME = 4 << 20
"""Bytes of tar stream in each zstd frame but a member's last."""

TAR_END = bytes(2 * BLOCK)
"""What ends a tar stream."""

SKIPPABLE_MAGIC = 0x184D2A5D
"""Magic number of the skippable frame that holds the index (RFC 8878, section 3.1.2)."""

FOOTER_MAGIC = b"MCBUNDLE"
"""Last eight bytes of a bundle."""

MANIFEST = "manifest.json"
DIGESTS = "sha256sums"
"""Name of the digests in the folder form. Reserved: no member may have it."""

MAX_PATH = 255
MAX_MEMBERS = 65536
MAX_MEMBER_SIZE = 1 << 40
MAX_MANIFEST_SIZE = 16 << 20
MAX_INDEX_SIZE = 16 << 20

_NAME, _PREFIX = 100, 155
_OCTAL_SIZE_LIMIT = 8 << 30
_SEGMENT = re.compile(r"[A-Za-z0-9._+=@-]+")


class BundleError(ValueError):
    """What was to be bundled breaks a rule of the format. The message names the place, the rule and the value."""


def check_path(path: str) -> None:
    """Raises `BundleError` unless `path` may name a member.

    It must be relative, with `/` between segments of `A-Za-z0-9._+=@-`, none of them all dots, at most 255 characters
    long, and such that ustar can split it into a prefix and a name.
    """
    if len(path) > MAX_PATH:
        raise BundleError(f"member path {path[:60]!r}... has {len(path)} characters, more than the limit of {MAX_PATH}")
    for segment in path.split("/"):
        if not _SEGMENT.fullmatch(segment):
            raise BundleError(
                f"member path {path!r}: the segment {segment!r} is not one or more of A-Z a-z 0-9 . _ + = @ -"
            )
        if not segment.strip("."):
            raise BundleError(f"member path {path!r}: the segment {segment!r} is all dots")
    _split(path)


def check_paths(paths: list[str]) -> None:
    """Raises `BundleError` unless the paths can live in one folder on any file system.

    Each must be valid and not reserved, no two may differ only in case, none may be a folder of another.
    """
    folded: dict[str, str] = {}
    for path in paths:
        check_path(path)
        if path in (MANIFEST, DIGESTS):
            raise BundleError(f"member path {path!r} is reserved")
        if (other := folded.setdefault(path.lower(), path)) != path:
            raise BundleError(f"member paths {other!r} and {path!r} differ only in case")
    for path in paths:
        parts = path.lower().split("/")
        for end in range(1, len(parts)):
            if (folder := folded.get("/".join(parts[:end]))) is not None:
                raise BundleError(f"member path {folder!r} is a folder of the member {path!r}")


def _split(path: str) -> tuple[str, str]:
    """ustar's (prefix, name): all in the name when it fits, else cut at the leftmost `/` that leaves one that fits."""
    if len(path) <= _NAME:
        return "", path
    cut = path.find("/", len(path) - _NAME - 1)
    if cut < 0 or cut > _PREFIX:
        raise BundleError(
            f"member path {path!r} has no '/' that leaves at most {_PREFIX} characters before it and {_NAME} after it"
        )
    return path[:cut], path[cut + 1 :]


def tar_header(path: str, size: int) -> bytes:
    """The 512 bytes before a member's content: a ustar header whose every field follows from the path and the size.

    Mode 0644, owner 0, time 0. From 8 GiB on the size is in base 256, as GNU tar and libarchive write it.
    """
    prefix, name = _split(path)
    encoded_size = b"%011o\0" % size if size < _OCTAL_SIZE_LIMIT else b"\x80" + size.to_bytes(11, "big")
    header = bytearray(
        name.encode().ljust(_NAME, b"\0")
        + b"0000644\0" + b"0000000\0" * 2  # mode, uid, gid
        + encoded_size + b"00000000000\0"  # mtime
        + b" " * 8 + b"0" + bytes(100)  # checksum, type, link name
        + b"ustar\x0000" + bytes(64)  # magic, version, user and group name
        + bytes(16)  # device numbers
        + prefix.encode().ljust(_PREFIX, b"\0") + bytes(12)
    )  # fmt: skip
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header)
