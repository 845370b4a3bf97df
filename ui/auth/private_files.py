"""Files of the data folder that only its owner may read, replaced as a whole."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

OWNER_ONLY = 0o600


def replace_file(path: Path, content: Callable[[], bytes]) -> None:
    """Write what `content` returns. One writer at a time runs `content`, so it may read the file first.

    A kill at any line leaves the old file or the new one. Raises what `content` raises, OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f"{path.name}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        new = content()
        draft = path.with_name(f"{path.name}.new")
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY), "wb") as file:
            file.write(new)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Flush the new name to the disk too: a revoked key must not come back after a power failure."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
