"""What of a data folder goes into a backup: its databases, running or not, and its files."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from launch.backup.temporary_mongod import temporary_mongod
from launch.errors import CannotStartError
from launch.regions.region_sessions import REGIONS
from launch.setup.data_dir import CERTIFICATES, RUN_FILE, locked, read_session, session_runs
from launch.setup.data_layout import database_name
from launch.setup.login_files import with_logins
from launch.setup.login_rights import SUPERVISOR
from session.logins import Address
from session.session import Mode

MODES: dict[Mode, str] = {"paper": "", "public": "public", "sandbox": "sandbox", "live": "live"}
"""Mode → the folder of its sessions within the data folder. Replays and chaos runs start from nothing each time."""
RECORDS = ("exchanges", "paper")
"""Folders of the records of simulated and of paper accounts, of which the database is the other half."""
ALWAYS = ("api_keys.json",)
"""Hashes of keys, which let nobody in."""
OPTIONAL: dict[str, tuple[str, ...]] = {
    "keys": ("api_key", "exchange_accounts.json", CERTIFICATES),
    "recordings": ("recordings",),
    "ticks": ("ticks",),
    "sweeps": ("sweeps",),
}
"""Name of the option → what it includes. `keys` are secrets in plain text."""


@dataclass(frozen=True, slots=True)
class SourceDatabase:
    """A database that can be read."""

    mode: Mode
    home: Path
    name: str
    address: Address
    is_running: bool


@contextmanager
def source_databases(home: Path) -> Iterator[list[SourceDatabase]]:
    """Those of the sessions in `home`; a mongod is started for each whose session does not run, and no session can
    start meanwhile where none runs.

    Raises CannotStartError where there is none, or a session is just starting; LaunchError.
    """
    with ExitStack() as stack:
        is_running = session_runs(home)
        if not is_running:
            stack.enter_context(locked(home))
        found: list[SourceDatabase] = []
        for mode, folder in MODES.items():
            own = home / folder
            if is_running and (own / RUN_FILE).exists():
                found.append(_running_database(mode, own))
            elif (own / "mongodb").is_dir():
                name = database_name(mode)
                found.append(SourceDatabase(mode, own, name, stack.enter_context(temporary_mongod(own, name)), False))
        if is_running and not any(one.is_running for one in found):
            raise CannotStartError(
                f"{home}: what uses it has no session that can be copied, or is starting; try later."
            )
        if not found:
            raise CannotStartError(
                f"{home}: has no database of a session; a MongoDB of your own is copied while its session runs."
            )
        yield found


def _running_database(mode: Mode, home: Path) -> SourceDatabase:
    session = with_logins(read_session(home), SUPERVISOR)
    if session.regions:
        raise CannotStartError(
            f"{home}: its session has regions, each of which has a copy of the database; "
            "`arbitrage backup` copies sessions without regions."
        )
    return SourceDatabase(mode, home, session.database, Address(session.mongodb, session.mongodb.login), True)  # type: ignore[attr-defined]


def optional_files(home: Path, include: tuple[str, ...]) -> Iterator[Path]:
    """Files that go in beside databases and records."""
    names = [*ALWAYS, *(each for option in include for each in OPTIONAL[option])]
    for folder in MODES.values():
        for name in names:
            yield from files_below(home / folder / name)


def files_below(path: Path) -> Iterator[Path]:
    """The file itself, or all in the folder; links are left out, since they lead into the outer data folder."""
    if path.is_symlink():
        return
    if path.is_file():
        yield path
    elif path.is_dir():
        yield from (each for each in sorted(path.rglob("*")) if each.is_file() and not each.is_symlink())


def left_out(home: Path, include: tuple[str, ...]) -> dict[str, int]:
    """Folder → bytes of what stays out of the backup, though a session may miss it."""
    sizes: dict[str, int] = {}
    for option in OPTIONAL.keys() - set(include):
        paths = [
            path for folder in MODES.values() for name in OPTIONAL[option] for path in files_below(home / folder / name)
        ]
        if paths:
            sizes[option] = sum(path.stat().st_size for path in paths)
    regions = [path for path in files_below(home / REGIONS) if "mongodb" in path.parts]
    return sizes | ({"regions": sum(path.stat().st_size for path in regions)} if regions else {})
