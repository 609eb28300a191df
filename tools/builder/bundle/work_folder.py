"""A folder beside an output for what is made on the way to it."""

from __future__ import annotations

import contextlib
import fcntl
import glob
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def work_folder(out: Path) -> Iterator[Path]:
    """A locked folder ".NAME.mconnect-RANDOM" beside `out`, on its file system, which is gone when the block ends.

    Removes those of the same output that killed processes left: nobody holds their locks. Raises OSError.
    """
    prefix = f".{out.name}.mconnect-"
    for old in out.parent.glob(glob.escape(prefix) + "*"):
        with _lock(old) as free:
            if free:
                shutil.rmtree(old, ignore_errors=True)
    made = tempfile.TemporaryDirectory(dir=out.parent, prefix=prefix, ignore_cleanup_errors=True)
    with made as folder, _lock(Path(folder)):
        yield Path(folder)


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[bool]:
    """Whether the folder's lock was free; then it is held until the block ends."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        yield False
        return
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)
