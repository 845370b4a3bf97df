"""Recorded files that a replay knows, as a tick set: read once, kept in the data folder under a name by content."""

import hashlib
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa

from backtest.own_recordings import load_own_recording
from backtest.profile_recordings import Recording, load_recording
from backtest.replay_profiles import ReplayProfile, profile_for
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
        _build(folder, load_recording(profile, files), checksums)
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
        _build(folder, recording, checksums)
    return open_tick_set(folder)


def _build(folder: Path, recording: Recording, checksums: dict[Path, str]) -> None:
    profile = recording.profile
    manifest = Manifest(
        name=folder.name,
        title=profile.title,
        origin="session" if profile.name == "own" else "import",
        settlement_currency=profile.settlement_currency,
        markets=recording.markets,
        sources=_sources(recording, checksums),
        partitions=(),
        quotes=len(recording.quotes),
        assumptions=(*(one.said for one in profile.alike), *profile.assumptions),
        alike=profile.alike,
    )
    with TickSetBuilder(folder, manifest.bases) as builder:
        rows = iter(recording.rows())
        while chunk := list(islice(rows, CHUNK_ROWS)):
            builder.add(_table(chunk))
        builder.finish(manifest)


def _sources(recording: Recording, checksums: dict[Path, str]) -> tuple[ImportedSource, ...]:
    """Return the sources; rejected rows are counted over all files, and stand at the first."""
    rejected = dict(recording.rejected)
    if recording.outside:
        rejected["fx_outside_traded_time"] = recording.outside
    return tuple(
        ImportedSource(
            name=path.name,
            format=recording.profile.name,
            sha256=checksums[path],
            rows=len(recording.quotes) if number == 0 else 0,
            rejected=rejected if number == 0 else {},
        )
        for number, path in enumerate(recording.files)
    )


def _table(rows: Iterable[Quote | FeedMark]) -> pa.Table:
    return pa.Table.from_pylist(list(_source_rows(rows)), schema=SOURCE_SCHEMA)


def _source_rows(rows: Iterable[Quote | FeedMark]) -> Iterator[dict[str, object]]:
    """Return source rows; they come in the order of the log already, so all ranks are alike."""
    for row in rows:
        # rates stand in every base's log
        is_fx = row.kind.startswith("fx")
        fields: dict[str, object] = {
            "base": None if is_fx else row.base,
            "rank": 0,
            "kind": row.kind,
            "exchange": row.exchange,
            "symbol": row.symbol,
            "received_time": row.received_time,
            "sequence": row.sequence,
        }
        yield fields | _prices(row) if isinstance(row, Quote) else fields


def _prices(quote: Quote) -> dict[str, object]:
    bid, ask = quote.bids[0], quote.asks[0]
    return {
        "exchange_time": quote.exchange_time,
        "bid_price": float(bid.price),
        "ask_price": float(ask.price),
        "bid": text_of(bid.price),
        "bid_amount": text_of(bid.amount),
        "ask": text_of(ask.price),
        "ask_amount": text_of(ask.amount),
        "bids": _levels(quote.bids),
        "asks": _levels(quote.asks),
    }


def _levels(levels: tuple[Level, ...]) -> str | None:
    return levels_text(levels) if len(levels) > 1 else None


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _name_of(checksums: Iterable[str]) -> str:
    return hashlib.sha256("".join(sorted(checksums)).encode()).hexdigest()[:12]
