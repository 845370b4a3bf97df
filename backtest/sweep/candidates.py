"""Opportunities found once with the widest filter of a sweep, and priced for each of its sets.

Fees, thresholds, ages and lifetimes do not change which quotes stand beside each other at a row of the log: they
decide what is emitted there, and the figures in it. So one detection with the lowest threshold, the lowest fees and
the highest age finds all that any set would. What a set alone would have emitted follows by the formulas of
`cep.detection.net_spreads` in the same IEEE doubles and the same order of operations, to the last bit.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from backtest.detect.sighting_windows import Figures, ShownColumns, SightingWindow, side_columns
from backtest.detect.sightings import Sighting, sighting_of
from backtest.parameters import Parameters
from market.decide.settings import Settings
from market.prices.episodes import MarketPair, pair_of
from market.prices.opportunities import FxRate, Opportunity, OpportunityLeg
from tick_sets.rows.arrow_columns import MarketKey, with_column
from tick_sets.sets.exchange_times import COLUMNS, feed_delays, seen_times, trusted_markets
from tick_sets.sets.tick_set import TickSet, batches

Doubles = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

NEVER = -1
"""Age of an FX rate if a leg needs none."""


def widest_settings(sets: Iterable[Parameters]) -> Settings:
    """Return settings that emit all that any of the sets would emit. Raises ValueError without a set."""
    settings = [parameters.settings for parameters in sets]
    if not settings:
        raise ValueError("no set to detect for")
    fees = {name: min(one.taker_fees[name] for one in settings) for name in settings[0].taker_fees}
    return settings[0].model_copy(
        update={
            "emit_net_bps": min(one.emit_net_bps for one in settings),
            "taker_fees": fees,
            "enabled_exchanges": tuple(dict.fromkeys(name for one in settings for name in one.enabled_exchanges)),
            "max_quote_age_ms": max(one.max_quote_age_ms for one in settings),
        }
    )


@dataclass(frozen=True, slots=True)
class _Columns:
    """The doubles that pricing takes, one row per candidate; prices in the settlement currency."""

    buy_price: Doubles
    sell_price: Doubles
    gross_bps: Doubles
    amount: Doubles
    age: Integers
    """The age of the oldest quote or rate used, microseconds."""
    buy_exchange: npt.NDArray[np.intp]
    sell_exchange: npt.NDArray[np.intp]


@dataclass(slots=True, eq=False)
class _Priced:
    """What a set would have emitted, by their places among the candidates, with its own figures of all."""

    settings: Settings
    rows: Integers
    fee_bps: Doubles
    net_bps: Doubles
    profits: Doubles
    made: dict[int, Sighting] = field(default_factory=dict)
    """Those that somebody asked for."""

    @property
    def lifetime(self) -> int:
        """Return how long each lives, microseconds."""
        return self.settings.opportunity_lifetime_ms * 1_000

    def sighting(self, opportunities: Sequence[Opportunity], row: int) -> Sighting:
        known = self.made.get(row)
        if known is None:
            known = self.made[row] = sighting_of(self._whole(opportunities[row], row))
        return known

    def _whole(self, one: Opportunity, row: int) -> Opportunity:
        return replace(
            one,
            settings_version=self.settings.version,
            fee_bps=float(self.fee_bps[row]),
            net_bps=float(self.net_bps[row]),
            expected_profit=float(self.profits[row]),
            expires_at=one.event_time + self.lifetime,
        )


class Candidates:
    """All that the widest settings emitted, in the order in which they are traded.

    `rate_ages`: per candidate the age of the oldest FX rate used, microseconds, NEVER without one. Memory: about
    3 KB a candidate, in each worker.
    """

    def __init__(self, opportunities: Sequence[Opportunity], rate_ages: Sequence[int]) -> None:
        self.opportunities = tuple(opportunities)
        legs = [(one.buy.exchange, one.sell.exchange) for one in self.opportunities]
        self._exchanges = sorted({name for pair in legs for name in pair})
        self._columns = _columns(self.opportunities, rate_ages, self._exchanges)
        places: dict[MarketPair, int] = {}
        codes = [places.setdefault(pair_of(one), len(places)) for one in self.opportunities]
        self._pairs, self._codes = tuple(places), np.array(codes, dtype=np.int64)
        self._times = np.array([one.event_time for one in self.opportunities], dtype=np.int64)
        self._ages = tuple(
            np.array([leg.age for leg in legs], dtype=np.int64)
            for legs in ([one.buy for one in self.opportunities], [one.sell for one in self.opportunities])
        )
        self._has_rates = np.array([bool(one.fx) for one in self.opportunities], dtype=np.bool_)
        numbers: dict[str, int] = {}
        ids = [numbers.setdefault(one.opportunity_id, len(numbers)) for one in self.opportunities]
        self._ids = np.array(ids, dtype=np.int64)
        self._comes_again = len(numbers) < len(ids)
        self._books: tuple[ShownColumns, ShownColumns] | None = None
        self._last: tuple[object, _Priced] | None = None

    def under(self, settings: Settings) -> tuple[Opportunity, ...]:
        """Return what detection with `settings` alone would emit; LookupError if an exchange has no fee in them."""
        priced = self._priced(settings)
        return tuple(priced.sighting(self.opportunities, row).opportunity for row in priced.rows.tolist())

    def window_under(self, settings: Settings, start: int | None = None, end: int | None = None) -> SightingWindow:
        """Return sightings of the same, from `start` to before `end`; of several with one id the first. LookupError as
        above."""
        priced, rows = self._priced(settings), self._priced(settings).rows
        times = self._times[rows]
        first = 0 if start is None else int(np.searchsorted(times, start))
        rows = rows[first : len(rows) if end is None else int(np.searchsorted(times, end))]
        if self._comes_again:
            rows = rows[np.sort(np.unique(self._ids[rows], return_index=True)[1])]
        columns = self._columns
        numbers = rows.tolist()
        return SightingWindow(
            pairs=self._pairs,
            figures=Figures(
                codes=self._codes[rows],
                times=self._times[rows],
                expires=self._times[rows] + priced.lifetime,
                net_bps=priced.net_bps[rows],
                profits=priced.profits[rows],
                buy_ages=self._ages[0][rows],
                sell_ages=self._ages[1][rows],
                buy_prices=columns.buy_price[rows],
                sell_prices=columns.sell_price[rows],
                has_rates=self._has_rates[rows],
            ),
            currency=self.opportunities[0].currency if self.opportunities else "",
            sighting=lambda place: priced.sighting(self.opportunities, numbers[place]),
            read_books=lambda: self._books_at(rows),
            uses=lambda ids: np.array([self._is_of(row, ids) for row in numbers], dtype=np.bool_),
        )

    def read_books(self) -> tuple[ShownColumns, ShownColumns]:
        """Return the books of all candidates, read once; before a process forks its forks share them."""
        if self._books is None:
            sources = [sighting_of(one).source for one in self.opportunities]
            self._books = (
                side_columns([source.asks(0) for source in sources]),
                side_columns([source.bids(0) for source in sources]),
            )
        return self._books

    def _books_at(self, rows: Integers) -> tuple[ShownColumns, ShownColumns]:
        asks, bids = self.read_books()
        return asks.taken(rows), bids.taken(rows)

    def _is_of(self, row: int, ids: Collection[str]) -> bool:
        one = self.opportunities[row]
        return one.buy.quote_id in ids or one.sell.quote_id in ids

    def _priced(self, settings: Settings) -> _Priced:
        asked = (
            tuple(settings.taker_fees.items()),
            settings.emit_net_bps,
            settings.max_quote_age_ms,
            settings.opportunity_lifetime_ms,
            settings.enabled_exchanges,
            settings.version,
        )
        # neighbours in a grid mostly differ in settings that detection does not look at
        if self._last is None or self._last[0] != asked:
            self._last = (asked, self._priced_by(settings))
        return self._last[1]

    def _priced_by(self, settings: Settings) -> _Priced:
        columns = self._columns
        fees = np.array([float(settings.taker_fees[name]) for name in self._exchanges], dtype=np.float64)
        enabled = np.array([name in settings.enabled_exchanges for name in self._exchanges], dtype=np.bool_)
        buy_fee, sell_fee = fees[columns.buy_exchange], fees[columns.sell_exchange]
        cost = columns.buy_price * buy_fee + columns.sell_price * sell_fee
        fee_bps = cost * 10000.0 / columns.buy_price
        net_bps = columns.gross_bps - fee_bps
        profits = (columns.sell_price - columns.buy_price - cost) * columns.amount
        emitted = (net_bps >= settings.emit_net_bps) & (columns.age <= settings.max_quote_age_ms * 1_000)
        emitted &= enabled[columns.buy_exchange] & enabled[columns.sell_exchange]
        return _Priced(settings, np.flatnonzero(emitted), fee_bps, net_bps, profits)


def rate_ages(tick_set: TickSet, opportunities: Sequence[Opportunity]) -> list[int]:
    """Return per opportunity the age of the oldest FX rate that it used, which its message does not say; NEVER without
    one."""
    trusted = trusted_markets(feed_delays(tick_set))
    seen = {base: _rates_seen(tick_set, base, trusted) for base in {one.base for one in opportunities if one.fx}}
    return [max((_age(seen[one.base][rate.symbol], one) for rate in one.fx), default=NEVER) for one in opportunities]


def _rates_seen(tick_set: TickSet, base: str, trusted: frozenset[MarketKey]) -> Mapping[str, tuple[Integers, Integers]]:
    """Return FX symbol → offsets and times at which its rate was last known to be true, in the order of the log."""
    offsets: dict[str, list[Integers]] = {}
    times: dict[str, list[Integers]] = {}
    for table in batches(tick_set, base, ["offset", *COLUMNS]):
        is_rate = pc.is_in(table["kind"].cast(pa.string()), pa.array(["fx", "fx_alive"]))
        rates = table.filter(is_rate)
        rates = with_column(rates, "seen", pa.array(seen_times(rates, trusted)))
        symbols = rates["symbol"].cast(pa.string())
        for symbol in filter(None, symbols.unique().to_pylist()):
            mine = rates.filter(pc.equal(symbols, pa.scalar(symbol)))
            offsets.setdefault(symbol, []).append(mine["offset"].to_numpy())
            times.setdefault(symbol, []).append(mine["seen"].to_numpy())
    return {symbol: (np.concatenate(offsets[symbol]), np.concatenate(times[symbol])) for symbol in offsets}


def _age(seen: tuple[Integers, Integers], opportunity: Opportunity) -> int:
    offsets, times = seen
    place = int(np.searchsorted(offsets, opportunity.offset, side="right")) - 1
    return opportunity.event_time - int(times[place])


def _columns(opportunities: Sequence[Opportunity], ages: Sequence[int], exchanges: list[str]) -> _Columns:
    place = {name: number for number, name in enumerate(exchanges)}
    oldest = [max(one.buy.age, one.sell.age, age) for one, age in zip(opportunities, ages, strict=True)]
    return _Columns(
        buy_price=_doubles(_buy_price(one.buy, one.rate(one.buy.quote_currency)) for one in opportunities),
        sell_price=_doubles(_sell_price(one.sell, one.rate(one.sell.quote_currency)) for one in opportunities),
        gross_bps=_doubles(one.gross_bps for one in opportunities),
        amount=_doubles(min(float(one.buy.amount), float(one.sell.amount)) for one in opportunities),
        age=np.array(oldest, dtype=np.int64),
        buy_exchange=np.array([place[one.buy.exchange] for one in opportunities], dtype=np.intp),
        sell_exchange=np.array([place[one.sell.exchange] for one in opportunities], dtype=np.intp),
    )


def _doubles(numbers: Iterable[float]) -> Doubles:
    return np.fromiter(numbers, dtype=np.float64)


def _buy_price(leg: OpportunityLeg, rate: FxRate | None) -> float:
    price = float(leg.price)
    if rate is None:
        return price
    return price / float(rate.bid) if rate.inverted else price * float(rate.ask)


def _sell_price(leg: OpportunityLeg, rate: FxRate | None) -> float:
    price = float(leg.price)
    if rate is None:
        return price
    return price / float(rate.ask) if rate.inverted else price * float(rate.bid)
