"""Paths of Unix sockets in a data folder."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def short_path(home: Path, name: str) -> Iterator[str]:
    """Give a socket of a folder a short path: the kernel takes 107 bytes for it, and data folders may have longer
    paths."""
    folder = os.open(home, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{name}"
    finally:
        os.close(folder)
