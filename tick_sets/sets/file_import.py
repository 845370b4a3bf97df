"""Imports files into a tick set, completely or not at all.

Files may be added in any order and at several times: the set is rebuilt each time from its old and new files, so that
ranks cover all of it.
"""

import hashlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Never

from tick_sets.errors import ImportRejectedError, reject
from tick_sets.file_names import MANIFEST
from tick_sets.importers.import_formats import FORMATS
from tick_sets.rows.arrow_columns import MarketKey
from tick_sets.rows.checks import Judge, SeenMarket
from tick_sets.rows.file_blocks import head_of
from tick_sets.rows.import_format import OTHER_MARKET, FileOptions, Format
from tick_sets.rows.imported_markets import ImportedMarkets, MarketWords
from tick_sets.rows.special_files import check_file
from tick_sets.sets.assumptions import alike_of, import_notes, joined
from tick_sets.sets.builder import TickSetBuilder
from tick_sets.sets.manifest import REJECTED, ImportedSource, Manifest
from tick_sets.sets.place import recover
from tick_sets.sets.rebuild import Kept, Progress, keep_rows, key_of, manifest_of
from tick_sets.sets.source_rows import Ranks, source_rows
from tick_sets.sets.tick_set import TickSet, open_tick_set

UNORDERED_SHARE = 100
"""A file of which more than one row in so many goes back in time is not sorted by time at all."""


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """The user's request."""

    format: Format
    files: tuple[Path, ...]
    options: FileOptions = field(default_factory=FileOptions)
    words: MarketWords = field(default_factory=MarketWords)
    settlement_currency: str | None = None
    """None: the set's own, dollars for a new one."""


@dataclass(frozen=True, slots=True)
class Imported:
    """The set after the import, and what was added."""

    manifest: Manifest
    added: tuple[ImportedSource, ...]


def import_files(folder: Path, request: ImportRequest, progress: Progress) -> Imported:
    """Build the set at `folder`, or add to it. Raises ImportRejectedError in one sentence; then all is as it was."""
    # a set may lie elsewhere behind a link: it is built and renamed there
    name, folder = folder.name, folder.resolve()
    recover(folder)
    before = open_tick_set(folder) if (folder / MANIFEST).is_file() else None
    checksums = _checked_files(request, before)
    with TickSetBuilder(folder) as builder:
        work = _Import(builder, name, request, before, progress)
        if before is not None:
            work.keep(before)
        for path, checksum in checksums.items():
            work.read(path, checksum)
        _check_overlaps(work.sources)
        manifest = work.manifest()
        progress("writing", 0)
        manifest = builder.finish(manifest, work.ranks.places())
    return Imported(manifest, tuple(work.added))


class _Import:
    """One run of an import, file by file."""

    def __init__(
        self, builder: TickSetBuilder, name: str, request: ImportRequest, before: TickSet | None, progress: Progress
    ) -> None:
        """Begin an import. Raises ImportRejectedError if the assets named as alike contradict those of the set
        `name`."""
        self._builder = builder
        self._name = name
        self._request = request
        self._before = before.manifest if before else None
        self._known = (
            {(one.sha256, one.exchange, one.symbol): one.name for one in before.manifest.sources} if before else {}
        )
        self._progress = progress
        alike = joined(name, alike_of(before.manifest) if before else (), request.words.alike)
        known = before.manifest.markets if before else ()
        self._markets = ImportedMarkets(known, replace(request.words, alike=alike))
        self.ranks = Ranks()
        self.added: list[ImportedSource] = []

    @property
    def sources(self) -> tuple[ImportedSource, ...]:
        return (*(self._before.sources if self._before else ()), *self.added)

    def keep(self, before: TickSet) -> None:
        """Add what the set has already."""
        kept = Kept(before.manifest.sources)
        keep_rows(self._builder, before, kept, self._markets, self.ranks, self._progress)
        self._builder.keep_rejected(before.folder / REJECTED)

    def read(self, path: Path, checksum: str) -> None:
        """Read one file into the set. Raises ImportRejectedError."""
        request, judge, rejected_rows = self._request, Judge(self._markets.market_of), 0
        _check_format(path, request.format)
        for chunk in request.format.read(path, request.options):
            self._builder.add_rejected(path.name, chunk.rejected)
            rejected_rows += len(chunk.rejected)
            for judged in judge.judged(chunk):
                if (checksum, *judged.market) in self._known:
                    _reject_known(path, self._known[checksum, *judged.market])
                self._builder.add_rejected(path.name, judged.rejected)
                market = self._markets.market_of(judged.market)
                for rows in source_rows(judged, market, self.ranks, request.format):
                    self._builder.add(rows)
            self._progress(path.name, len(chunk.rows))
        judge.unreadable.check(path)
        others = _others_of(path, judge)
        for (known, _, _), name in self._known.items():
            # of one market alone it has nothing to add, whatever that is called now
            if known == checksum and not others:
                _reject_known(path, name)
        notes = import_notes(request.format, request.options)
        sources = _sources(path, checksum, request.format, judge.seen, rejected_rows)
        self.added += [replace(source, assumptions=notes) for source in sources]

    def manifest(self) -> Manifest:
        """Return the manifest without its partitions. Raises ImportRejectedError if nothing is traded in the set."""
        self._check_contracts()
        before, requested = self._before, self._request.settlement_currency
        settlement = before.settlement_currency if before else requested or "USD"
        return manifest_of(self._name, settlement, self._markets, self.sources, before)

    def _check_contracts(self) -> None:
        """Raise ImportRejectedError if a size was given, and no imported amounts count contracts."""
        added_keys = {key_of(source) for source in self.added}
        if self._request.words.contract_size is None:
            return
        if all(market.contract is None for market in map(self._markets.market_of, added_keys)):
            names = ", ".join(f"{exchange} {symbol}" for exchange, symbol in sorted(added_keys))
            raise ImportRejectedError(f"--contract-size is only for contracts, not for {names}; omit it")


def _others_of(path: Path, judge: Judge) -> int:
    """Return how many rows were not asked for; they count with the first market. Raises ImportRejectedError if
    all are."""
    if not judge.seen and judge.passed_over:
        reject(path, None, f"has no row that its mapping means; all {judge.passed_over:,} are passed over")
    for market in judge.seen.values():
        market.other_rows += judge.passed_over
        break
    return sum(market.other_rows for market in judge.seen.values())


def _checked_files(request: ImportRequest, before: TickSet | None) -> dict[Path, str]:
    """Return each file's checksum, in the order in which they were named. Raises ImportRejectedError."""
    if before is not None:
        _check_set(before, request)
    known = {source.sha256: source.name for source in before.manifest.sources} if before else {}
    checksums: dict[Path, str] = {}
    for path in request.files:
        check_file(path)
        if path.resolve() in {other.resolve() for other in checksums}:
            reject(path, None, "is named twice")
        checksum = _checksum(path)
        for other, content in checksums.items():
            if content == checksum:
                reject(path, None, f"has the same content as {other}")
        # by its mapping a file may have other markets than those that were taken of it
        if checksum in known and "mapping" not in request.format.needs:
            _reject_known(path, known[checksum])
        checksums[path] = checksum
    return checksums


def _reject_known(path: Path, name: str) -> Never:
    reject(path, None, f"is in the set already, as {name}")


def _check_set(before: TickSet, request: ImportRequest) -> None:
    """Raise ImportRejectedError if these files do not belong in the set."""
    if before.manifest.origin != "import":
        reject(before.folder, None, "is not an imported set, so files cannot be added; name another with --set")
    own, requested = before.manifest.settlement_currency, request.settlement_currency
    if requested not in (None, own):
        reject(before.folder, None, f"settles in {own}, not in {requested}; name another set with --set")


def _checksum(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ImportRejectedError(f"{path}: cannot be read ({error.strerror or error})") from error


def _check_format(path: Path, wanted: Format) -> None:
    """Raise ImportRejectedError if the file looks like another format, and not like this one."""
    head = head_of(path)
    if not head.strip():
        reject(path, None, "is empty")
    # a user who maps the columns knows what they are
    if "mapping" in wanted.needs or wanted.fits(path, head):
        return
    others = [one.name for one in FORMATS.values() if one is not wanted and one.fits(path, head)]
    if others:
        reject(path, None, f"is no {wanted.name}; it looks like {' or '.join(others)}")


def _sources(
    path: Path, checksum: str, of: Format, seen: dict[MarketKey, SeenMarket], rejected_rows: int
) -> list[ImportedSource]:
    """Return one source for each market of the file; rows that fit no market count with the first. Raises
    ImportRejectedError."""
    rejected = {reason: 0 for market in seen.values() for reason in market.rejected} | {"unreadable": rejected_rows}
    for market in seen.values():
        for reason, rows in market.rejected.items():
            rejected[reason] += rows
    rejected[OTHER_MARKET] = sum(market.other_rows for market in seen.values())
    requested = ", ".join(f"{rows} {reason}" for reason, rows in rejected.items() if rows)
    if not any(market.rows for market in seen.values()):
        reject(path, None, f"contains no usable row ({requested or 'none at all'})")
    _check_order(path, seen)
    sources = []
    for (exchange, symbol), market in seen.items():
        source = ImportedSource(
            name=path.name,
            format=of.name,
            sha256=checksum,
            rows=market.rows,
            rejected=market.rejected,
            other_rows=market.other_rows,
            exchange=exchange,
            symbol=symbol,
            first_time=market.first_time,
            last_time=market.last_time,
            is_numbered=market.is_numbered,
            is_of_bars=of.is_of_bars,
        )
        sources.append(source)
    if rejected_rows:
        first = dict(sources[0].rejected)
        first["unreadable"] = first.get("unreadable", 0) + rejected_rows
        sources[0] = replace(sources[0], rejected=first)
    return sources


def _check_order(path: Path, seen: dict[MarketKey, SeenMarket]) -> None:
    """Raise ImportRejectedError if a market's rows are not sorted by time."""
    for key, market in seen.items():
        if market.backwards > max(1, market.rows // UNORDERED_SHARE):
            why = f"times of {key[0]} {key[1]} go backwards from here, {market.backwards} times in all"
            remedy = "sort the file by time first"
            if market.rows == 1:
                remedy += ", or map its columns with newest_first = true"
            reject(path, market.first_backwards_line, f"{why}; {remedy}")


def _check_overlaps(sources: tuple[ImportedSource, ...]) -> None:
    """Raise ImportRejectedError if two files have one market at the same time, or only one numbers its
    quotes."""
    last: dict[tuple[str | None, str | None], ImportedSource] = {}
    for source in sorted((one for one in sources if one.rows), key=lambda one: (one.first_time, one.last_time)):
        key = source.exchange, source.symbol
        earlier = last.setdefault(key, source)
        market = f"{source.exchange} {source.symbol}"
        if source.first_time < earlier.last_time and source is not earlier:
            raise ImportRejectedError(
                f"{source.name} and {earlier.name} both cover {market} at the same time; import one of them"
            )
        if (source.is_numbered, source.is_of_bars) != (earlier.is_numbered, earlier.is_of_bars):
            raise ImportRejectedError(
                f"{source.name} and {earlier.name} have different kinds of data of {market} (bars, or quotes with or "
                f"without numbers); import them into sets of their own"
            )
        last[key] = source
