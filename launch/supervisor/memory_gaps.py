"""Gaps between Python's objects, filled before a process forks.

A process that has imported much has free blocks everywhere between what stays. A fork puts its first objects there, a
few into each page, and gets a copy of each of these pages: two megabytes more in each fork. Once the gaps are full, its
objects lie together in new pages.
"""

import os
import re
import sys
import tempfile
from itertools import repeat

_CLASS = re.compile(rb"^ *\d+ +(\d+) +\d+ +\d+ +(\d+) *$", re.MULTILINE)
"""A line of `sys._debugmallocstats`: size of the blocks of a class, and how many of them are free."""
_BYTES_HEAD = sys.getsizeof(b"")
_NUMBER = sys.getsizeof(0j)


def fill_gaps() -> list[object]:
    """Return objects that fill the free blocks, for as long as they are kept; none with another allocator than
    CPython's own."""
    return [_objects(size, free) for size, free in free_blocks() if free]


def free_blocks() -> list[tuple[int, int]]:
    """Return the size of the blocks of each class in bytes, and how many are free between blocks in use."""
    if not hasattr(sys, "_debugmallocstats"):
        return []
    with tempfile.TemporaryFile() as file:
        sys.stderr.flush()
        own = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            # it writes to the descriptor
            sys._debugmallocstats()
        finally:
            os.dup2(own, 2)
            os.close(own)
        file.seek(0)
        return [(int(size), int(free)) for size, free in _CLASS.findall(file.read())]


def _objects(size: int, count: int) -> list[object]:
    """Return so many objects that take a block of that size each."""
    if size > _BYTES_HEAD:
        return list(map(bytes, repeat(size - _BYTES_HEAD, count)))
    if size >= _NUMBER:
        return list(map(complex, repeat(0, count)))
    return [object() for _ in range(count)]
