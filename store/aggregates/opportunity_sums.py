"""How many opportunities were taken and rejected, by pair, reason and net bps, summed by the server."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from market.money import ZERO
from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from store.aggregates.episode_sums import BINS_PER_BPS, EpisodeSums
from store.aggregates.session_totals import RunningSums, decimal_of
from store.server.client import Database, Document, translated_errors
from store.server.documents import ARBITRAGES, REJECTIONS

CACHED_SPANS = 4

_TAKEN: Document = {"strategy": {"$ne": "ma"}}
_TAKEN_BY = (
    "$opportunity.base",
    "$opportunity.buy.exchange",
    "$opportunity.sell.exchange",
    "$state",
    {"$floor": {"$multiply": ["$opportunity.net_bps", BINS_PER_BPS]}},
)
_SHOWN: Document = {"$min": [{"$toDecimal": "$opportunity.buy.amount"}, {"$toDecimal": "$opportunity.sell.amount"}]}
_TRADED: Document = {"$divide": [{"$min": [{"$toDecimal": "$amount"}, _SHOWN]}, _SHOWN]}
_EXPECTED: Document = {"$round": [{"$multiply": [{"$toDecimal": "$opportunity.expected_profit"}, _TRADED]}, 8]}
"""Theoretical gross at the best levels, scaled to the amount reserved."""
_TAKEN_SUMS = (
    1,
    {"$cond": [{"$gt": [_SHOWN, 0]}, _EXPECTED, {"$toDecimal": 0}]},
    {"$toDecimal": {"$ifNull": ["$profit.net", "0"]}},
)
_REJECTED_BY = (
    "$base",
    "$buy_exchange",
    "$sell_exchange",
    "$reason",
    {"$floor": {"$multiply": ["$net_bps", BINS_PER_BPS]}},
)
_REJECTED_SUMS = ("$count", {"$literal": 0}, 1)


@dataclass(frozen=True, slots=True)
class OutcomeSum:
    """Those of one pair, outcome and bin. Rejections that were only counted stand in the bin of the first of their
    pair, reason and second, the only one of which the spread was kept."""

    base: str
    buy_exchange: str
    sell_exchange: str
    outcome: Literal["taken", "rejected"]
    why: str
    """The state of those taken, the reason of those rejected."""
    bin: int
    """In half basis points: `bin` / 2 ≤ net bps < (`bin` + 1) / 2."""
    count: int
    expected: Decimal
    """The expected profit of what was reserved, at the best levels, in the settlement currency; 0 for those rejected,
    whose missed profit is counted by episode."""
    net: Decimal
    """Realised P&L of those taken that have ended; 0 for those rejected."""
    pair_seconds: int
    """In how many seconds the pair was rejected for this; 0 for those taken."""


class OpportunitySums:
    """Opportunity sums of one session."""

    def __init__(self, database: Database, of_session: Mapping[str, object]) -> None:
        self._database = database
        self._of_session = dict(of_session)
        self._taken = RunningSums(database, ARBITRAGES, self._of_session | _TAKEN, _TAKEN_BY, _TAKEN_SUMS)
        self._rejected = RunningSums(database, REJECTIONS, self._of_session, _REJECTED_BY, _REJECTED_SUMS)
        self.episodes = EpisodeSums(database, self._of_session)
        self._reading = asyncio.Lock()
        self._recent: dict[int, tuple[int, list[OutcomeSum]]] = {}
        """Seconds → when they were read, and what."""

    async def of_session(self) -> list[OutcomeSum]:
        """Return the sums of the whole session; each read after the first reads what is new. Raises
        StoreUnavailableError."""
        taken, rejected = await self._taken.read(), await self._rejected.read()
        return [
            *(_sum_of("taken", key, values) for key, values in taken.items()),
            *(_sum_of("rejected", key, values) for key, values in rejected.items()),
        ]

    async def recent(self, seconds: int) -> list[OutcomeSum]:
        """Return the sums of the last `seconds`, as read a two-hundredth of them ago at the most: many may ask, and the
        server sums once. Raises StoreUnavailableError."""
        async with self._reading:
            now = wall_now()
            read_at, sums = self._recent.get(seconds, (0, []))
            if now - read_at > seconds * MICROSECONDS // 200:
                # what is dated a little ahead, by another clock, belongs to it
                sums = await self.between(now - seconds * MICROSECONDS, now + MICROSECONDS)
                others = [(span, kept) for span, kept in self._recent.items() if span != seconds]
                self._recent = dict([(seconds, (now, sums)), *others[: CACHED_SPANS - 1]])
            return sums

    async def between(self, since: int, until: int) -> list[OutcomeSum]:
        """Return the sums of those reserved or rejected from `since` to before `until`, microseconds of the server's
        and the bots' clocks. Reads what lies in between, and nothing else. Raises StoreUnavailableError."""
        span = self._of_session | {"at": {"$gte": since, "$lt": until}}
        return [
            *await self._sums("taken", ARBITRAGES, span | _TAKEN, _TAKEN_BY, _TAKEN_SUMS),
            *await self._sums("rejected", REJECTIONS, span, _REJECTED_BY, _REJECTED_SUMS),
        ]

    async def _sums(
        self,
        outcome: Literal["taken", "rejected"],
        collection: str,
        wanted: Document,
        by: tuple[object, ...],
        summed: tuple[object, ...],
    ) -> list[OutcomeSum]:
        sums: Document = {f"sum{index}": {"$sum": each} for index, each in enumerate(summed)}
        group: Document = {"_id": list(by)}
        group |= sums
        with translated_errors():
            found = self._database[collection].aggregate([{"$match": wanted}, {"$group": group}])
            return [
                _sum_of(outcome, tuple(map(str, document["_id"])), tuple(decimal_of(document[name]) for name in sums))
                async for document in found
                if isinstance(document["_id"], list)
            ]


def _sum_of(outcome: Literal["taken", "rejected"], key: tuple[str, ...], values: tuple[Decimal, ...]) -> OutcomeSum:
    base, buy, sell, why, number = key
    count, expected, third = values
    net, seconds = (third, 0) if outcome == "taken" else (ZERO, int(third))
    return OutcomeSum(base, buy, sell, outcome, why, int(float(number)), int(count), expected, net, seconds)
