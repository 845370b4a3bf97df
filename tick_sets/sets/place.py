"""Builds a set beside its place and renames it: readers see the old set or the new one, never a partial one."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tick_sets.errors import reject


def work_folder(folder: Path) -> Path:
    """Return the folder to work in: beside the set's place, so that a rename puts it there."""
    return folder.parent / f".{folder.name}.building"


def _old_folder(folder: Path) -> Path:
    return folder.parent / f".{folder.name}.old"


@contextmanager
def set_lock(folder: Path) -> Iterator[None]:
    """Lock the set, because one process at a time builds it, and clear what a killed one left. Raises
    ImportRejectedError."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder) as is_ours:
        if not is_ours:
            reject(folder, None, "is being built by another process; wait for it, or name another set")
        _recover(folder)
        try:
            yield
        finally:
            shutil.rmtree(work_folder(folder), ignore_errors=True)


def put_in_place(folder: Path) -> None:
    """Rename the new set to its place; the set of that name goes only then. Call it inside `set_lock`."""
    old = _old_folder(folder)
    if folder.exists():
        folder.rename(old)
    work_folder(folder).rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def leftovers_of(folder: Path) -> str | None:
    """Return what a killed process left of the set at `folder`, as text; None if nothing."""
    if _old_folder(folder).exists() and not folder.exists():
        return "a killed import had moved it: it was restored"
    if work_folder(folder).exists() or _old_folder(folder).exists():
        return "the partial files of a killed import were removed"
    return None


def remove(folder: Path) -> None:
    """Remove the set and all that was left of it; if it is a link, the link too. Raises ImportRejectedError if a
    process builds it."""
    place = folder.resolve()
    with set_lock(place):
        if place.exists():
            # from here on it is invisible, even if this process dies
            place.rename(work_folder(place))
    if folder.is_symlink():
        folder.unlink()


def recover(folder: Path) -> None:
    """Take a set back that a process set aside before it was killed; nothing if one is at work."""
    if folder.exists() or not _old_folder(folder).exists():
        return
    with _locked(folder) as is_ours:
        if is_ours:
            _recover(folder)


@contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Lock the folder; False if another process has it. The lock's file is removed at the end."""
    path = folder.parent / f".{folder.name}.lock"
    while True:
        with path.open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            if not _is_at(path, lock.fileno()):
                # its holder removed it after it was opened here: it locks nothing any more
                continue
            try:
                yield True
            finally:
                # while the lock is held, so that no other process takes it
                path.unlink(missing_ok=True)
            return


def _is_at(path: Path, file: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file))
    except FileNotFoundError:
        return False


def _recover(folder: Path) -> None:
    old = _old_folder(folder)
    if old.exists() and not folder.exists():
        old.rename(folder)
    shutil.rmtree(old, ignore_errors=True)
    shutil.rmtree(work_folder(folder), ignore_errors=True)
