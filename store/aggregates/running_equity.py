"""The equity of a session while it grows: what has ended is read once, only what is newer each time."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator

from market.accounting.equity_curve import Ending, Equity, EquityCurve, EquitySum
from market.trade.arbitrages import FINAL_STATES, UNWINDING_ROLES, ArbitrageState
from runtime.clock import wall_now
from store.aggregates.month_sums import MonthSums, equity_sum_of
from store.aggregates.session_totals import RECOUNT_MICROSECONDS, SETTLING_MICROSECONDS
from store.server.client import STREAMED, Database, Document, Moment, one_moment, translated_errors
from store.server.documents import ARBITRAGES, amount_of, integer_of

RECOUNT_LIMIT = 100
"""A full read, which corrects late changes, takes at most one part in this many of the time."""

_STATES: dict[str, ArbitrageState] = {state: state for state in FINAL_STATES}
_FIELDS = {"times.ended": 1, "state": 1, "profit.net": 1, "legs.role": 1, "legs.fills.fill_id": 1}
_BY_END = [("times.ended", 1), ("_id", 1)]


class RunningEquity:
    """Equity of one session, cheap enough to be read every few seconds."""

    def __init__(self, database: Database, wanted: Document) -> None:
        self._database = database
        self._arbitrages = database[ARBITRAGES]
        self._wanted = wanted
        self._settled: dict[str, tuple[EquityCurve, int]] = {}
        """Currency → the curve of all that ended before that time."""
        self._recount_at = 0
        self._months = MonthSums(database, wanted, "equity")
        self._revision = 0
        self._reading = asyncio.Lock()
        """What is settled is of the revision that was read last."""

    async def read(self, currency: str) -> Equity:
        """With what was removed for its age, each month as one point. Raises StoreUnavailableError; the next read is
        unaffected."""
        async with self._reading, one_moment(self._database) as moment:
            revision = await self._months.revision(moment)
            if revision != self._revision:
                self._settled.clear()
                self._revision = revision
            return await self._read(currency, moment)

    async def _read(self, currency: str, moment: Moment) -> Equity:
        begun, recount_at = wall_now(), self._recount_at
        is_complete = begun >= recount_at or currency not in self._settled
        settled, since = (EquityCurve(), 0) if is_complete else self._settled[currency]
        settled = settled.copy()
        wanted: Document = self._wanted | {"profit.currency": currency, "times.ended": {"$gte": since}}
        with translated_errors():
            until = max(since, await self._newest(wanted, moment) - SETTLING_MICROSECONDS)
            removed = deque(await self._removed(currency, moment) if is_complete else ())
            curve = await self._followed(settled, self._endings(wanted, moment), until, removed)
        if is_complete:
            recount_at = wall_now() + max(RECOUNT_MICROSECONDS, RECOUNT_LIMIT * (wall_now() - begun))
        self._settled[currency] = (settled, until)
        self._recount_at = recount_at
        return curve.equity()

    async def _newest(self, wanted: Document, moment: Moment) -> int:
        order = [(name, -order) for name, order in _BY_END]
        newest = await self._arbitrages.find_one(wanted, _FIELDS, sort=order, session=moment)
        return 0 if newest is None else _ended(newest)

    async def _endings(self, wanted: Document, moment: Moment) -> AsyncIterator[Ending]:
        found = self._arbitrages.find(wanted, _FIELDS, session=moment).sort(_BY_END).batch_size(STREAMED)
        async for document in found:
            yield _ending_of(document)

    async def _removed(self, currency: str, moment: Moment) -> list[EquitySum]:
        return [equity_sum_of(row) for row in await self._months.rows(moment) if row.by == (currency,)]

    async def _followed(
        self, settled: EquityCurve, endings: AsyncIterator[Ending], until: int, removed: deque[EquitySum]
    ) -> EquityCurve:
        """Add what ended before `until` to `settled`, and all that was `removed`; returns a curve with the rest as
        well."""
        curve = settled
        async for ending in endings:
            is_last = curve is settled and ending.at >= until
            while removed and (is_last or removed[0].last_at <= ending.at):
                settled.add_sum(removed.popleft())
            if is_last:
                curve = settled.copy()
            curve.add(ending)
        while removed:
            settled.add_sum(removed.popleft())
        return curve


def _ending_of(document: Document) -> Ending:
    profit = document.get("profit")
    net = amount_of(profit["net"]) if isinstance(profit, dict) else amount_of(None)
    state = _STATES.get(str(document["state"]), "closed")
    return Ending(_ended(document), str(document["_id"]), state, net, _has_third_order(document))


def _has_third_order(document: Document) -> bool:
    legs = document.get("legs")
    return isinstance(legs, list) and any(leg["role"] in UNWINDING_ROLES and leg["fills"] for leg in legs)


def _ended(document: Document) -> int:
    times = document.get("times")
    return integer_of(times.get("ended")) if isinstance(times, dict) else 0
