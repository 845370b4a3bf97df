"""Recorded files that a replay knows, as a tick set: read once, kept in the data folder under a name by content."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from backtest.own_recordings import load_own_recording
from backtest.profile_columns import recorded_columns
from backtest.profile_recordings import Recording, load_recording
from backtest.replay_profiles import ReplayProfile, profile_for
from market.instruments.markets import Market
from market.money import text_of
from market.prices.quotes import FeedMark, Level, Quote
from streams.message_format import levels_text
from tick_sets.file_names import MANIFEST
from tick_sets.sets.builder import TickSetBuilder
from tick_sets.sets.manifest import ImportedSource, Manifest, read_manifest
from tick_sets.sets.schema import SOURCE_SCHEMA
from tick_sets.sets.tick_set import TickSet, open_tick_set

CHUNK_ROWS = 50_000


def set_of_files(home: Path, files: tuple[Path, ...]) -> TickSet:
    """Return the tick set of files of one replay profile. Raises ImportRejectedError if they are of none."""
    profile = profile_for(files)
    checksums = {path: _checksum(path) for path in files}
    folder = home / "ticks" / f"{profile.name}-{_name_of(checksums.values())}"
    if not _is_of(folder, profile):
        _build(folder, _read(profile, files), checksums)
    return open_tick_set(folder)


def _is_of(folder: Path, profile: ReplayProfile) -> bool:
    """Return whether the set exists and its markets are those of the profile as it is now."""
    return (folder / MANIFEST).is_file() and set(read_manifest(folder).markets) <= set(profile.markets)


def set_of_recording(home: Path, recorded: Path) -> TickSet:
    """Return the tick set of a recorded session's folder of raw feeds. Raises ImportRejectedError."""
    recording = load_own_recording(recorded)
    checksums = {path: _checksum(path) for path in recording.files}
    folder = home / "ticks" / f"session-{_name_of(checksums.values())}"
    if not (folder / MANIFEST).is_file():
        _build(folder, _read_quotes(recording), checksums)
    return open_tick_set(folder)


@dataclass(frozen=True, slots=True)
class _Read:
    """Recorded files of a profile, once they are read: `quotes` of them, in `tables` of SOURCE_SCHEMA."""

    profile: ReplayProfile
    files: tuple[Path, ...]
    markets: tuple[Market, ...]
    quotes: int
    rejected: dict[str, int]
    tables: Iterator[pa.Table]


def _read(profile: ReplayProfile, files: tuple[Path, ...]) -> _Read:
    """Read the files as columns, or quote by quote if that will not do. Raises ImportRejectedError."""
    columns = recorded_columns(profile, files)
    if columns is None:
        return _read_quotes(load_recording(profile, files))
    rows = columns.rows
    return _Read(profile, columns.files, columns.markets, len(rows), columns.rejected, iter((rows,)))


def _read_quotes(recording: Recording) -> _Read:
    rejected = dict(recording.rejected)
    if recording.outside:
        rejected["fx_outside_traded_time"] = recording.outside
    rows = iter(recording.rows())
    tables = (_table(chunk) for chunk in iter(lambda: list(islice(rows, CHUNK_ROWS)), []))
    return _Read(recording.profile, recording.files, recording.markets, len(recording.quotes), rejected, tables)


def _build(folder: Path, read: _Read, checksums: dict[Path, str]) -> None:
    profile = read.profile
    manifest = Manifest(
        name=folder.name,
        title=profile.title,
        origin="session" if profile.name == "own" else "import",
        settlement_currency=profile.settlement_currency,
        markets=read.markets,
        sources=_sources(read, checksums),
        partitions=(),
        quotes=read.quotes,
        assumptions=(*(one.said for one in profile.alike), *profile.assumptions),
        alike=profile.alike,
    )
    with TickSetBuilder(folder, manifest.bases) as builder:
        for table in read.tables:
            builder.add(table)
        builder.finish(manifest)


def _sources(read: _Read, checksums: dict[Path, str]) -> tuple[ImportedSource, ...]:
    """Return the sources; rejected rows are counted over all files, and stand at the first."""
    return tuple(
        ImportedSource(
            name=path.name,
            format=read.profile.name,
            sha256=checksums[path],
            rows=read.quotes if number == 0 else 0,
            rejected=read.rejected if number == 0 else {},
        )
        for number, path in enumerate(read.files)
    )


def _table(rows: Sequence[Quote | FeedMark]) -> pa.Table:
    """Return source rows; they come in the order of the log already, so all ranks are alike."""
    quotes = [row if isinstance(row, Quote) else None for row in rows]
    sides = {side: _SideColumns() for side in ("bid", "ask")}
    for quote in quotes:
        sides["bid"].add(() if quote is None else quote.bids)
        sides["ask"].add(() if quote is None else quote.asks)
    columns: dict[str, list[Any]] = {
        # rates stand in every base's log
        "base": [None if row.kind.startswith("fx") else row.base for row in rows],
        "rank": [0] * len(rows),
        **{name: [getattr(row, name) for row in rows] for name in ("kind", "exchange", "symbol", "received_time")},
        "sequence": [row.sequence for row in rows],
        "exchange_time": [None if quote is None else quote.exchange_time for quote in quotes],
    }
    for side, column in sides.items():
        columns |= {f"{side}_price": column.prices, side: column.texts}
        columns |= {f"{side}_amount": column.amounts, f"{side}s": column.levels}
    arrays = [pa.array(columns.get(one.name, [None] * len(rows)), one.type) for one in SOURCE_SCHEMA]
    return pa.Table.from_arrays(arrays, schema=SOURCE_SCHEMA)


class _SideColumns:
    """The columns of one side of quotes; levels that stay from row to row are written as text once."""

    def __init__(self) -> None:
        self.prices: list[float | None] = []
        self.texts: list[str | None] = []
        self.amounts: list[str | None] = []
        self.levels: list[str | None] = []
        self._last: tuple[Level, ...] | None = None

    def add(self, levels: tuple[Level, ...]) -> None:
        """Add the best level, and all of them if there are more; nulls if there is none."""
        is_same = bool(levels) and levels == self._last
        self.prices.append(self.prices[-1] if is_same else float(levels[0].price) if levels else None)
        self.texts.append(self.texts[-1] if is_same else text_of(levels[0].price) if levels else None)
        self.amounts.append(self.amounts[-1] if is_same else text_of(levels[0].amount) if levels else None)
        self.levels.append(self.levels[-1] if is_same else levels_text(levels) if len(levels) > 1 else None)
        self._last = levels or None


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _name_of(checksums: Iterable[str]) -> str:
    return hashlib.sha256("".join(sorted(checksums)).encode()).hexdigest()[:12]
