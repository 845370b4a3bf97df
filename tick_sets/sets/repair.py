"""Changes an existing tick set: its assumptions, and which of its imports stay."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from market.instruments.assets import Assumption
from tick_sets.errors import ImportRejectedError, reject
from tick_sets.file_names import MANIFEST
from tick_sets.rows.arrow_columns import MarketKey
from tick_sets.rows.imported_markets import ImportedMarkets, MarketWords
from tick_sets.sets.assumptions import alike_of
from tick_sets.sets.builder import TickSetBuilder
from tick_sets.sets.manifest import REJECTED, ImportedSource, Manifest
from tick_sets.sets.place import leftovers_of, set_lock
from tick_sets.sets.rebuild import Kept, Progress, keep_rows, key_of, manifest_of
from tick_sets.sets.source_rows import Ranks, Span
from tick_sets.sets.tick_set import TickSet, complete_tick_set, first_unconverted

SHORTEST_CHECKSUM = 8
"""Least characters of a checksum that name a file."""
_NEVER = 2**63 - 1


@dataclass(frozen=True, slots=True)
class SetChanges:
    """What the user asks for; nothing: to look at the set, and to put right what a killed import left."""

    alike: tuple[Assumption, ...] = ()
    unlike: tuple[str, ...] = ()
    """Assets that count as themselves again."""
    settlement_currency: str | None = None
    files: tuple[str, ...] = ()
    """Imports that go, each by its file's name or the beginning of its checksum."""
    markets: tuple[MarketKey, ...] = ()
    """Those that go."""


@dataclass(frozen=True, slots=True)
class Repaired:
    """The set after the repair, and messages of what was done."""

    manifest: Manifest
    done: tuple[str, ...]


def repair_set(folder: Path, changes: SetChanges, progress: Progress) -> Repaired:
    """Repair the set. Raises ImportRejectedError in one sentence; then all is as it was."""
    name, folder = folder.name, folder.resolve()
    done = _recovered(folder)
    if changes == SetChanges():
        tick_set = _checked(folder)
        return Repaired(tick_set.manifest, done)
    with TickSetBuilder(folder) as builder:
        before = _checked(folder)
        _check_origin(before)
        kept, words = _kept(before, changes)
        remaining = {key_of(one) for one in kept.sources}
        known = tuple(one for one in before.manifest.markets if (one.exchange, one.symbol) in remaining)
        if all(one.is_fx for one in known):
            reject(folder, None, "no traded market would be left; remove it with `arbitrage sets remove`")
        counted = first_unconverted(known)
        if counted is not None:
            place = f"{counted.exchange} {counted.symbol}"
            reject(folder, None, f"took contracts of {place} for base amounts; let it go with --drop-market '{place}'")
        markets, ranks = ImportedMarkets(known, MarketWords(alike=_alike(before.manifest, changes))), Ranks()
        keep_rows(builder, before, kept, markets, ranks, progress)
        builder.keep_rejected(before.folder / REJECTED, _files_gone(before.manifest.sources, kept.sources))
        settlement = changes.settlement_currency or before.manifest.settlement_currency
        manifest = manifest_of(name, settlement, markets, kept.sources, before.manifest)
        progress("writing", 0)
        whole = builder.finish(manifest, ranks.places())
    return Repaired(whole, (*done, *words))


def _recovered(folder: Path) -> tuple[str, ...]:
    """Return the set, recovered. Raises ImportRejectedError if there is no such set, or a process is building it."""
    found = leftovers_of(folder)
    if found is None and not folder.exists():
        reject(folder, None, "is no tick set; `arbitrage sets list` names those that there are")
    with set_lock(folder):
        pass
    if not folder.exists():
        reject(folder, None, "was never complete: its partial files were removed; import its files again")
    return () if found is None else (found,)


def _checked(folder: Path) -> TickSet:
    """Return the set. Raises ImportRejectedError if a part of it cannot be read as its manifest says."""
    if not (folder / MANIFEST).is_file():
        reject(folder, None, "has no manifest.json, without which its contents are unknown; import its files again")
    tick_set = complete_tick_set(folder)
    for partition in tick_set.manifest.partitions:
        path = tick_set.path(partition)
        try:
            with pq.ParquetFile(path) as file:
                rows = file.metadata.num_rows
        except (OSError, pa.ArrowInvalid):
            reject(path, None, "is damaged; remove the set with `arbitrage sets remove` and import its files again")
        if rows != partition.rows:
            reject(path, None, f"has {rows} rows, while its manifest says {partition.rows}; import its files again")
    return tick_set


def _check_origin(before: TickSet) -> None:
    manifest = before.manifest
    if manifest.origin != "import" or any(source.exchange is None for source in manifest.sources):
        reject(
            before.folder, None, "was created from a recording by a backtest, and is created again after its removal"
        )


def _alike(manifest: Manifest, changes: SetChanges) -> tuple[Assumption, ...]:
    """Return what counts as what now. Raises ImportRejectedError for an asset that counts as itself already."""
    found = {one.asset_id: one for one in alike_of(manifest)}
    for asset_id in changes.unlike:
        if found.pop(asset_id, None) is None:
            listed = ", ".join(f"{one.asset_id} as {one.counts_as}" for one in found.values()) or "nothing as another"
            raise ImportRejectedError(
                f"{manifest.name}: does not count {asset_id} as another asset; it counts {listed}"
            )
    return tuple((found | {one.asset_id: one for one in changes.alike}).values())


def _kept(before: TickSet, changes: SetChanges) -> tuple[Kept, tuple[str, ...]]:
    """Return what stays, and what goes, in words. Raises ImportRejectedError."""
    manifest, sources = before.manifest, before.manifest.sources
    gone = {number for name in changes.files for number in _named(manifest, name)}
    for key in changes.markets:
        of_market = {number for number, source in enumerate(sources) if key_of(source) == key}
        if not of_market:
            listed = ", ".join(dict.fromkeys(" ".join(key_of(source)) for source in sources))
            raise ImportRejectedError(f"{manifest.name}: has no market {' '.join(key)}; it has {listed}")
        gone |= of_market
    dropped: dict[MarketKey, list[Span]] = {}
    for key, span in _spans(sources, gone):
        dropped.setdefault(key, []).append(span)
    words = []
    for one in (sources[number] for number in sorted(gone)):
        words.append(f"dropped: {one.rows:,} quotes of {' '.join(key_of(one))} of {one.name}")
    left = tuple(source for number, source in enumerate(sources) if number not in gone)
    return Kept(left, dropped), tuple(words)


def _named(manifest: Manifest, name: str) -> list[int]:
    """Return numbers of the sources. Raises ImportRejectedError if it is no import of the set, or might be several."""
    every = list(enumerate(manifest.sources))
    found = [number for number, one in every if one.name == name or _begins(one.sha256, name)]
    checksums = sorted({str(manifest.sources[number].sha256) for number in found})
    if not found:
        listed = ", ".join(dict.fromkeys(one.name for one in manifest.sources))
        raise ImportRejectedError(f"{manifest.name}: has no import {name}; it has {listed}")
    if len(checksums) > 1:
        listed = ", ".join(checksum[:SHORTEST_CHECKSUM] for checksum in checksums)
        raise ImportRejectedError(f"{manifest.name}: has {len(checksums)} imports {name}; say which: {listed}")
    return found


def _begins(checksum: str | None, name: str) -> bool:
    return checksum is not None and len(name) >= SHORTEST_CHECKSUM and checksum.startswith(name.lower())


def _spans(sources: tuple[ImportedSource, ...], gone: set[int]) -> Iterator[tuple[MarketKey, Span]]:
    """Return the times of what goes: from its first row to before the next import's. Raises ImportRejectedError if one
    that stays has a row at the very same time, for which nothing says whose it is."""
    for key in dict.fromkeys(key_of(sources[number]) for number in gone):
        mine = [number for number, one in enumerate(sources) if key_of(one) == key and one.rows]
        mine.sort(key=lambda number: (sources[number].first_time, sources[number].last_time))
        for place, number in enumerate(mine):
            if number not in gone:
                continue
            for beside in (*mine[max(0, place - 1) : place], *mine[place + 1 : place + 2]):
                if beside not in gone:
                    _check_apart(sources[number], sources[beside])
            after = mine[place + 1] if place + 1 < len(mine) else None
            yield key, (sources[number].first_time, _NEVER if after is None else sources[after].first_time)


def _check_apart(source: ImportedSource, other: ImportedSource) -> None:
    """Raise ImportRejectedError if the two sources share a time."""
    if source.first_time <= other.last_time and other.first_time <= source.last_time:
        raise ImportRejectedError(
            f"{source.name} and {other.name} both have a row of {' '.join(key_of(source))} at one time; drop the "
            f"whole market, and import again what is to stay"
        )


def _files_gone(before: tuple[ImportedSource, ...], left: tuple[ImportedSource, ...]) -> frozenset[str]:
    return frozenset(one.name for one in before) - {one.name for one in left}
