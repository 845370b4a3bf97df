"""The data folder: everything a run leaves behind lives in it, and one lock keeps it to one run."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from launch.errors import CannotStartError
from market.session import Session


def home_folder() -> Path:
    """`ARBITRAGE_HOME`, else `.data` in the current folder."""
    return Path(os.environ.get("ARBITRAGE_HOME") or ".data").resolve()


@contextmanager
def locked(home: Path) -> Iterator[None]:
    """Hold the data folder for this process; the kernel frees it even after kill -9.

    Raises CannotStartError where another run has it.
    """
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            owner = lock.read().strip() or "unknown"
            raise CannotStartError(
                f"{home} is in use by a running session (process {owner}); stop that one, or set ARBITRAGE_HOME."
            ) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


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
    """Readers see the old file or the new one, never half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_suffix(path.suffix + ".new")
    scratch.write_bytes(content)
    scratch.replace(path)


def ready_file(home: Path, name: str) -> Path:
    """Written by a process once it really works; holds its process id."""
    return home / "ready" / name
