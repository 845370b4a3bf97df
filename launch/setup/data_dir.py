"""The data folder: holds everything that a run writes; a lock restricts it to one run at a time."""

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from launch.errors import CannotStartError
from launch.setup.unfinished_restore import finish_restore

if TYPE_CHECKING:
    from session.session import Session

RUN_FILE = "run.json"
"""The session that runs in the data folder."""
CERTIFICATES = "certificates"
"""Where `arbitrage certificates` keeps what it makes, unless another folder is named."""
REGIONS = "regions"
"""Below the data folder of a session with regions: a data folder of each."""


def home_folder() -> Path:
    """Return `ARBITRAGE_HOME`, else `.data` in the current folder."""
    return Path(os.environ.get("ARBITRAGE_HOME") or ".data").resolve()


@contextmanager
def locked(home: Path) -> Iterator[None]:
    """Lock the data folder for this process. Raises CannotStartError if another run holds it, or it is unusable."""
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
        finish_restore(home)
        yield


def session_runs(home: Path) -> bool:
    """Return whether a process holds the data folder's lock."""
    try:
        with (home / "lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def is_private(folder: Path) -> bool:
    """Return whether no other user of this machine can read it."""
    return not folder.stat().st_mode & 0o077


def make_private(folder: Path) -> None:
    """Create the folder if it is missing, and make it private to this user. Shared folders such as /tmp stay as they
    are."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    rights = folder.stat()
    is_shared = rights.st_mode & stat.S_ISVTX and rights.st_mode & stat.S_IWOTH
    if rights.st_uid == os.geteuid() and not is_shared and not is_private(folder):
        folder.chmod(0o700)


@contextmanager
def process_lock(home: Path, name: str) -> Iterator[None]:
    """Lock one process name of a session: two processes would write the same checkpoint or sequence.

    Raises CannotStartError if another process holds it.
    """
    folder = home / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / name).open("a+") as lock:
        owner = _owner_after_locking(lock)
        if owner is not None:
            raise CannotStartError(f"{name} of this session is already running (process {owner}).")
        yield


def _owner_after_locking(lock: TextIO) -> str | None:
    """Return the process id of the lock's holder; None if it is ours now. The kernel frees it even after kill -9."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        return lock.read().strip() or "unknown"
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()
    return None


def read_session(home: Path) -> "Session":
    """Return the session described in this data folder. Raises CannotStartError if there is none."""
    try:
        from session.session import Session

        session = Session.from_json((home / RUN_FILE).read_bytes())
        # a description that is carried to other machines has no absolute path of it
        return replace(session, home=home / session.home)
    except FileNotFoundError:
        raise CannotStartError(
            f"{home / RUN_FILE} is not there: no session runs; start one with `arbitrage paper`, or name the "
            "data folder of one that runs by ARBITRAGE_HOME."
        ) from None
    except ValueError as error:
        raise CannotStartError(f"{home / RUN_FILE} is damaged ({error}); restart `arbitrage paper`.") from error


def write_atomically(path: Path, content: bytes) -> None:
    """Write so that readers see the old file or the new one; only the owner may read it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(path.name + ".new")
    scratch.unlink(missing_ok=True)
    scratch.touch(mode=0o600)
    scratch.write_bytes(content)
    scratch.replace(path)


def check_writable(path: Path, option: str = "--json") -> None:
    """Raise CannotStartError if the result cannot be written to `path`, which `option` named."""
    if path.is_dir() or not path.name:
        raise CannotStartError(f"{path}: is a folder; name a file for {option}.")
    folder = path.absolute().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise CannotStartError(f"{path}: {folder} is not a writable folder; choose another for {option}.")
    probe = path.absolute().with_name(f".{path.name}.probe")
    try:
        # some folders have write permission and still accept no file
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise CannotStartError(f"{path}: cannot be created ({error.strerror}); choose another for {option}.") from error


def backtest_log(home: Path) -> Path:
    """Return the log of commands that use Spark, appended to by every run."""
    return home / "logs" / "backtest-spark.log"


def ready_file(home: Path, name: str) -> Path:
    """Return the file that a process writes once it is ready; it holds its process id."""
    return home / "ready" / name


def bot_name(exchange: str, number: int) -> str:
    """Return the process name of a bot; the first bot of an exchange has no number."""
    return f"bot-{exchange}" if number == 1 else f"bot-{exchange}-{number}"
