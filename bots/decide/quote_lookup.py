"""The newest quotes of a few markets, looked up at the end of the log when asked: a bot need not follow every row."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from market.instruments.markets import FxRoute
from market.prices.opportunities import FxRate
from market.prices.quotes import Quote
from streams.message_format import WireError, quote_of, row_of
from streams.records import Position, Record

FIRST_ROWS = 250
WIDER = 8
MOST_ROWS = 16_000
"""Looked through per partition before a market counts as silent: three seconds at 5,000 rows a second."""

MarketKey = tuple[str, str]
"""(exchange, symbol)."""


@dataclass(frozen=True, slots=True)
class SeenQuote:
    """A quote as the log last said it. `verified_time`: when its feed last said that it holds, microseconds."""

    quote: Quote
    verified_time: int
    offset: int

    def is_fresh(self, now: int, max_age: int) -> bool:
        """By market time, both in microseconds."""
        return now - self.verified_time <= max_age


@dataclass(frozen=True, slots=True)
class QuoteSighting:
    """What some rows at the end of the log say of one market; `seen` None where it was withdrawn, or not decided."""

    is_decided: bool = False
    """Whether its newest quote, or its withdrawal, is among the rows."""
    seen: SeenQuote | None = None
    verified_time: int = 0
    """Of the newest `alive` row behind that."""


class Glance(Protocol):
    """`streams.latest_rows.TopicGlance`, as it is used here."""

    async def newest(self, rows: int) -> list[Record]: ...


@dataclass(slots=True)
class NewestQuotes:
    """A quiet market's quote may lie far back: what was seen before counts where no row in between was passed over."""

    glance: Glance
    first_rows: int = FIRST_ROWS
    _known: dict[MarketKey, SeenQuote | None] = field(default_factory=dict)
    _read_to: dict[MarketKey, Mapping[Position, int]] = field(default_factory=dict)
    """The offsets up to which `_known` is true."""

    async def look(self, wanted: Collection[MarketKey]) -> dict[MarketKey, SeenQuote]:
        """Those of `wanted` that have a quote. Raises StreamUnavailableError."""
        rows = self.first_rows
        while True:
            records = await self.glance.newest(rows)
            sightings = sighted(records, wanted)
            unsure = [key for key in wanted if not sightings[key].is_decided and not self._goes_on(key, records)]
            if not unsure or rows >= MOST_ROWS or not _may_reach_back(records):
                break
            rows *= WIDER
        for key in wanted:
            self._remember(key, sightings[key], records, is_unsure=key in unsure)
        return {key: seen for key in wanted if (seen := self._known[key]) is not None}

    def _remember(self, key: MarketKey, sighting: QuoteSighting, records: Sequence[Record], *, is_unsure: bool) -> None:
        seen = sighting.seen
        if not sighting.is_decided and not is_unsure and (known := self._known.get(key)) is not None:
            seen = replace(known, verified_time=max(known.verified_time, sighting.verified_time))
        self._known[key] = seen
        ends = dict(self._read_to.get(key, {})) | {record.position: record.offset + 1 for record in records}
        self._read_to[key] = ends

    def _goes_on(self, key: MarketKey, records: Iterable[Record]) -> bool:
        """Whether these rows begin where those known of the market ended, or before."""
        read_to = self._read_to.get(key)
        if read_to is None:
            return False
        return all(first <= read_to.get(position, 0) for position, first in _firsts(records).items())


def sighted(records: Sequence[Record], wanted: Collection[MarketKey]) -> dict[MarketKey, QuoteSighting]:
    """What the rows, in the order of each partition, say of each of `wanted`. Rows of no schema are passed over.

    Rows are taken apart from the newest back, and only those that name a market not decided yet.
    """
    sightings = dict.fromkeys(wanted, QuoteSighting())
    marks = {key: tuple(f'"{name}"'.encode() for name in key) for key in wanted}
    for record in reversed(records):
        named = [
            key for key, (exchange, symbol) in marks.items() if exchange in record.value and symbol in record.value
        ]
        if not named:
            continue
        row = _row(record)
        key = (str(row.get("exchange")), str(row.get("symbol")))
        if key in marks:
            sightings[key] = _sighting(sightings[key], row, record.offset)
            if sightings[key].is_decided:
                del marks[key]
                if not marks:
                    break
    return sightings


def fx_rate_of(seen: SeenQuote, route: FxRoute) -> FxRate:
    quote = seen.quote
    return FxRate(route.currency, route.symbol, route.inverted, quote.bid, quote.ask, quote.quote_id)


def _sighting(later: QuoteSighting, row: Mapping[str, Any], offset: int) -> QuoteSighting:
    """With one row more, older than those before."""
    match row.get("kind"):
        case "withdrawn" | "fx_withdrawn":
            return replace(later, is_decided=True)
        case "alive" | "fx_alive":
            time = row.get("received_time")
            return replace(later, verified_time=max(later.verified_time, time)) if isinstance(time, int) else later
        case "quote" | "fx":
            return _quoted(later, row, offset)
        case _:
            return later


def _quoted(later: QuoteSighting, row: Mapping[str, Any], offset: int) -> QuoteSighting:
    try:
        quote = quote_of(row)
    except WireError:
        return later
    return QuoteSighting(True, SeenQuote(quote, max(quote.received_time, later.verified_time), offset))


def _row(record: Record) -> Mapping[str, Any]:
    try:
        return row_of(record.value)
    except WireError:
        return {}


def _firsts(records: Iterable[Record]) -> dict[Position, int]:
    firsts: dict[Position, int] = {}
    for record in records:
        firsts.setdefault(record.position, record.offset)
    return firsts


def _may_reach_back(records: Iterable[Record]) -> bool:
    return any(first > 0 for first in _firsts(records).values())
