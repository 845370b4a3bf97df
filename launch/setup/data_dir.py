"""The data folder: everything a run leaves behind lives in it, and one lock keeps it to one run."""

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from launch.errors import CannotStartError
from session.session import Session


def home_folder() -> Path:
    """`ARBITRAGE_HOME`, else `.data` in the current folder."""
    return Path(os.environ.get("ARBITRAGE_HOME") or ".data").resolve()


@contextmanager
def locked(home: Path) -> Iterator[None]:
    """Hold the data folder for this process. Raises CannotStartError where another run has it, or it cannot be used."""
    try:
        make_private(home)
        lock = (home / "lock").open("a+")
    except OSError as error:
        raise CannotStartError(f"{home}: cannot be used as the data folder ({error.strerror}).") from error
    with lock:
        owner = _owner_after_locking(lock)
        if owner is not None:
            raise CannotStartError(
                f"{home} is in use by a running session (process {owner}); stop that one, or set ARBITRAGE_HOME."
            )
        yield


def is_private(folder: Path) -> bool:
    """Whether nobody else on this machine may look into it."""
    return not folder.stat().st_mode & 0o077


def make_private(folder: Path) -> None:
    """Make a folder of ours where there is none, and take the rights of others away from it. One that all may write to,
    and only add to, such as /tmp, is not ours."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    rights = folder.stat()
    is_shared = rights.st_mode & stat.S_ISVTX and rights.st_mode & stat.S_IWOTH
    if rights.st_uid == os.geteuid() and not is_shared and not is_private(folder):
        folder.chmod(0o700)


@contextmanager
def process_lock(home: Path, name: str) -> Iterator[None]:
    """Only one process may be this part of a session: two would write one checkpoint or one sequence.

    Raises CannotStartError where another is.
    """
    folder = home / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / name).open("a+") as lock:
        owner = _owner_after_locking(lock)
        if owner is not None:
            raise CannotStartError(f"{name} of this session runs already (process {owner}).")
        yield


def _owner_after_locking(lock: TextIO) -> str | None:
    """Who else holds the lock; None where it is ours now. The kernel frees it even after kill -9."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        return lock.read().strip() or "unknown"
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()
    return None


def read_session(home: Path) -> Session:
    """The session of the running supervisor. Raises CannotStartError where there is none."""
    try:
        return Session.from_json((home / "run.json").read_bytes())
    except FileNotFoundError:
        raise CannotStartError(
            f"{home / 'run.json'} is not there: no session runs; start one with `arbitrage paper`."
        ) from None
    except ValueError as error:
        raise CannotStartError(f"{home / 'run.json'} is damaged ({error}); start `arbitrage paper` anew.") from error


def write_atomically(path: Path, content: bytes) -> None:
    """Readers see the old file or the new one, never half of it; only the owner may read it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(path.name + ".new")
    scratch.unlink(missing_ok=True)
    scratch.touch(mode=0o600)
    scratch.write_bytes(content)
    scratch.replace(path)


def check_writable(path: Path, option: str = "--json") -> None:
    """Raises CannotStartError where a result could not be written to `path`, which `option` named, at the end."""
    if path.is_dir() or not path.name:
        raise CannotStartError(f"{path}: is a folder; name a file for {option}.")
    folder = path.absolute().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise CannotStartError(f"{path}: {folder} is no folder that can be written to; choose another for {option}.")
    probe = path.absolute().with_name(f".{path.name}.probe")
    try:
        # some folders are writable by their rights and take no file all the same
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise CannotStartError(f"{path}: cannot be made ({error.strerror}); choose another for {option}.") from error


def ready_file(home: Path, name: str) -> Path:
    """Written by a process once it really works; holds its process id."""
    return home / "ready" / name


def bot_name(exchange: str, number: int) -> str:
    """The part of a session that is one of the bots of an exchange; the first has the exchange's name alone."""
    return f"bot-{exchange}" if number == 1 else f"bot-{exchange}-{number}"
