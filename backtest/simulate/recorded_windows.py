"""The spread windows of a recording, as live bots have them. Nothing is read until somebody asks for the first.

The age of a quote counts as it does for detection: from its exchange's time in an imported set where that can be
trusted, else from its arrival.
"""

from collections.abc import Iterable, Iterator
from heapq import merge
from operator import attrgetter

import orjson
import pyarrow as pa

from cep.detection.market_layout import Layout, layout
from cep.detection.row_kinds import FX_KINDS, QUOTE_KINDS
from cep.detection.spread_rows import LogRow
from cep.detection.spread_windows import SpreadWindows
from market.decide.settings import Settings
from market.prices.spread_statistics import SpreadWindow
from streams.message_format import settings_row
from tick_sets.rows.arrow_columns import MarketKey
from tick_sets.sets.exchange_times import feed_delays, seen_times, trusted_markets
from tick_sets.sets.tick_set import TickSet, batches

_COLUMNS = ["offset", "kind", "exchange", "symbol", "received_time", "bid_price", "ask_price", "document"]
_PIECE_ROWS = 8_192


def recorded_windows(tick_set: TickSet, settings: Settings | None) -> Iterator[SpreadWindow]:
    """Return the windows by their ends. `settings`: in force from start to end; None: those of the log. Raises
    ImportRejectedError, LookupError if a currency of the set cannot be converted."""
    own = layout(tick_set.manifest.markets, tick_set.manifest.settlement_currency)
    of_each = [_windows_of(tick_set, base, own, settings) for base in tick_set.manifest.bases]
    return merge(*of_each, key=attrgetter("end"))


def needs_windows(settings: Settings, net_bps: float) -> bool:
    """Return whether a rule looks at earlier spreads to decide on an opportunity of that spread."""
    may_be_absurd = settings.quarantine_deviations > 0 and net_bps > settings.quarantine_floor_bps
    return may_be_absurd or settings.min_share_above_10s > 0


def _windows_of(tick_set: TickSet, base: str, own: Layout, settings: Settings | None) -> Iterator[SpreadWindow]:
    opening = None if settings is None else orjson.loads(settings_row(settings, 0, (base,)))
    windows, trusted = SpreadWindows(own, opening), trusted_markets(feed_delays(tick_set))
    for table in batches(tick_set, base, [*_COLUMNS, "exchange_time"]):
        for start in range(0, len(table), _PIECE_ROWS):
            rows = _log_rows(table.slice(start, _PIECE_ROWS), base, own, trusted, follows=settings is None)
            yield from sorted(windows.closed_by(rows), key=attrgetter("end"))


def _log_rows(
    table: pa.Table, base: str, own: Layout, trusted: frozenset[MarketKey], *, follows: bool
) -> Iterable[LogRow]:
    """Return the log's rows, with its settings rows only if `follows`."""
    slots = own.slot_numbers(base)
    routes = {route.symbol: number for number, route in enumerate(own.routes)}
    columns = [*(table[name].to_pylist() for name in _COLUMNS), seen_times(table, trusted).tolist()]
    for offset, kind, exchange, symbol, received_time, bid, ask, document, seen in zip(*columns, strict=True):
        if kind == "settings":
            if follows:
                yield LogRow(base, kind, None, None, received_time, offset, settings=orjson.loads(document))
        elif kind in QUOTE_KINDS:
            slot = slots.get((exchange, symbol))
            yield LogRow(base, kind, slot, None, received_time, offset, bid, ask, seen_time=seen)
        elif kind in FX_KINDS:
            route = routes.get(symbol)
            yield LogRow(base, kind, None, route, received_time, offset, bid, ask, seen_time=seen)
