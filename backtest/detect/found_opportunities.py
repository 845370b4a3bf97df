"""Opportunities of what detection found and `found_files` stored: equal in every field to those that readers of the
live job's messages get (`cep.detection.opportunity_messages`, `streams.message_format.opportunity_of`)."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import count
from pathlib import Path
from sys import intern
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa

from backtest.detect.found_runs import HITS, ROWS
from backtest.detect.sightings import Sighting
from cep.detection.kernel.records import NONE
from cep.detection.market_layout import Layout
from market.instruments.orders import Side as OrderSide
from market.money import Amount, Price, decimal_of
from market.prices.opportunities import FxRate, Opportunity, OpportunityLeg
from market.prices.quotes import Level
from market.prices.shown_sides import ShownSide, shown_side
from streams.message_format import WireError, levels_of

Doubles = npt.NDArray[np.float64]
Side = tuple[Price, Amount, tuple[Level, ...]]
Value = TypeVar("Value")
DIGITS = 32
"""Hexadecimal digits of an id."""
_MADE_FROM = ("buy_quote", "sell_quote", "buy_rate", "sell_rate")
_READ = (
    *("base", "offset", "received_time", "pair", "settings_version", "opportunity_lifetime"),
    *("gross_bps", "fee_bps", "net_bps", "buy_age", "sell_age", *_MADE_FROM),
)
_FIGURES = ("base", "offset", "received_time", "opportunity_lifetime", "net_bps", "buy_age", "sell_age")
_TIMES = ("exchange_time", "received_time")


@dataclass(frozen=True, slots=True)
class FoundId:
    """What is counted of an opportunity: its id, its place in live order, and its net spread."""

    opportunity_id: str
    base: str
    offset: int
    pair: int
    net_bps: float


def count_of(folder: Path) -> int:
    """Return how many were stored."""
    return sum(len(hits) for path in _files(folder) for hits, _ in _batches(path))


def opportunities_of(folder: Path, layout: Layout) -> Iterator[Opportunity]:
    """Return them by `backtest.simulate.trade_simulation.trading_order`, as if just detected; an id may come again.
    Memory: a batch per file. Raises WireError for a number that is not finite."""
    return (one.opportunity for one in sightings_of(folder, layout))


def sightings_of(folder: Path, layout: Layout) -> Iterator[Sighting]:
    """Return the same, each whole only once somebody asks for it."""
    return merge(*(_sightings(path, layout) for path in _files(folder)), key=_order)


def found_ids(folder: Path) -> Iterator[FoundId]:
    """Return the id of each, file by file."""
    for path in _files(folder):
        for hits, rows in _batches(path):
            quotes = _Rows(rows)
            columns = (hits[name].to_pylist() for name in ("base", "offset", "pair", "net_bps", *_MADE_FROM))
            for base, offset, pair, net_bps, *places in zip(*columns, strict=True):
                yield FoundId(_id_of(quotes.ids, places), base, offset, pair, net_bps)


def _order(one: Sighting) -> tuple[int, str, int, str, str]:
    base, buy_exchange, _, sell_exchange, _ = one.pair
    return one.event_time, base, one.offset, buy_exchange, sell_exchange


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*{HITS}"))


def _batches(path: Path) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """Return (hits, their rows), batch by batch. No file is open meanwhile: a cluster may have written thousands."""
    beside = path.with_name(path.name.removesuffix(HITS) + ROWS)
    for number in count():
        with pa.memory_map(str(path)) as hits_file, pa.memory_map(str(beside)) as rows_file:
            hits, rows = pa.ipc.open_file(hits_file), pa.ipc.open_file(rows_file)
            if number == hits.num_record_batches:
                return
            batch = hits.get_batch(number), rows.get_batch(number)
        yield batch


class _Rows:
    """The rows of one batch as Python values; each row's numbers are read once, however many hits name it."""

    def __init__(self, rows: pa.RecordBatch) -> None:
        names = ("exchange", "symbol", "sequence", "bid", "bid_amount", "ask", "ask_amount", "bids", "asks")
        columns: dict[str, list[Any]] = {name: rows[name].to_pylist() for name in (*names, *_TIMES)}
        # equal names are one object: they are compared and looked up for each hit
        self.exchanges, self.symbols = ([intern(name or "") for name in columns[one]] for one in ("exchange", "symbol"))
        self.exchange_times, self.received_times = (columns[name] for name in _TIMES)
        self.ids = [":".join(map(str, parts)) for parts in zip(*(columns[name] for name in names[:3]), strict=True)]
        self.bid: list[str] = columns["bid"]
        self.ask: list[str] = columns["ask"]
        asks = self.ask, columns["ask_amount"], columns["asks"]
        bids = self.bid, columns["bid_amount"], columns["bids"]
        self.asks, self.bids = _once(_side_of(*asks)), _once(_side_of(*bids))
        self.shown_asks, self.shown_bids = _once(_shown_of("buy", *asks)), _once(_shown_of("sell", *bids))


def _once(made: Callable[[int], Value]) -> Callable[[int], Value]:
    known: dict[int, Value] = {}

    def get(place: int) -> Value:
        value = known.get(place)
        if value is None:
            value = known[place] = made(place)
        return value

    return get


def _side_of(prices: Sequence[str], amounts: Sequence[str], levels: Sequence[str | None]) -> Callable[[int], Side]:
    """Return a function of a row's place; a tick set omits the levels if there is only the best one."""

    def made(place: int) -> Side:
        price, amount = Price(decimal_of(prices[place])), Amount(decimal_of(amounts[place]))
        text = levels[place]
        return price, amount, (Level(price, amount),) if text is None else levels_of(text)

    return made


def _shown_of(
    side: OrderSide, prices: Sequence[str], amounts: Sequence[str], levels: Sequence[str | None]
) -> Callable[[int], ShownSide]:
    """Return a function of a row's place, which reads the levels as doubles."""

    def made(place: int) -> ShownSide:
        price, amount, text = prices[place], amounts[place], levels[place]
        shown = [[price, amount]] if text is None else orjson.loads(text)
        levels_at = [float(level[0]) for level in shown]
        return shown_side(side, float(price), float(amount), levels_at, is_first=shown[:1] == [[price, amount]])

    return made


def _sightings(path: Path, layout: Layout) -> Iterator[Sighting]:
    for hits, rows in _batches(path):
        yield from _Batch(hits, rows, layout).sightings()


class _Batch:
    """One batch of hits with its rows: the source of its sightings, by their places in it."""

    def __init__(self, hits: pa.RecordBatch, rows: pa.RecordBatch, layout: Layout) -> None:
        for name in ("gross_bps", "fee_bps", "net_bps"):
            _finite(hits[name].to_numpy())
        self._rows = _Rows(rows)
        self._layout = layout
        self._pairs = layout.pairs
        self._currencies = [slot.quote_currency for slot in layout.slots]
        self._columns: dict[str, list[Any]] = {name: hits[name].to_pylist() for name in _READ}
        self._profits: list[float] = _finite(_expected_profits(hits, rows)).tolist()
        self._places = list(zip(*(self._columns[name] for name in _MADE_FROM), strict=True))

    def sightings(self) -> Iterator[Sighting]:
        columns, ids, currency = self._columns, self._rows.ids, self._layout.settlement
        exchanges, symbols = self._rows.exchanges, self._rows.symbols
        read = (columns[name] for name in _FIGURES)
        figures = zip(self._places, self._profits, *read, strict=True)
        for number, (places, profit, base, offset, time, lifetime, net, buy_age, sell_age) in enumerate(figures):
            buy, sell, *_ = places
            yield Sighting(
                self,
                number,
                "|".join([ids[place] for place in places if place != NONE]),
                (base, exchanges[buy], symbols[buy], exchanges[sell], symbols[sell]),
                offset,
                time,
                time + lifetime,
                net,
                profit,
                currency,
                buy_age,
                sell_age,
            )

    def asks(self, number: int) -> ShownSide:
        return self._rows.shown_asks(self._places[number][0])

    def bids(self, number: int) -> ShownSide:
        return self._rows.shown_bids(self._places[number][1])

    def quote_ids(self, number: int) -> tuple[str, str]:
        buy, sell, _, _ = self._places[number]
        return self._rows.ids[buy], self._rows.ids[sell]

    def has_rates(self, number: int) -> bool:
        return self._places[number][2:] != (NONE, NONE)

    def opportunity(self, number: int) -> Opportunity:
        rows, at = self._rows, {name: column[number] for name, column in self._columns.items()}
        buy, sell = self._pairs[at["pair"]]
        return Opportunity(
            opportunity_id=_id_of(rows.ids, self._places[number]),
            base=at["base"],
            buy=_leg(rows, at["buy_quote"], rows.asks, self._currencies[buy], at["buy_age"]),
            sell=_leg(rows, at["sell_quote"], rows.bids, self._currencies[sell], at["sell_age"]),
            fx=self._rates((buy, at["buy_rate"]), (sell, at["sell_rate"])),
            settings_version=at["settings_version"],
            gross_bps=at["gross_bps"],
            fee_bps=at["fee_bps"],
            net_bps=at["net_bps"],
            expected_profit=self._profits[number],
            currency=self._layout.settlement,
            event_time=at["received_time"],
            detected_time=at["received_time"],
            expires_at=at["received_time"] + at["opportunity_lifetime"],
            offset=at["offset"],
        )

    def _rates(self, *used: tuple[int, int]) -> tuple[FxRate, ...]:
        """Return the rates of both legs, as (slot, place of its row); one that both use once."""
        return tuple(dict.fromkeys(self._rate(slot, place) for slot, place in used if place != NONE))

    def _rate(self, slot: int, place: int) -> FxRate:
        rows, number = self._rows, self._layout.slots[slot].fx
        return FxRate(
            currency=self._layout.slots[slot].quote_currency,
            symbol=rows.symbols[place],
            inverted=number is not None and self._layout.routes[number].inverted,
            bid=decimal_of(rows.bid[place]),
            ask=decimal_of(rows.ask[place]),
            quote_id=rows.ids[place],
        )


def _leg(rows: _Rows, place: int, side: Callable[[int], Side], currency: str, age: int) -> OpportunityLeg:
    price, amount, levels = side(place)
    return OpportunityLeg(
        rows.exchanges[place],
        rows.symbols[place],
        currency,
        price,
        amount,
        levels,
        rows.ids[place],
        age,
        rows.exchange_times[place],
        rows.received_times[place],
    )


def _id_of(ids: Sequence[str], places: Sequence[int]) -> str:
    """Return the id of an opportunity that these quotes and rates make, in the order of `_MADE_FROM`."""
    text = "|".join([ids[place] for place in places if place != NONE])
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def _expected_profits(hits: pa.RecordBatch, rows: pa.RecordBatch) -> Doubles:
    """Return the profits of the best levels alone, in the settlement currency; the doubles and the order of operations
    are those of the live job."""
    buy, sell, buy_fee, sell_fee = (
        hits[name].to_numpy() for name in ("buy_price", "sell_price", "buy_fee", "sell_fee")
    )
    shown = (
        rows[amount].cast(pa.float64()).to_numpy(zero_copy_only=False)[hits[place].to_numpy()]
        for amount, place in (("ask_amount", "buy_quote"), ("bid_amount", "sell_quote"))
    )
    profits: Doubles = (sell - buy - (buy * buy_fee + sell * sell_fee)) * np.fmin(*shown)
    return profits


def _finite(numbers: Doubles) -> Doubles:
    """Raise WireError for one that is not, as readers of messages do."""
    if not np.isfinite(numbers).all():
        raise WireError("not an opportunity: one of its numbers is not finite")
    return numbers
