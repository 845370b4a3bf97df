"""Runs the rows of several markets, in one order, through the kernel for cycles: tables in, hits out, best first."""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from importlib import import_module
from math import inf, log, nan
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from cep.detection.kernel.cycle_records import CYCLE_MARKET, CYCLE_RULES, CycleHits, CycleState, room_for
from cep.detection.kernel.log import HIT_CAPACITY, KINDS, codes_of, encoded, kernel_rows
from cep.detection.kernel.records import NONE, PASSED_OVER, KernelRows, Numbers, Words
from market.decide.settings import Settings
from market.instruments.cycles import Cycle
from market.instruments.fees import base_rate, quote_rate
from market.instruments.markets import Market
from market.instruments.orders import Side

KERNEL = "cep.detection.kernel.cycle_kernel"
"""Imported on use, as the other kernel is."""
BPS = 10000.0
SLACK = 1e-9
"""By which the bar of logarithms is lowered: far more than their error, so that no cycle is missed."""


@dataclass(frozen=True, slots=True)
class CycleRules:
    """What detection takes from settings; times in microseconds."""

    emit_net_bps: float
    max_quote_age: int
    enabled_exchanges: Collection[str]
    taker_fees: Mapping[str, Decimal]


NO_RULES = CycleRules(nan, 0, (), {})
"""Without settings nothing qualifies."""


def cycle_rules(settings: Settings) -> CycleRules:
    age = settings.max_quote_age_ms * 1_000
    return CycleRules(settings.emit_net_bps, age, settings.enabled_exchanges, settings.taker_fees)


@dataclass(frozen=True, slots=True)
class CycleHit:
    """A cycle that pays at the row of that number; for each leg the row and the sequence of its quote. `time` in
    microseconds."""

    cycle: int
    row: int
    time: int
    net_bps: float
    rows: tuple[int, ...]
    sequences: tuple[int, ...]


def cycle_hit_id(cycle: Cycle, sequences: Sequence[int]) -> str:
    """Return the id of what was found: the same cycle at the same quotes has the same one."""
    quotes = (
        f"{leg.market.exchange}:{leg.market.symbol}:{sequence}"
        for leg, sequence in zip(cycle.legs, sequences, strict=True)
    )
    return hashlib.sha256("|".join((cycle.cycle_id, *quotes)).encode()).hexdigest()[:32]


class CycleTick(NamedTuple):
    """One row of a market of that number; `kind` as in `KINDS`. A mark has no prices."""

    kind: int
    market: int
    time: int
    sequence: int
    bid: float = nan
    ask: float = nan


class CycleLog:
    """Knows the newest quote of each market of the cycles. Rows are numbered from 0 in the order in which they are
    given."""

    def __init__(self, cycles: Sequence[Cycle], rules: CycleRules) -> None:
        self.cycles = tuple(cycles)
        self.markets = tuple(dict.fromkeys(leg.market for cycle in cycles for leg in cycle.legs))
        self._places = {(market.exchange, market.symbol): n for n, market in enumerate(self.markets)}
        self._book = _book(self.cycles, self.markets)
        self._room = room_for(max(HIT_CAPACITY, 2 * len(self.cycles)))
        self._next = 0
        self.apply(rules)

    def apply(self, rules: CycleRules) -> None:
        """Let these rules hold for all rows to come, and for the quotes that hold by then."""
        own, share = self._book.rules, rules.emit_net_bps / BPS
        own["emit_net_bps"], own["max_quote_age"] = rules.emit_net_bps, rules.max_quote_age
        own["least_log"] = -inf if share <= -1.0 else log(1.0 + share) - SLACK
        for number, market in enumerate(self.markets):
            record = self._book.markets[number]
            record["is_enabled"] = market.exchange in rules.enabled_exchanges
            fee = rules.taker_fees.get(market.exchange)
            for side in ("buy", "sell"):
                kept = float("nan") if fee is None else kept_share(market, "buy" if side == "buy" else "sell", fee)
                record[f"kept_{side}ing"] = kept
        if self._next:
            import_module(KERNEL).price_again(self._book.markets)

    def number_of(self, exchange: str, symbol: str) -> int | None:
        """Return the number of a market among `markets`; None if it is in no cycle."""
        return self._places.get((exchange, symbol))

    def seen(self, number: int) -> int | None:
        """Return when the market's quote was last confirmed; None if it has none that holds."""
        market = self._book.markets[number]
        return None if market["row"] == NONE else int(market["seen"])

    def take(self, tick: CycleTick) -> list[CycleHit]:
        """Return what pays at one more row, as `found` would; for those who have rows one by one."""
        rows, words = self._single
        rows.kinds[0], rows.symbols[0] = tick.kind, tick.market
        rows.times[0] = rows.seen[0] = tick.time
        rows.sequences[0], rows.bids[0], rows.asks[0] = tick.sequence, tick.bid, tick.ask
        count, _ = import_module(KERNEL).scan_cycles(
            rows._replace(first=self._next), 0, 1, words, self._book, self._room
        )
        self._next += 1
        return list(self._in_order(self._room, count)) if count else []

    @cached_property
    def _single(self) -> tuple[KernelRows, Words]:
        """Room for one row of which kind and market are their own codes."""
        kinds, exchanges, symbols = (np.zeros(1, np.int32) for _ in range(3))
        times, seen, sequences = (np.zeros(1, np.int64) for _ in range(3))
        bids, asks = (np.zeros(1, np.float64) for _ in range(2))
        rows = KernelRows(0, kinds, exchanges, symbols, times, seen, sequences, bids, asks)
        places = np.arange(len(self.markets), dtype=np.int32).reshape(1, -1)
        return rows, Words(codes_of(list(range(max(KINDS.values()) + 1))), places, codes_of([]), codes_of([]))

    @property
    def held_rows(self) -> Numbers:
        """Numbers of the rows that later hits may refer to, ascending."""
        rows = self._book.markets["row"]
        return np.unique(rows[rows != NONE])

    def found(self, table: pa.Table) -> Iterator[CycleHit]:
        """Return what pays, row after row and in each the best first; equal ones in the cycles' order."""
        kinds, exchanges, symbols = (encoded(table, name) for name in ("kind", "exchange", "symbol"))
        rows = kernel_rows(self._next, table, kinds[0], exchanges[0], symbols[0])
        words = self._words(kinds[1], exchanges[1], symbols[1])
        self._next += len(table)
        scan, start = import_module(KERNEL).scan_cycles, 0
        while start < len(table):
            count, start = scan(rows, start, len(table), words, self._book, self._room)
            yield from self._in_order(self._room, count)

    def _in_order(self, hits: CycleHits, count: int) -> Iterator[CycleHit]:
        found = hits.found[:count]
        for place in np.lexsort((found["cycle"], -found["net_bps"], found["row"])).tolist():
            row, time, number, net_bps = found[place].tolist()
            legs = len(self.cycles[number].legs)
            rows, sequences = (each[place, :legs].tolist() for each in (hits.rows, hits.sequences))
            yield CycleHit(number, row, time, net_bps, tuple(rows), tuple(sequences))

    def _words(self, kinds: list[str | None], exchanges: list[str | None], symbols: list[str | None]) -> Words:
        places = [[self._places.get((one or "", symbol or ""), NONE) for symbol in symbols] for one in exchanges]
        return Words(
            kind=codes_of([PASSED_OVER if kind is None else KINDS.get(kind, PASSED_OVER) for kind in kinds]),
            slot=np.array(places, dtype=np.int32).reshape(len(exchanges), len(symbols)),
            route=codes_of([]),
            source=codes_of([]),
        )


def load_cycle_kernel(cycles: Sequence[Cycle]) -> None:
    """Load the machine code of `take` and `apply`, or compile it if it is not cached yet. There is a cycle."""
    log = CycleLog(cycles, NO_RULES)
    log.take(CycleTick(PASSED_OVER, 0, 0, 0))
    log.apply(NO_RULES)


def kept_share(market: Market, side: Side, fee_rate: Decimal) -> float:
    """Return what is left of one unit at a price of 1, after the fee."""
    base, quote = (float(of(market, side, fee_rate)) for of in (base_rate, quote_rate))
    return (1.0 - base) / (1.0 + quote) if side == "buy" else (1.0 - quote) / (1.0 + base)


def _book(cycles: Sequence[Cycle], markets: Sequence[Market]) -> CycleState:
    numbers: Mapping[Market, int] = {market: number for number, market in enumerate(markets)}
    legs = [leg for cycle in cycles for leg in cycle.legs]
    containing: list[list[int]] = [[] for _ in markets]
    for number, cycle in enumerate(cycles):
        for leg in cycle.legs:
            containing[numbers[leg.market]].append(number)
    state = np.zeros(len(markets), CYCLE_MARKET)
    state["row"] = state["sequence"] = NONE
    state["buy_log"] = state["sell_log"] = -np.inf
    return CycleState(
        markets=state,
        first_leg=codes_of([0, *np.cumsum([len(cycle.legs) for cycle in cycles]).tolist()]),
        leg_market=codes_of([numbers[leg.market] for leg in legs]),
        leg_sells=codes_of([int(leg.side == "sell") for leg in legs]),
        first_cycle=codes_of([0, *np.cumsum([len(some) for some in containing]).tolist()]),
        cycles=codes_of([number for some in containing for number in some]),
        rules=np.zeros(1, CYCLE_RULES),
    )
