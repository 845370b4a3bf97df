"""How much room a folder's disk has left."""

import shutil
from pathlib import Path

MEGABYTE = 1_000_000
ROOM_BYTES = 1024**3
"""Left free by what people bring, since the stores of a session need it."""


def free_bytes(folder: Path) -> int:
    """Return what this user may still write there. Raises OSError if there is no such folder."""
    return shutil.disk_usage(folder).free


def known_free_bytes(folder: Path) -> int | None:
    """None if that is not known: reports of all else must not end with the folder."""
    try:
        return free_bytes(folder)
    except OSError:
        return None


def megabytes(size: int) -> str:
    return f"{size // MEGABYTE:,} MB"
