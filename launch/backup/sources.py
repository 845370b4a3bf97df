"""The parts of a data folder that go into a backup: its databases, running or not, and its files."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from launch.backup.temporary_mongod import temporary_mongod
from launch.errors import CannotStartError
from launch.setup.data_dir import CERTIFICATES, REGIONS, RUN_FILE, locked, read_session, session_runs
from launch.setup.data_layout import LAYOUT, database_name, stored_layout
from launch.setup.login_files import with_logins
from launch.setup.login_rights import SUPERVISOR
from runtime.logins import Address, login_of
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
    layout: int = LAYOUT


@contextmanager
def source_databases(home: Path) -> Iterator[list[SourceDatabase]]:
    """Return the databases of the sessions in `home`; a mongod is started for each whose session does not run, and no
    session can start meanwhile if none runs.

    Each is of the layout that its folder is marked with: one mode may be migrated, another not yet. Raises
    CannotStartError if there is none, a session is just starting, or a folder's layout is not known; LaunchError.
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
                layout = _copied_layout(own)
                name = database_name(mode, layout)
                address = stack.enter_context(temporary_mongod(own, name))
                found.append(SourceDatabase(mode, own, name, address, is_running=False, layout=layout))
        if is_running and not any(one.is_running for one in found):
            raise CannotStartError(
                f"{home}: what uses it has no session that can be copied, or is starting; try later."
            )
        if not found:
            raise CannotStartError(
                f"{home}: has no database of a session; a MongoDB of your own is copied while its session runs."
            )
        yield found


def _copied_layout(own: Path) -> int:
    layout = stored_layout(own)
    if layout is None:
        raise CannotStartError(
            f"{own}: nothing says of which layout its session data are; start a session, which moves them aside, or "
            "copy the folder while nothing runs in it."
        )
    if layout > LAYOUT:
        raise CannotStartError(f"{own}: is of a newer version (layout {layout}); back it up with that one or a later.")
    return layout


def _running_database(mode: Mode, home: Path) -> SourceDatabase:
    session = with_logins(read_session(home), SUPERVISOR)
    if session.place.regions:
        raise CannotStartError(
            f"{home}: its session has regions, each of which has a copy of the database; "
            "`arbitrage backup` copies sessions without regions."
        )
    address = session.services.mongodb
    return SourceDatabase(mode, home, session.services.database, Address(address, login_of(address)), True)


def optional_files(home: Path, include: tuple[str, ...]) -> Iterator[Path]:
    """Return the files that go in beside databases and records."""
    names = [*ALWAYS, *(each for option in include for each in OPTIONAL[option])]
    for folder in MODES.values():
        for name in names:
            yield from files_below(home / folder / name)


def files_below(path: Path) -> Iterator[Path]:
    """Return the file itself, or all in the folder; links are left out, because they lead into the outer data
    folder."""
    if path.is_symlink():
        return
    if path.is_file():
        yield path
    elif path.is_dir():
        yield from (each for each in sorted(path.rglob("*")) if each.is_file() and not each.is_symlink())


def left_out(home: Path, include: tuple[str, ...]) -> dict[str, int]:
    """Return folder → bytes of what stays out of the backup, though a session may miss it."""
    sizes: dict[str, int] = {}
    for option in OPTIONAL.keys() - set(include):
        paths = [
            path for folder in MODES.values() for name in OPTIONAL[option] for path in files_below(home / folder / name)
        ]
        if paths:
            sizes[option] = sum(path.stat().st_size for path in paths)
    regions = [path for path in files_below(home / REGIONS) if "mongodb" in path.parts]
    return sizes | ({"regions": sum(path.stat().st_size for path in regions)} if regions else {})
