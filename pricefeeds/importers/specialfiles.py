"""What is no plain file is refused before anybody opens it: a pipe would be waited for without end."""

import stat
from pathlib import Path

from pricefeeds.importers.rows import refuse

_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def check_file(path: Path) -> None:
    """Raises ImportRefusedError where it is no file, or cannot be reached (as by links that lead in a circle)."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        refuse(path, None, f"cannot be read ({error.strerror or error})")
    if stat.S_ISDIR(mode):
        refuse(path, None, "cannot be read (Is a directory)")
    for is_one, name in _KINDS:
        if is_one(mode):
            refuse(path, None, f"is {name} and no file; write what comes out of it to a file, and name that")
