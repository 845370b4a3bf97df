"""Finds cycles in a tick set: the kernel over the rows of all bases, and what each leg's book showed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from backtest.detect.merged_rows import merged_rows
from cep.detection.kernel.cycle_log import CycleHit, CycleLog, cycle_hit_id, cycle_rules
from cep.detection.kernel.log import COLUMNS, SEEN
from market.decide.settings import Settings
from market.instruments.cycles import Cycle
from market.instruments.orders import Side
from market.money import Amount, Price, decimal_of
from market.prices.quotes import Level
from streams.message_format import levels_of
from tick_sets.sets.exchange_times import feed_delays, seen_times, trusted_markets
from tick_sets.sets.tick_set import TickSet

TEXTS = ("bid", "bid_amount", "bids", "ask", "ask_amount", "asks")
Texts = tuple[str | None, ...]
"""Of one row."""


@dataclass(frozen=True, slots=True)
class CycleSighting:
    """A cycle that pays at the best prices of one row, microseconds UTC. `rows`: the number of each leg's quote."""

    cycle: Cycle
    number: int
    """Of the cycle, among those that are watched."""
    sighting_id: str
    time: int
    net_bps: float
    rows: tuple[int, ...]
    sequences: tuple[int, ...]
    """Of each leg's quote."""
    shown: "_Shown"

    @property
    def quotes(self) -> tuple[str, ...]:
        """Return the id of each leg's quote."""
        legs = zip(self.cycle.legs, self.sequences, strict=True)
        return tuple(f"{leg.market.exchange}:{leg.market.symbol}:{sequence}" for leg, sequence in legs)

    def levels(self, leg: int) -> tuple[Level, ...]:
        """Return what an order of this leg meets, best first."""
        return self.shown.levels(self.rows[leg], self.cycle.legs[leg].side)


@dataclass(frozen=True, slots=True)
class _Shown:
    """The texts of a stretch of rows, and of the quotes before it that still hold."""

    first: int
    rows: pa.Table
    before: Mapping[int, Texts]

    def texts(self, row: int) -> Texts:
        if row < self.first:
            return self.before[row]
        return tuple(self.rows[name][row - self.first].as_py() for name in TEXTS)

    def levels(self, row: int, side: Side) -> tuple[Level, ...]:
        texts = self.texts(row)
        price, amount, levels = texts[3:] if side == "buy" else texts[:3]
        if levels is not None:
            return levels_of(levels)
        return (Level(Price(decimal_of(price or 0)), Amount(decimal_of(amount or 0))),)


def cycle_sightings(tick_set: TickSet, cycles: Sequence[Cycle], settings: Settings) -> Iterator[CycleSighting]:
    """Return what is found at each row, best first. `settings` hold from end to end. Raises ImportRejectedError if the
    set cannot be read."""
    log, first, before = CycleLog(cycles, cycle_rules(settings)), 0, dict[int, Texts]()
    trusted = trusted_markets(feed_delays(tick_set))
    for rows in merged_rows(tick_set, [*COLUMNS, *TEXTS, "exchange_time"]):
        shown = _Shown(first, rows, before)
        seen = rows.append_column(SEEN, pa.array(seen_times(rows, trusted))) if trusted else rows
        for hit in log.found(seen):
            yield _sighting(log, hit, shown)
        before = {row: shown.texts(row) for row in log.held_rows.tolist()}
        first += len(rows)


def _sighting(log: CycleLog, hit: CycleHit, shown: _Shown) -> CycleSighting:
    cycle = log.cycles[hit.cycle]
    identity = cycle_hit_id(cycle, hit.sequences)
    return CycleSighting(cycle, hit.cycle, identity, hit.time, hit.net_bps, hit.rows, hit.sequences, shown)
