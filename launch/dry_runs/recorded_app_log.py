"""The log that a stream app is run over again: of a recorded session, or of a tick set."""

from collections.abc import Iterable
from pathlib import Path

from backtest.apps.recorded_log import RECORDED, kept_log, merged_log, recorded_log
from backtest.apps.recorded_messages import RecordedPartition, recorded_ticks
from backtest.verify.recorded_session import RecordedSession, open_session
from cep.apps.hosts.hosted_app import AppSource
from cep.apps.hosts.product_streams import read_streams
from launch.apps.region import REGION
from launch.errors import CannotStartError
from launch.sessions.recorded_sessions import recorded_session
from launch.sessions.recording import build_log
from launch.sessions.tick_set_names import named_set
from streams.topics import TICKS


def recorded_partitions(home: Path, source: AppSource, name: str) -> list[RecordedPartition]:
    """Return the partitions. Raises CannotStartError, CannotVerifyError, ImportRejectedError if there is no such
    recording."""
    folders = recorded_folders(home, name, dict(source.variables).get(REGION))
    kept = [one for folder in folders for one in kept_log(source, folder / "log")]
    if kept:
        return kept
    session = _named_session(folders)
    lacking = _only_kept(source)
    if lacking is not None:
        raise CannotStartError(
            f"{name}: has {lacking}; they are recorded only if this version of the app, with the same --var, "
            "was run on the session while that was recorded with --record."
        )
    there = (TICKS,) if session is None else RECORDED
    absent = next((one.name for one in read_streams(source.app) if one.topic not in there), None)
    if absent is not None:
        raise CannotStartError(
            f"{name}: has no recorded {absent!r}; apps on `ticks` and `quotes` can be replayed, and of a "
            "session recorded with --record those on `opportunities`, `trades`, `fills` and `rejections` too."
        )
    if session is None and source.outside.tables:
        raise CannotStartError(f"{name}: an app with a stored table is replayed over a recorded session.")
    if session is None:
        ticks = recorded_ticks(named_set(home, (name,)), None)
        return [merged_log(source, one.partition, [(TICKS, one)]) if source.is_merged else one for one in ticks]
    return recorded_log(source, session)


def _only_kept(source: AppSource) -> str | None:
    """Return which of its rows exist only in an input log that was kept while it ran."""
    if source.outside.calls:
        return "no responses to the app's requests"
    if source.outside.topics:
        return "no rows of the app's own topics"
    if source.outside.received:
        return "no rows that the app's sources received"
    return None if source.shared is None else "no rows that the app got of other regions"


def _named_session(folders: Iterable[Path]) -> RecordedSession | None:
    for folder in folders:
        build_log(folder / "log")
        return open_session(folder)
    return None


def recorded_folders(home: Path, name: str, region: str | None) -> list[Path]:
    """Return the folders of a recorded session with that name; of one with regions that of `region`."""
    found = (recorded_session(home, name, region), Path(name))
    return [folder for folder in found if folder is not None and (folder / "log").is_dir()]
