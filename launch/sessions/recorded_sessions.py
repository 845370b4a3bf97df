"""Finds recorded sessions, those that have their own log as a tick set, and the other tick sets of a data folder. Opens
none of them."""

from collections.abc import Iterator
from pathlib import Path

from launch.errors import CannotStartError
from launch.setup.data_dir import REGIONS
from pricefeeds.recording.feed_recorder import recordings_folder
from tick_sets.file_names import LOG_SET, MANIFEST

SETS = "ticks"
LOG_TICKS = Path("log", LOG_SET)
"""Below a recorded session: its log as a tick set."""


def recorded_session(home: Path, session_id: str, region: str | None = None) -> Path | None:
    """Return the folder of the session with this id, in the data folder or in one of the modes' folders in it; if it
    had regions, that of `region`, or of the first one by name. Raises CannotStartError if it had others."""
    found = (recordings_folder(root) / session_id for root in _homes(home))
    regions = {path.parents[1].name: path for path in recorded_regions(home, session_id)}
    if regions and region is not None and region not in regions:
        raise CannotStartError(f"session {session_id} has no log of region {region}, only of {', '.join(regions)}.")
    of_region = regions.values() if region is None or not regions else (regions[region],)
    return next((path for path in (*found, *of_region) if path.is_dir()), None)


def recorded_regions(home: Path, session_id: str) -> Iterator[Path]:
    """Return the folders of the session's regions, each with a log of its own."""
    for region in sorted((home / REGIONS).glob("*")):
        folder = recordings_folder(region) / session_id
        if folder.is_dir():
            yield folder


def region_of(folder: Path) -> str | None:
    """Return the region of a recorded session's folder; None if that had no regions."""
    *_, regions, region, recordings, _ = ("", "", *folder.resolve().parts)
    return region if (regions, recordings) == (REGIONS, recordings_folder(folder).name) else None


def recorded_logs(home: Path) -> Iterator[tuple[str, Path]]:
    """Return session id and tick set folder of each recorded session that has its log."""
    for root in _homes(home):
        for path in sorted(recordings_folder(root).glob(f"*/{LOG_TICKS}/{MANIFEST}")):
            yield path.parents[2].name, path.parent


def set_folders(home: Path) -> dict[str, Path]:
    """Return the folder of each set by the name that commands take, of a recorded session its id."""
    imported = {path.parent.name: path.parent for path in (home / SETS).glob(f"*/{MANIFEST}")}
    return dict(sorted((dict(recorded_logs(home)) | imported).items()))


def manifests(home: Path) -> tuple[tuple[str, int], ...]:
    """Return the name of each set, and the modification time of its manifest."""
    found = ((name, folder / MANIFEST) for name, folder in set_folders(home).items())
    return tuple((name, path.stat().st_mtime_ns) for name, path in found if path.exists())


def _homes(home: Path) -> list[Path]:
    """Return the data folders of sessions: those at live prices and for real have their own."""
    return [home, *sorted(path for path in home.glob("*") if recordings_folder(path).is_dir())]
