"""A folder beside an output for what is made on the way to it."""

from __future__ import annotations

import contextlib
import enum
import fcntl
import glob
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

_ATTEMPTS = 100
"""How often a folder is made anew that another process took for a killed one's before it was locked."""


@contextlib.contextmanager
def work_folder(out: Path) -> Iterator[Path]:
    """A locked folder ".NAME.mconnect-RANDOM" beside `out`, on its file system, which is gone when the block ends.

    Removes those of the same output that killed processes left: nobody holds their locks. On a file system without
    locks nothing is removed. Raises OSError.
    """
    prefix = f".{out.name}.mconnect-"
    for old in out.parent.glob(glob.escape(prefix) + "*"):
        with _opened(old) as handle:
            if handle is not None and _lock(handle) is _Lock.TAKEN:
                shutil.rmtree(old, ignore_errors=True)
    for _ in range(_ATTEMPTS):
        made = tempfile.TemporaryDirectory(dir=out.parent, prefix=prefix, ignore_cleanup_errors=True)
        with made as name, _opened(Path(name)) as handle:
            # Between its making and its locking, another process may have taken the folder for a killed one's.
            if handle is not None and _lock(handle) is not _Lock.HELD_BY_ANOTHER and os.fstat(handle).st_nlink > 0:
                yield Path(name)
                return
    raise OSError(f"{out.parent}: {_ATTEMPTS} work folders were removed by other processes as they were made")


class _Lock(enum.Enum):
    TAKEN = enum.auto()
    HELD_BY_ANOTHER = enum.auto()
    UNSUPPORTED = enum.auto()


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[int | None]:
    """A handle on a folder, None where there is none."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        yield None
        return
    try:
        yield handle
    finally:
        os.close(handle)


def _lock(handle: int) -> _Lock:
    """Takes the lock of a folder until its handle is closed."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return _Lock.HELD_BY_ANOTHER
    except OSError:
        return _Lock.UNSUPPORTED
    return _Lock.TAKEN
