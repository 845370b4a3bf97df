"""Opportunities of what detection found and `found_files` stored: equal in every field to those that readers of the
live job's messages get (`cep.detection.opportunity_messages`, `streams.message_format.opportunity_of`)."""

import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
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
from backtest.detect.sighting_windows import Flags, ShownColumns, side_columns
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
Integers = npt.NDArray[np.int64]
Side = tuple[Price, Amount, tuple[Level, ...]]
Value = TypeVar("Value")
DIGITS = 32
"""Hexadecimal digits of an id."""
_MADE_FROM = ("buy_quote", "sell_quote", "buy_rate", "sell_rate")
_READ = (
    *("base", "offset", "received_time", "pair", "settings_version", "opportunity_lifetime"),
    *("gross_bps", "fee_bps", "net_bps", "buy_age", "sell_age", *_MADE_FROM),
)
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
    return sum(len(hits) for path in files_of(folder) for hits, _ in _stored(path))


def opportunities_of(folder: Path, layout: Layout) -> Iterator[Opportunity]:
    """Return them by `backtest.simulate.trade_simulation.trading_order`, as if just detected; an id may come again.
    Memory: a batch per file. Raises WireError for a number that is not finite."""
    return (one.opportunity for one in sightings_of(folder, layout))


def sightings_of(folder: Path, layout: Layout) -> Iterator[Sighting]:
    """Return the same, each whole only once somebody asks for it."""
    return merge(*(_sightings(path, layout) for path in files_of(folder)), key=_order)


def found_ids(folder: Path) -> Iterator[FoundId]:
    """Return the id of each, file by file."""
    for path in files_of(folder):
        for hits, rows in _stored(path):
            quotes = _Rows(rows)
            columns = (hits[name].to_pylist() for name in ("base", "offset", "pair", "net_bps", *_MADE_FROM))
            for base, offset, pair, net_bps, *places in zip(*columns, strict=True):
                yield FoundId(_id_of(quotes.ids, places), base, offset, pair, net_bps)


def _order(one: Sighting) -> tuple[int, str, int, str, str]:
    base, buy_exchange, _, sell_exchange, _ = one.pair
    return one.event_time, base, one.offset, buy_exchange, sell_exchange


def files_of(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*{HITS}"))


def _stored(path: Path) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
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
    for batch in batches_of(path, layout):
        yield from map(batch.sighting, range(len(batch)))


def batches_of(path: Path, layout: Layout) -> Iterator["FoundBatch"]:
    """Return the batches of a file, in order. Raises WireError for a number that is not finite."""
    for hits, rows in _stored(path):
        yield FoundBatch(hits, rows, layout)


class FoundBatch:
    """One batch of hits with its rows: the source of its sightings, by their places in it."""

    def __init__(self, hits: pa.RecordBatch, rows: pa.RecordBatch, layout: Layout) -> None:
        for name in ("gross_bps", "fee_bps", "net_bps"):
            _finite(hits[name].to_numpy())
        self._hits, self._texts = hits, rows
        self._rows = _Rows(rows)
        self._layout = layout
        self._pairs = layout.pairs
        self._currencies = [slot.quote_currency for slot in layout.slots]
        self._columns: dict[str, list[Any]] = {name: hits[name].to_pylist() for name in _READ}
        self.expected_profits = _finite(_expected_profits(hits, rows))
        self._profits: list[float] = self.expected_profits.tolist()
        self._places = list(zip(*(self._columns[name] for name in _MADE_FROM), strict=True))

    def __len__(self) -> int:
        return len(self._profits)

    def column(self, name: str) -> Any:
        """Return a column of numbers of the hits."""
        return self._hits[name].to_numpy()

    @cached_property
    def bases(self) -> tuple[Integers, list[str]]:
        """Return a number for each hit, and the bases that the numbers stand for."""
        words = self._hits["base"].dictionary_encode()
        return words.indices.to_numpy().astype(np.int64), [str(word) for word in words.dictionary.to_pylist()]

    def books(self, start: int, end: int) -> tuple[ShownColumns, ShownColumns]:
        """Return the asks and the bids of these hits."""
        buys, sells = (self.column(name)[start:end] for name in ("buy_quote", "sell_quote"))
        return self._sides("ask", buys, self._rows.shown_asks), self._sides("bid", sells, self._rows.shown_bids)

    def uses(self, ids: Collection[str]) -> Flags:
        """Return which hits are made from one of these quotes."""
        rows = [place for place, one in enumerate(self._rows.ids) if one in ids]
        return np.isin(self.column("buy_quote"), rows) | np.isin(self.column("sell_quote"), rows)

    def _sides(self, name: str, places: Integers, shown: Callable[[int], ShownSide]) -> ShownColumns:
        used, inverse = np.unique(places, return_inverse=True)
        rows = self._texts.take(used)
        if rows[f"{name}s"].null_count < len(rows):
            return side_columns([shown(place) for place in used.tolist()]).taken(inverse)
        # the best level is all there is
        price, amount = (rows[one].cast(pa.float64()).to_numpy() for one in (name, f"{name}_amount"))
        return ShownColumns(price, amount, price, (price > 0) & (amount > 0)).taken(inverse)

    def sighting(self, number: int) -> Sighting:
        columns, rows, places = self._columns, self._rows, self._places[number]
        buy, sell, *_ = places
        time = columns["received_time"][number]
        return Sighting(
            source=self,
            number=number,
            identity="|".join([rows.ids[place] for place in places if place != NONE]),
            pair=(
                *(columns["base"][number], rows.exchanges[buy], rows.symbols[buy]),
                *(rows.exchanges[sell], rows.symbols[sell]),
            ),
            offset=columns["offset"][number],
            event_time=time,
            expires_at=time + columns["opportunity_lifetime"][number],
            net_bps=columns["net_bps"][number],
            expected_profit=self._profits[number],
            currency=self._layout.settlement,
            buy_age=columns["buy_age"][number],
            sell_age=columns["sell_age"][number],
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
