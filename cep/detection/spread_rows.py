"""The net spread of every pair of exchanges at every row of the log, row by row: `net_spreads` as a plain loop.

Spread windows need the spread of each pair at each row, whatever it is. As a DataFrame that is a running window over
every row, which takes Spark a millisecond a row and a second of planning a batch, beside detection; the loop takes some
microseconds. Doubles in the order of operations of `net_spreads`, so both agree to the last bit.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from cep.detection.market_layout import Layout
from market.decide.thresholds import net_threshold
from streams.mirrored_rows import UnrepeatedRows

BPS = 10000.0
COLUMNS = ("base", "kind", "slot", "route", "received_time", "offset", "bid", "ask", "settings")
SOURCE_COLUMNS = ("exchange", "symbol", "sequence")
RowValues = tuple[Any, ...]
"""Of `COLUMNS`, and behind them in a session with regions of `SOURCE_COLUMNS`."""


@dataclass(frozen=True, slots=True)
class LogRow:
    """One row of the log for one base; `slot` and `route` as in the layout, None if the row has none."""

    base: str
    kind: str
    slot: int | None
    route: int | None
    received_time: int
    offset: int
    bid: float | None = None
    ask: float | None = None
    settings: Mapping[str, Any] | None = None
    seen_time: int | None = None
    """When a quote or rate was known to be true, if that was before it arrived; None: then."""

    @property
    def matters(self) -> bool:
        """Whether it says anything about the markets of the session."""
        return self.slot is not None or self.route is not None or self.kind == "settings"


@dataclass(frozen=True, slots=True)
class PairSpread:
    """The spread of one pair at one row. `is_above`: at or over the trading threshold in force there."""

    buy_exchange: str
    sell_exchange: str
    net_bps: float
    is_above: bool


def rows_in_order(rows: Iterable[RowValues]) -> list[LogRow]:
    """Return the rows by offset: a base's rows are all of one partition."""
    return sorted((LogRow(*values[: len(COLUMNS)]) for values in rows), key=lambda row: row.offset)


def counted_rows(rows: Iterable[RowValues], unrepeated: UnrepeatedRows) -> list[RowValues]:
    """Return the rows, with `SOURCE_COLUMNS`, that did not come again."""
    ordered = sorted(rows, key=itemgetter(COLUMNS.index("offset")))
    counted = []
    for values in ordered:
        exchange, symbol, sequence = values[-len(SOURCE_COLUMNS) :]
        if unrepeated.counts((values[COLUMNS.index("base")], exchange, symbol), sequence):
            counted.append(values)
    return counted


@dataclass(frozen=True, slots=True)
class _Terms:
    """The settings in force."""

    max_quote_age: int
    min_net_bps: float
    by_asset: Mapping[str, float]
    by_pair: Mapping[str, float]
    fees: tuple[float | None, ...]
    """The fees of each slot; None if its exchange is not enabled or has none."""


@dataclass(slots=True)
class _Newest:
    """The newest quote of a market, or FX rate; `is_valid` until it is withdrawn, `seen` when it was last confirmed."""

    is_valid: bool = False
    bid: float | None = None
    ask: float | None = None
    seen: int | None = None

    def learn(self, row: LogRow, priced: str, withdrawn: str) -> None:
        """`priced`: the kind of a row with prices; one that is neither confirms the newest."""
        if row.kind == priced:
            self.is_valid, self.bid, self.ask = True, row.bid, row.ask
        if row.kind == withdrawn:
            self.is_valid = False
        else:
            self.seen = row.received_time if row.seen_time is None else row.seen_time

    def counts(self, now: int, oldest: int) -> bool:
        return self.is_valid and self.seen is not None and now - self.seen <= oldest


_Leg = tuple[float, float, float]
"""Buy price and sell price in the settlement currency, and fee."""


@dataclass(slots=True)
class BaseSpreads:
    """The state of one base's log. `learn` takes its rows in order."""

    layout: Layout
    opening: Mapping[str, Any] | None
    """The settings in force before the first settings row; None: none."""
    _quotes: list[_Newest] = field(init=False)
    _rates: list[_Newest] = field(init=False)
    _terms: _Terms | None = field(init=False)
    _pairs: tuple[tuple[int, int], ...] = field(init=False)
    _pairs_with: tuple[tuple[tuple[int, int], ...], ...] = field(init=False)

    def __post_init__(self) -> None:
        self._quotes = [_Newest() for _ in self.layout.slots]
        self._rates = [_Newest() for _ in self.layout.routes]
        self._terms = None if self.opening is None else _terms_of(self.opening, self.layout)
        # once: the layout computes them with each call, and they are needed at every row
        self._pairs = self.layout.pairs
        self._pairs_with = tuple(self.layout.pairs_with(number) for number in range(len(self.layout.slots)))

    def learn(self, row: LogRow) -> Iterator[PairSpread]:
        """Return the spreads at this row: of its exchange's pairs, or of all at an FX or settings row."""
        if row.kind == "settings" and row.settings is not None:
            self._terms = _terms_of(row.settings, self.layout)
        elif row.slot is not None:
            self._quotes[row.slot].learn(row, "quote", "withdrawn")
        elif row.route is not None:
            self._rates[row.route].learn(row, "fx", "fx_withdrawn")
        if row.kind == "quote" and row.slot is not None:
            return self._spreads(row, self._pairs_with[row.slot])
        return self._spreads(row, self._pairs if row.kind in ("fx", "settings") else ())

    def _spreads(self, row: LogRow, pairs: tuple[tuple[int, int], ...]) -> Iterator[PairSpread]:
        terms = self._terms
        if terms is None or not pairs:
            return
        slots, legs = self.layout.slots, [self._leg(number, row, terms) for number in range(len(self.layout.slots))]
        for buy, sell in pairs:
            buying, selling = legs[buy], legs[sell]
            if buying is None or selling is None or buying[0] == 0.0:
                continue
            (buy_price, _, buy_fee), (_, sell_price, sell_fee) = buying, selling
            gross = (sell_price - buy_price) * BPS / buy_price
            net = gross - (buy_price * buy_fee + sell_price * sell_fee) * BPS / buy_price
            names = slots[buy].exchange, slots[sell].exchange
            least = net_threshold(terms.min_net_bps, terms.by_asset, terms.by_pair, row.base, *names)
            yield PairSpread(*names, net, net >= least)

    def _leg(self, number: int, row: LogRow, terms: _Terms) -> _Leg | None:
        quote, fee, oldest = self._quotes[number], terms.fees[number], terms.max_quote_age
        bid, ask, fx = quote.bid, quote.ask, self.layout.slots[number].fx
        if fee is None or bid is None or ask is None or not quote.counts(row.received_time, oldest):
            return None
        if fx is None:
            return ask, bid, fee
        rate = self._rates[fx]
        if not rate.bid or not rate.ask or not rate.counts(row.received_time, oldest):
            return None
        if self.layout.routes[fx].inverted:
            return ask / rate.bid, bid / rate.ask, fee
        return ask * rate.ask, bid * rate.bid, fee


def _terms_of(settings: Mapping[str, Any], layout: Layout) -> _Terms:
    """Return the terms; mappings may be Arrow's lists of pairs, and what is empty may be missing."""
    enabled, fees = set(settings["enabled_exchanges"]), dict(settings["taker_fees"])
    return _Terms(
        max_quote_age=int(settings["max_quote_age"]),
        min_net_bps=float(settings["min_net_bps"]),
        by_asset=dict(settings.get("asset_thresholds") or ()),
        by_pair=dict(settings.get("pair_thresholds") or ()),
        fees=tuple(
            float(fees[slot.exchange]) if slot.exchange in enabled and slot.exchange in fees else None
            for slot in layout.slots
        ),
    )
