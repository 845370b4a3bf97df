"""Looks up the newest quotes of a few markets at the end of the log, so that a bot need not consume every row."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Protocol

from market.instruments.markets import FxRoute
from market.prices.opportunities import FxRate
from market.prices.quotes import Quote
from streams.message_format import WireError, quote_of, row_of
from streams.mirrored_rows import UnrepeatedRows
from streams.records import Position, Record

FIRST_ROWS = 250
GROWTH_FACTOR = 8
ROWS_OF_REGION = 2_000
"""Rows of a region's log that are scanned per partition at least: of what a mirror brings again after a kill, while it
catches up, the originals should be among them."""
MAX_ROWS = 16_000
"""Rows scanned per partition before a market counts as without quote: three seconds at 5,000 rows a second."""

MarketKey = tuple[str, str]
"""(exchange, symbol)."""


@dataclass(frozen=True, slots=True)
class LatestQuote:
    """A market's newest quote in the log. `verified_time`: when its feed last confirmed it, microseconds."""

    quote: Quote
    verified_time: int
    offset: int

    def is_fresh(self, now: int, max_age: int) -> bool:
        """Whether it was confirmed within `max_age`; both in microseconds of market time."""
        return now - self.verified_time <= max_age


@dataclass(frozen=True, slots=True)
class QuoteScan:
    """What some rows at the end of the log say about one market; `latest` None: withdrawn, or not found yet."""

    is_decided: bool = False
    """Whether the rows contain its newest quote or withdrawal."""
    latest: LatestQuote | None = None
    verified_time: int = 0
    """Time of the newest `alive` row after that quote."""
    sequence: int = -1
    """The sequence of that quote or withdrawal."""


class LatestRecords(Protocol):
    """The part of `streams.latest_rows.LatestRows` that is used here."""

    async def newest(self, rows: int) -> list[Record]: ...


@dataclass(slots=True)
class NewestQuotes:
    """The newest quotes, with a cache: a quiet market's quote may lie far back, so an earlier result counts as long as
    no row in between was skipped.

    `region`: of the session, if it has any. Then rows come again: those whose sequence is not above that of a row
    before them, as far back as is scanned, or is below that of what was found earlier, are left out. What comes again
    of before that counts once more; its age tells that it is old, since a mirror takes seconds to start.
    """

    latest_rows: LatestRecords
    first_rows: int = FIRST_ROWS
    region: str | None = None
    rows_of_region: int = ROWS_OF_REGION
    _known: dict[MarketKey, LatestQuote | None] = field(default_factory=dict)
    _sequences: dict[MarketKey, int] = field(default_factory=dict)
    """The sequences of `_known`, withdrawals included."""
    _known_until: dict[MarketKey, Mapping[Position, int]] = field(default_factory=dict)
    """The offsets up to which `_known` is valid."""

    async def fetch(self, wanted: Collection[MarketKey]) -> dict[MarketKey, LatestQuote]:
        """Return the newest quotes of `wanted`, without markets that have none. Raises StreamUnavailableError."""
        rows = self.first_rows if self.region is None else max(self.first_rows, self.rows_of_region)
        while True:
            records = await self.latest_rows.newest(rows)
            counted = records if self.region is None else self._unrepeated(records, wanted)
            scans = scan_records(counted, wanted)
            undecided = [key for key in wanted if not scans[key].is_decided and not self._is_contiguous(key, records)]
            if not undecided or rows >= MAX_ROWS or not _may_reach_back(records):
                break
            rows *= GROWTH_FACTOR
        for key in wanted:
            self._store(key, scans[key], records, is_undecided=key in undecided)
        return {key: latest for key in wanted if (latest := self._known[key]) is not None}

    def _store(self, key: MarketKey, scan: QuoteScan, records: Sequence[Record], *, is_undecided: bool) -> None:
        latest = scan.latest
        known = self._known.get(key)
        # in a region's log what is known may be found once more, and what confirmed it since may not
        says_nothing = not scan.is_decided or (self.region is not None and scan.sequence == self._sequences.get(key))
        if says_nothing and not is_undecided and known is not None:
            latest = replace(known, verified_time=max(known.verified_time, scan.verified_time))
        self._known[key] = latest
        self._sequences[key] = max(scan.sequence, self._sequences.get(key, -1))
        ends = dict(self._known_until.get(key, {})) | {record.position: record.offset + 1 for record in records}
        self._known_until[key] = ends

    def _unrepeated(self, records: Sequence[Record], wanted: Collection[MarketKey]) -> list[Record]:
        """Return those of the rows that name one of `wanted` and count."""
        unrepeated = UnrepeatedRows()
        for partition, key in product({record.partition for record in records}, wanted):
            # the row that is known is found again where it still stands in the log
            unrepeated.last[partition, *key] = self._sequences.get(key, 0) - 1
        marks = _marks(wanted).values()
        counted = []
        for record in records:
            is_wanted = any(exchange in record.value and symbol in record.value for exchange, symbol in marks)
            if is_wanted and unrepeated.is_new(record.partition, _row(record)):
                counted.append(record)
        return counted

    def _is_contiguous(self, key: MarketKey, records: Iterable[Record]) -> bool:
        """Whether these rows begin at or before the end of those already scanned for the market."""
        read_to = self._known_until.get(key)
        if read_to is None:
            return False
        return all(first <= read_to.get(position, 0) for position, first in _first_offsets(records).items())


def scan_records(records: Sequence[Record], wanted: Collection[MarketKey]) -> dict[MarketKey, QuoteScan]:
    """Return what the rows, in partition order, say about each of `wanted`. Malformed rows are skipped.

    Rows are parsed from the newest back, and only those that name a market still undecided.
    """
    scans = dict.fromkeys(wanted, QuoteScan())
    marks = _marks(wanted)
    for record in reversed(records):
        named = [
            key for key, (exchange, symbol) in marks.items() if exchange in record.value and symbol in record.value
        ]
        if not named:
            continue
        row = _row(record)
        key = (str(row.get("exchange")), str(row.get("symbol")))
        if key in marks:
            scans[key] = _scan_row(scans[key], row, record.offset)
            if scans[key].is_decided:
                del marks[key]
                if not marks:
                    break
    return scans


def _marks(wanted: Collection[MarketKey]) -> dict[MarketKey, tuple[bytes, ...]]:
    """Return what stands in a row of each of them."""
    return {key: tuple(f'"{name}"'.encode() for name in key) for key in wanted}


def fx_rate_of(latest: LatestQuote, route: FxRoute) -> FxRate:
    quote = latest.quote
    return FxRate(route.currency, route.symbol, route.inverted, quote.bid, quote.ask, quote.quote_id)


def _scan_row(scan: QuoteScan, row: Mapping[str, Any], offset: int) -> QuoteScan:
    """`scan` with one more row, older than those before."""
    match row.get("kind"):
        case "withdrawn" | "fx_withdrawn":
            sequence = row.get("sequence")
            return replace(scan, is_decided=True, sequence=sequence if isinstance(sequence, int) else -1)
        case "alive" | "fx_alive":
            time = row.get("received_time")
            return replace(scan, verified_time=max(scan.verified_time, time)) if isinstance(time, int) else scan
        case "quote" | "fx":
            return _with_quote(scan, row, offset)
        case _:
            return scan


def _with_quote(scan: QuoteScan, row: Mapping[str, Any], offset: int) -> QuoteScan:
    try:
        quote = quote_of(row)
    except WireError:
        return scan
    verified_time = max(quote.received_time, scan.verified_time)
    return QuoteScan(True, LatestQuote(quote, verified_time, offset), verified_time, quote.sequence)


def _row(record: Record) -> Mapping[str, Any]:
    try:
        return row_of(record.value)
    except WireError:
        return {}


def _first_offsets(records: Iterable[Record]) -> dict[Position, int]:
    firsts: dict[Position, int] = {}
    for record in records:
        firsts.setdefault(record.position, record.offset)
    return firsts


def _may_reach_back(records: Iterable[Record]) -> bool:
    return any(first > 0 for first in _first_offsets(records).values())
