"""Rejects special files before they are opened: reading a pipe could block for ever."""

import stat
from pathlib import Path

from tick_sets.errors import reject

_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def check_file(path: Path) -> None:
    """Raise ImportRejectedError if it is no file, or cannot be reached (for example by links that lead in a circle)."""
    check_kind(path)
    if not path.exists():
        reject(path, None, "cannot be read (No such file or directory)")
    if path.is_dir():
        reject(path, None, "cannot be read (Is a directory)")


def check_kind(path: Path) -> None:
    """Raise ImportRejectedError if it is a special file; a folder, or nothing at all, is accepted."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        reject(path, None, f"cannot be read ({error.strerror or error})")
    for is_one, name in _KINDS:
        if is_one(mode):
            reject(path, None, f"is {name} and no file; write what comes out of it to a file, and name that")
