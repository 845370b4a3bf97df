"""Missed profit, aggregated by MongoDB into episodes as `market.accounting.episodes` defines them.

The server does it because a day has a million samples and few sums.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from market.accounting.missed_profit import TAKEN_STATES
from market.money import ZERO
from market.time_units import MICROSECONDS
from session.clock import steady_now, wall_now
from store.aggregates.session_totals import decimal_of
from store.server.documents import ARBITRAGES, REJECTIONS, integer_of
from store.server.mongo_client import Database, Document, translated_errors

BINS_PER_BPS = 2
"""Half a basis point, the step of the thresholds; finer bins would not help."""

BELOW_THRESHOLD = "below_threshold"
Which = Literal["all", "below", "others"]
"""Of all that was rejected, of what was below the threshold alone, of all else alone."""
_WANTED: Mapping[Which, Document] = {
    "all": {},
    "below": {"reason": BELOW_THRESHOLD},
    "others": {"reason": {"$ne": BELOW_THRESHOLD}},
}
REST_SHARE = 20
"""A cached sum is read again after this many times the duration of its read, at the earliest."""
FRESH = MICROSECONDS // 200
"""And not before this fraction of its span has passed."""
MAX_CACHED = 16

_REJECTED: Document = {
    "pair": {"base": "$base", "buy": "$buy_exchange", "sell": "$sell_exchange"},
    "at": 1,
    "until": {"$max": ["$until", "$at"]},
    "net_bps": 1,
    "reason": 1,
    # what earlier versions stored has none
    "profit": {"$max": [{"$ifNull": ["$tradable", 0]}, 0]},
}
_TAKEN: Document = {
    "pair": {"base": "$opportunity.base", "buy": "$opportunity.buy.exchange", "sell": "$opportunity.sell.exchange"},
    "at": 1,
    "until": {"$add": ["$at", {"$subtract": ["$opportunity.expires_at", "$opportunity.event_time"]}]},
    "net_bps": "$opportunity.net_bps",
    "reason": {"$literal": None},
    "profit": {"$literal": 0},
}
_BY_TIME: Document = {"partitionBy": "$pair", "sortBy": {"at": 1}}
_BEFORE: Document = {"before": {"$max": "$until", "window": {"documents": ["unbounded", -1]}}}
_EPISODE: Document = {"episode": {"$sum": "$begins", "window": {"documents": ["unbounded", "current"]}}}
_EPISODES: tuple[Document, ...] = (
    {"$setWindowFields": {**_BY_TIME, "output": _BEFORE}},
    # nothing before is less than any time
    {"$set": {"begins": {"$cond": [{"$gt": ["$at", "$before"]}, 1, 0]}}},
    {"$setWindowFields": {**_BY_TIME, "output": _EPISODE}},
    {
        "$group": {
            "_id": {"pair": "$pair", "episode": "$episode"},
            "is_taken": {"$max": {"$eq": ["$reason", None]}},
            "best_bps": {"$max": "$net_bps"},
            # of equal ones the first; fields are compared in their order
            "best": {"$max": {"profit": "$profit", "before": {"$multiply": ["$at", -1]}, "reason": "$reason"}},
        }
    },
    {"$match": {"is_taken": False}},
    {
        "$group": {
            "_id": [
                "$_id.pair",
                "$best.reason",
                {"$floor": {"$multiply": ["$best_bps", BINS_PER_BPS]}},
            ],
            "episodes": {"$sum": 1},
            "profit": {"$sum": "$best.profit"},
        }
    },
)


@dataclass(frozen=True, slots=True)
class MissedSum:
    """Episodes of one directed pair of exchanges that were not traded, whose best sighting was rejected for
    `reason`."""

    base: str
    buy_exchange: str
    sell_exchange: str
    reason: str
    bin: int
    """Of the widest spread: `bin` / 2 ≤ net bps < (`bin` + 1) / 2."""
    episodes: int
    profit: Decimal
    """In the settlement currency."""


async def missed_sums(
    database: Database, of_session: Mapping[str, object], span: Document | None = None, which: Which = "all"
) -> list[MissedSum]:
    """`span`: a condition on `at`, microseconds; None: of all times. Raises StoreUnavailableError."""
    within: Document = dict(of_session) | ({} if span is None else {"at": span})
    taken: Document = within | {"state": {"$in": list(TAKEN_STATES)}, "strategy": {"$ne": "ma"}}
    pipeline: list[Document] = [
        {"$match": within | _WANTED[which]},
        {"$project": _REJECTED},
        {"$unionWith": {"coll": ARBITRAGES, "pipeline": [{"$match": taken}, {"$project": _TAKEN}]}},
        *_EPISODES,
    ]
    with translated_errors():
        found = database[REJECTIONS].aggregate(pipeline)
        return [made async for document in found if (made := _sum_of(document)) is not None]


class MissedProfits:
    """Of one session, for many who ask."""

    def __init__(self, database: Database, of_session: Mapping[str, object]) -> None:
        self._database = database
        self._of_session = dict(of_session)
        self._reading = asyncio.Lock()
        self._read: dict[tuple[int | None, Which], tuple[int, list[MissedSum]]] = {}
        """(seconds, which) → until when it is good, by the steady clock, and what was read."""

    async def sums(self, seconds: int | None = None, which: Which = "all") -> list[MissedSum]:
        """Of the last `seconds`, None: of the whole session. Raises StoreUnavailableError."""
        async with self._reading:
            good_until, sums = self._read.get((seconds, which), (0, []))
            began = steady_now()
            if began >= good_until:
                # what is dated a little ahead, by another clock, belongs to it
                now = wall_now()
                span: Document = {"$gte": now - (seconds or 0) * MICROSECONDS, "$lt": now + MICROSECONDS}
                span_or_all = None if seconds is None else span
                sums = await missed_sums(self._database, self._of_session, span_or_all, which)
                kept = [one for one in self._read.items() if one[0] != (seconds, which)][: MAX_CACHED - 1]
                took = steady_now() - began
                self._read = dict(
                    [((seconds, which), (began + max(took * REST_SHARE, (seconds or 0) * FRESH), sums)), *kept]
                )
            return sums

    async def by_reason(self) -> dict[str, Decimal]:
        """Of the whole session. Raises StoreUnavailableError."""
        return profit_by_reason(await self.sums())


def profit_by_reason(sums: list[MissedSum]) -> dict[str, Decimal]:
    reasons = dict.fromkeys((one.reason for one in sums), ZERO)
    for one in sums:
        reasons[one.reason] += one.profit
    return reasons


def _sum_of(document: Document) -> MissedSum | None:
    key = document["_id"]
    if not isinstance(key, list) or not isinstance(key[0], dict):
        return None
    pair, reason, number = key
    return MissedSum(
        str(pair["base"]),
        str(pair["buy"]),
        str(pair["sell"]),
        str(reason),
        int(float(str(number))),
        integer_of(document["episodes"]),
        decimal_of(document["profit"]),
    )
