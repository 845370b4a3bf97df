"""What arbitrages won and lost by weekday and hour of their end, summed while they grow."""

import asyncio

from market.accounting.performance import HourSum
from store.aggregates.session_totals import RunningSums
from store.server.client import Database, Document
from store.server.documents import ARBITRAGES

_ENDED: Document = {"$toDate": {"$toLong": {"$divide": ["$times.ended", 1_000]}}}
_NET: Document = {"$toDecimal": "$profit.net"}
_VALUED: Document = {"$match": {"profit": {"$ne": None}, "times.ended": {"$gt": 0}}}


def _if_net(condition: str, value: object) -> Document:
    return {"$cond": [{condition: [_NET, 0]}, value, 0]}


class RunningHours:
    """Sums of one session, cheap enough to be read every few seconds; without those that were removed for their age."""

    def __init__(self, database: Database, wanted: Document) -> None:
        by = ("$profit.currency", {"$isoDayOfWeek": _ENDED}, {"$hour": _ENDED})
        summed = (1, _if_net("$gt", 1), _if_net("$lt", 1), _if_net("$gt", _NET), _if_net("$lt", _NET))
        self._sums = RunningSums(database, ARBITRAGES, wanted, by, summed, (_VALUED,))
        self._reading = asyncio.Lock()

    async def read(self, currency: str) -> list[HourSum]:
        """By weekday and hour, those of `currency`. Raises StoreUnavailableError."""
        async with self._reading:
            sums = await self._sums.read()
        found = [
            HourSum(int(weekday), int(hour), int(count), int(wins), int(losses), won, lost)
            for (its_currency, weekday, hour), (count, wins, losses, won, lost) in sums.items()
            if its_currency == currency
        ]
        return sorted(found, key=lambda one: (one.weekday, one.hour))
