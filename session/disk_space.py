"""How much room the data folder's disk has left, and what that means for a session."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

MEGABYTE = 1_000_000

DiskLevel = Literal["enough", "low", "reduce_only", "stop"]


@dataclass(frozen=True, slots=True)
class DiskBounds:
    """Bytes below which people are warned, nothing new is traded, and the session is ended in good order.

    Reduce-only alone does not stop what feeds, detection and recordings write; the last bound is what keeps mongod
    alive, which aborts on a full disk. Its journal takes 100 MB at once.
    """

    warn: int = 2_000 * MEGABYTE
    reduce: int = 600 * MEGABYTE
    stop: int = 300 * MEGABYTE

    def level(self, free: int) -> DiskLevel:
        if free < self.stop:
            return "stop"
        if free < self.reduce:
            return "reduce_only"
        return "low" if free < self.warn else "enough"


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
