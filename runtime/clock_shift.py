"""How far the clock of a region in a paper session is set off, as a file of eight bytes. Its processes have the file
mapped: a change holds in all of them at once, and a look at it reads memory."""

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from struct import Struct

CLOCK_FILE = "clock"
"""In the data folder of a region."""
_SHIFT = Struct("<q")


def keep_shift(path: Path, microseconds: int) -> None:
    """Set it; at first it makes the file. Raises OSError."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        # eight bytes at once: nobody reads half of it
        os.pwrite(descriptor, _SHIFT.pack(microseconds), 0)
    finally:
        os.close(descriptor)


def shift_at(path: Path) -> int:
    """Microseconds; 0 if there is no such file."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return 0
    return shift_in(content) if len(content) >= _SHIFT.size else 0


def shift_in(content: bytes | mmap.mmap) -> int:
    return int(_SHIFT.unpack_from(content)[0])


@contextmanager
def mapped_shift(path: Path) -> Iterator[mmap.mmap]:
    """Raise OSError, ValueError if there is no such file."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), _SHIFT.size, access=mmap.ACCESS_READ) as mapped:
        yield mapped
