"""Resolves a name on the command line to a tick set, and lists the tick sets of the data folder."""

from pathlib import Path

from backtest.profile_sets import set_of_files, set_of_recording
from backtest.result.quote_spacing import is_of_bars
from launch.errors import CannotStartError
from launch.sessions.recorded_sessions import LOG_TICKS, SETS, recorded_session, set_folders
from launch.setup.data_dir import process_lock
from store.records.backtest_requests import TickSetSummary
from tick_sets.errors import ImportRejectedError
from tick_sets.file_names import LOG_SET, MANIFEST
from tick_sets.sets.manifest import read_manifest
from tick_sets.sets.problems import nothing_to_compare
from tick_sets.sets.tick_set import TickSet, open_tick_set


def named_set(home: Path, names: tuple[str, ...]) -> TickSet:
    """Return a tick set by name or folder, a recorded session by its id or folder, or files of one replay profile. Of a
    session its own log if it has one, else its raw feeds. Raises ImportRejectedError, CannotStartError."""
    if len(names) == 1:
        session = recorded_session(home, names[0])
        for folder in _folders(home, names[0], session):
            if (folder / MANIFEST).is_file():
                return open_tick_set(folder)
        for recorded in (Path(names[0]), session):
            if recorded is not None and recorded.is_dir():
                with process_lock(home, "backtest-import"):
                    return set_of_recording(home, recorded)
    missing = [name for name in names if not Path(name).is_file()]
    if missing:
        raise CannotStartError(f"{missing[0]} is not a tick set, a folder or a file; {_known(home)}")
    with process_lock(home, "backtest-import"):
        return set_of_files(home, tuple(map(Path, names)))


def known_sets(home: Path) -> list[TickSetSummary]:
    """Return the data folder's sets by name and recorded sessions by id, without those that are unreadable or
    incomplete."""
    found = []
    for name, folder in set_folders(home).items():
        if name.startswith("."):
            continue
        try:
            manifest = read_manifest(folder)
        except ImportRejectedError:
            continue
        if not manifest.partitions:
            continue
        found.append(
            TickSetSummary(
                name=name,
                title=manifest.title,
                exchanges=tuple(dict.fromkeys(one.exchange for one in manifest.markets if not one.is_fx)),
                bases=manifest.bases,
                quotes=manifest.quotes,
                start_time=manifest.start_time,
                end_time=manifest.end_time,
                is_of_bars=is_of_bars(manifest),
                lacking=nothing_to_compare(manifest.markets, None),
            )
        )
    return found


def _folders(home: Path, name: str, session: Path | None) -> tuple[Path, ...]:
    """Return candidate folders of a tick set of that name; a session's own log goes before its raw feeds."""
    path = Path(name)
    found = home / SETS / name, path, path / LOG_TICKS, path / LOG_SET
    return found if session is None else (*found, session / LOG_TICKS)


def _known(home: Path) -> str:
    names = [one.name for one in known_sets(home)]
    return (
        f"the data folder has {', '.join(names)}."
        if names
        else "the data folder has no tick sets; see `arbitrage import`."
    )
