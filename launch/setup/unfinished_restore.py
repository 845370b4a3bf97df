"""The last step of a restore: what was unpacked and checked beside the data folder's files is moved among them.

It may be cut short between two moves, so whoever uses the data folder next finishes it.
"""

import shutil
from pathlib import Path

RESTORING = "restoring"
CHECKED = "checked"
"""Exists once all that is in `RESTORING`/files is complete and checked."""
_FILES = "files"


def finish_restore(home: Path) -> None:
    """Finish the moves of a restore that was cut short, if any. The caller holds the lock. Raises OSError."""
    scratch = home / RESTORING
    if not (scratch / CHECKED).exists():
        return
    for path in sorted((scratch / _FILES).iterdir()):
        path.replace(home / path.name)
    shutil.rmtree(scratch)
