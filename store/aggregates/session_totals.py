"""How many documents of each kind there are and what they sum to, counted by the server."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from bson.decimal128 import Decimal128
from pymongo import ASCENDING, DESCENDING

from market.accounting.profit_groups import ProfitGroup, profit_from
from market.money import ZERO, decimal_of_whole, total
from market.prices.episodes import EpisodeOutcome
from market.time_units import MICROSECONDS
from market.trade.arbitrages import OPEN_STATES, PROFIT_PARTS, ProfitAndLoss
from runtime.clock import wall_now
from store.aggregates.month_sums import MonthSums, Sums
from store.server.client import Database, Document, Moment, one_moment, translated_errors
from store.server.documents import ARBITRAGES, CYCLE_TRADES, REJECTIONS, integer_of

SETTLING_MICROSECONDS = 60 * MICROSECONDS
"""A document this much older than the newest is taken as final, unless it is an open arbitrage."""
RECOUNT_MICROSECONDS = 300 * MICROSECONDS
"""Interval of full counts, which correct late changes."""


@dataclass(frozen=True, slots=True)
class SessionTotals:
    """Sums over a session."""

    profit: ProfitAndLoss
    arbitrages: dict[str, int]
    """State → how many."""
    rejections: dict[str, int]
    """Reason → how many."""
    missed_profit: dict[str, Decimal] = field(default_factory=dict)
    """Reason → missed profit (`market.prices.episodes`), in the settlement currency."""
    missed_episodes: dict[str, int] = field(default_factory=dict)
    """Reason → how many episodes were not traded for it."""
    episodes: dict[EpisodeOutcome, int] = field(default_factory=dict)
    """Outcome → how many episodes of opportunities."""
    groups: tuple[ProfitGroup, ...] = ()
    """The profit by exchange, asset and day."""


class RunningSums:
    """Sums over a collection that grows: what is settled is read once, only what is newer each time."""

    def __init__(
        self,
        database: Database,
        collection: str,
        wanted: Document,
        by: Sequence[object],
        summed: Sequence[object],
        stages: Sequence[Document] = (),
        time: str = "at",
        recount_every: int = RECOUNT_MICROSECONDS,
    ) -> None:
        """`by` and `summed` are the server's expressions on what `stages` make of the documents `wanted`. `time`: the
        field with the time, by the wall clock, about which a document changes for the last time."""
        self._collection = database[collection]
        self._wanted = wanted
        self._stages = stages
        self._time = time
        self._recount_every = recount_every
        self._by = list(by)
        self._summed = {f"sum{index}": {"$sum": each} for index, each in enumerate(summed)}
        self._settled: Sums = {}
        self._settled_until = 0
        self._recount_at = 0

    async def read(self, moment: Moment | None = None) -> Sums:
        """Raise StoreUnavailableError; the next read is unaffected."""
        settled, since, recount_at = self._settled, self._settled_until, self._recount_at
        if wall_now() >= recount_at:
            settled, since, recount_at = {}, 0, wall_now() + self._recount_every
        with translated_errors():
            until = max(since, await self._settling_time(moment))
            settling, fresh = await self._sums(since, until, moment)
        settled = _added(settled, settling)
        self._settled, self._settled_until, self._recount_at = settled, until, recount_at
        return _added(settled, fresh)

    def forget(self) -> None:
        """Read all of it again with the next read: what was settled has changed."""
        self._recount_at = 0

    async def _settling_time(self, moment: Moment | None) -> int:
        """Documents before it do not change any more. The collection's own times, which in tests are of any year."""
        by_time = [(self._time, DESCENDING)]
        newest = await self._collection.find_one(self._wanted, {self._time: 1}, sort=by_time, session=moment)
        if newest is None:
            return 0
        until = min(integer_of(newest[self._time]), wall_now()) - SETTLING_MICROSECONDS
        still_open = self._wanted | {"state": {"$in": list(OPEN_STATES)}}
        if self._collection.name in (ARBITRAGES, CYCLE_TRADES):
            by_start = [("at", ASCENDING)]
            oldest = await self._collection.find_one(still_open, {"at": 1}, sort=by_start, session=moment)
            until = until if oldest is None else min(until, integer_of(oldest["at"]))
        return until

    async def _sums(self, since: int, until: int, moment: Moment | None) -> tuple[Sums, Sums]:
        """(before `until`, from there on) of those since `since`."""
        group: Document = {"_id": {"is_settled": {"$lt": [f"${self._time}", until]}, "by": self._by}}
        pipeline: list[Document] = [
            {"$match": self._wanted | {self._time: {"$gte": since}}},
            *self._stages,
            {"$group": group | self._summed},
        ]
        settled: Sums = {}
        fresh: Sums = {}
        async for document in self._collection.aggregate(pipeline, session=moment):
            key = document["_id"]
            if isinstance(key, dict):
                sums = settled if key["is_settled"] else fresh
                sums[tuple(str(each) for each in key["by"])] = tuple(
                    decimal_of(document[name]) for name in self._summed
                )
        return settled, fresh


class KeptSums:
    """Sums over arbitrages, with those that were removed for their age."""

    def __init__(self, database: Database, sums: RunningSums, months: MonthSums) -> None:
        self._database = database
        self._sums = sums
        self._months = months
        self._revision = 0
        self._reading = asyncio.Lock()
        """What is settled is of the revision that was read last."""

    async def read(self) -> Sums:
        """Each arbitrage once, also while some are removed. Raises StoreUnavailableError."""
        async with self._reading, one_moment(self._database) as moment:
            revision = await self._months.revision(moment)
            if revision != self._revision:
                self._sums.forget()
                self._revision = revision
            return _added(await self._sums.read(moment), await self._months.sums(moment))


class RunningNet:
    """The realised net of one session, of pairs and of cycles, cheap enough to be read again and again."""

    def __init__(self, database: Database, wanted: Document) -> None:
        self._pairs, self._cycles = _of_pairs(database, wanted), _by_state(database, CYCLE_TRADES, wanted)

    async def read(self, currency: str) -> Decimal:
        """Raise StoreUnavailableError."""
        sums = (await self._pairs.read(), await self._cycles.read())
        return total(_profit_in(one, currency).net for one in sums)


class RunningTotals:
    """The totals of one session, cheap enough to be read every few seconds."""

    def __init__(self, database: Database, wanted: Document) -> None:
        self._arbitrages = _of_pairs(database, wanted)
        self._rejections = RunningSums(database, REJECTIONS, wanted, ("$reason",), ["$count"])

    async def read(self, currency: str) -> SessionTotals:
        """Raise StoreUnavailableError."""
        arbitrages, rejections = await self._arbitrages.read(), await self._rejections.read()
        states: Counter[str] = Counter()
        for (state, _), (count, *_parts) in arbitrages.items():
            states[state] += int(count)
        reasons = {reason: int(count) for (reason,), (count,) in rejections.items()}
        return SessionTotals(_profit_in(arbitrages, currency), dict(states), reasons)


def _by_state(database: Database, collection: str, wanted: Document) -> RunningSums:
    """Return the count and the parts of the profit of its trades by state and currency."""
    parts = [{"$toDecimal": f"$profit.{part}"} for part in PROFIT_PARTS]
    return RunningSums(database, collection, wanted, ("$state", "$profit.currency"), [1, *parts])


def _of_pairs(database: Database, wanted: Document) -> KeptSums:
    """Return the same of pairs, with those that were removed for their age."""
    return KeptSums(database, _by_state(database, ARBITRAGES, wanted), MonthSums(database, wanted, "states"))


def _profit_in(sums: Mapping[tuple[str, ...], tuple[Decimal, ...]], currency: str) -> ProfitAndLoss:
    """Return the profit in that currency of what `_by_state` sums."""
    profit = dict.fromkeys(PROFIT_PARTS, ZERO)
    for (_, its_currency), (_count, *parts) in sums.items():
        if its_currency == currency:
            profit = {name: profit[name] + part for name, part in zip(PROFIT_PARTS, parts, strict=True)}
    return profit_from(currency, profit)


async def counts_by(
    database: Database, collection: str, wanted: Document, field: str, weight: int | str = 1
) -> dict[str, int]:
    """Value of `field` → sum of `weight` (a number, or the name of a field with `$`) over those `wanted`."""
    group: Document = {"_id": f"${field}", "count": {"$sum": weight}}
    counts: Counter[str] = Counter()
    with translated_errors():
        async for document in database[collection].aggregate([{"$match": wanted}, {"$group": group}]):
            counts[str(document["_id"])] += integer_of(document["count"])
    return dict(counts)


async def rejection_counts(database: Database, wanted: Document) -> dict[str, int]:
    """Reason → how many, including those only counted."""
    return await counts_by(database, REJECTIONS, wanted, "reason", "$count")


def decimal_of(number: object) -> Decimal:
    """Return what the server summed: its own decimals, or integers."""
    return number.to_decimal() if isinstance(number, Decimal128) else decimal_of_whole(integer_of(number))


def _added(one: Mapping[tuple[str, ...], tuple[Decimal, ...]], other: Sums) -> Sums:
    sums: Sums = dict(one)
    for key, values in other.items():
        known = sums.get(key)
        sums[key] = values if known is None else tuple(a + b for a, b in zip(known, values, strict=True))
    return sums
