"""`arbitrage restore`: puts a backup into an empty data folder, from which the next session goes on."""

import shutil
from collections.abc import Callable
from pathlib import Path

from launch.backup.archive import FILES
from launch.backup.make import report_check
from launch.backup.restored_folder import restored_folder
from launch.errors import CannotStartError, LaunchError
from launch.setup.data_dir import locked, write_atomically
from launch.setup.unfinished_restore import CHECKED, RESTORING, finish_restore
from launch.supervisor.ctrl_c import Stopping
from store.errors import StoreError

HARMLESS = frozenset({"jars", "logs", "lock", "locks", "ready", "layout", RESTORING})
"""What `make setup` and commands that only show something leave in a data folder."""

Echo = Callable[[str], None]


def run_restore(home: Path, file: Path, echo: Echo) -> int:
    """Restore the backup. Returns 0 only if the ledger reconciles.

    Nothing is in the data folder before all of the backup has been checked. Raises CannotStartError for a data folder
    in use or not empty, and for a file that is no whole backup.
    """
    path = file.absolute()
    with locked(home), Stopping(home / "logs" / "restore.log", "Nothing was restored."):
        _check_empty(home)
        scratch = home / RESTORING
        try:
            shutil.rmtree(scratch, ignore_errors=True)
            scratch.mkdir(mode=0o700)
            restored = restored_folder(path, scratch)
            shutil.rmtree(scratch / FILES / "logs", ignore_errors=True)
            write_atomically(scratch / CHECKED, b"")
            finish_restore(home)
        except (StoreError, OSError) as error:
            raise LaunchError(f"{path}: cannot be restored: {str(error).rstrip('.')}.") from error
        finally:
            if not (scratch / CHECKED).exists():
                shutil.rmtree(scratch, ignore_errors=True)
    code = report_check(path, restored, echo)
    echo(f"restored into {home}; go on with `arbitrage paper`, or whatever its sessions are started with")
    return code


def _check_empty(home: Path) -> None:
    there = sorted(each.name for each in home.iterdir() if each.name not in HARMLESS)
    if there:
        named = ", ".join(there[:3]) + (" …" if len(there) > 3 else "")
        raise CannotStartError(
            f"{home} is not empty ({named}); restore into a new data folder, named by ARBITRAGE_HOME."
        )
