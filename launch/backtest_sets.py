"""Which recorded ticks a name on the command line means, and which there are in the data folder."""

from pathlib import Path

from backtest.profile_sets import set_of_files, set_of_recording
from launch.errors import CannotStartError
from launch.home import locked_part
from market.backtests import TickSetSummary
from pricefeeds.errors import ImportRefusedError
from pricefeeds.ticksets.manifest import MANIFEST, read_manifest
from pricefeeds.ticksets.reading import TickSet, open_tick_set

SETS = "ticks"
RECORDINGS = "recordings"
LOG = "log"
"""Below a recorded session: its log as a tick set."""


def named_set(home: Path, names: tuple[str, ...]) -> TickSet:
    """A tick set by name or folder, a recorded session by its folder, or files of one replay profile.

    Raises ImportRefusedError, CannotStartError.
    """
    if len(names) == 1:
        for folder in _folders(home, names[0]):
            if (folder / MANIFEST).is_file():
                return open_tick_set(folder)
        for folder in (Path(names[0]), home / RECORDINGS / names[0]):
            if folder.is_dir():
                with locked_part(home, "backtest-import"):
                    return set_of_recording(home, folder)
    missing = [name for name in names if not Path(name).is_file()]
    if missing:
        raise CannotStartError(f"{missing[0]} is no tick set, no folder and no file; {_known(home)}")
    with locked_part(home, "backtest-import"):
        return set_of_files(home, tuple(map(Path, names)))


def manifests(home: Path) -> tuple[tuple[str, int], ...]:
    """Name of each set of the data folder, and when its manifest was written."""
    found = sorted((home / SETS).glob(f"*/{MANIFEST}"))
    return tuple((path.parent.name, path.stat().st_mtime_ns) for path in found if path.exists())


def known_sets(home: Path) -> list[TickSetSummary]:
    """Those of the data folder, by name; one that cannot be read, or is not whole, is none."""
    found = []
    for path in sorted((home / SETS).glob(f"*/{MANIFEST}")):
        if path.parent.name.startswith("."):
            continue
        try:
            manifest = read_manifest(path.parent)
        except ImportRefusedError:
            continue
        if not manifest.partitions:
            continue
        found.append(
            TickSetSummary(
                name=path.parent.name,
                title=manifest.title,
                exchanges=tuple(dict.fromkeys(one.exchange for one in manifest.markets if not one.is_fx)),
                bases=manifest.bases,
                quotes=manifest.quotes,
                start_time=manifest.start_time,
                end_time=manifest.end_time,
            )
        )
    return found


def _folders(home: Path, name: str) -> tuple[Path, ...]:
    """Where a tick set of that name may lie; a session's own log goes before its raw feeds."""
    path = Path(name)
    return home / SETS / name, path, path / LOG, home / RECORDINGS / name / LOG


def _known(home: Path) -> str:
    names = [one.name for one in known_sets(home)]
    return f"the data folder has {', '.join(names)}." if names else "the data folder has none; see `arbitrage import`."
