"""Which apps of a run have ended by themselves, and why: on disk, since a worker that comes after one that was killed
must not begin them again."""

import os
from pathlib import Path

NAME = "ended"


def note_end(folder: Path, sentence: str) -> None:
    """`folder`: the app's. The first sentence counts: what comes after it, of other partitions, follows from it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    scratch = folder / f"{NAME}.{os.getpid()}"
    scratch.write_text(sentence)
    try:
        os.link(scratch, folder / NAME)
    except FileExistsError:
        return
    finally:
        scratch.unlink()


def noted_end(folder: Path) -> str | None:
    """Why the app has ended; None if it has not."""
    try:
        return (folder / NAME).read_text()
    except FileNotFoundError:
        return None


def forget_end(folder: Path) -> None:
    """Forget the end, so that the app is begun again."""
    (folder / NAME).unlink(missing_ok=True)
