"""Reconciliation's differences in memory, under the contract of the MongoDB adapter."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from market.accounting.differences import (
    PersonsVerdict,
    RowCorrection,
    Settlement,
    StoredDifference,
    explained,
    is_found_again,
    is_of_balance,
    settled_difference,
    taken_back,
)
from market.decide.circuit_breaker import Health
from market.money import ZERO
from market.trade.arbitrages import OPEN_STATES, Arbitrage, TradeOfLegs
from market.trade.cycle_trades import CycleTrade
from market.trade.leases import UNFENCED, Actor
from market.trade.lifecycle import Moment
from market.trade.reservation_state import BalanceRow
from store.memory.parts import MemoryBalances, MemoryHealth


class MemoryDifferences:
    """`store.ports.parts.Differences`; every method runs without waiting, so each is one transaction.

    `check` raises FencedOutError.
    """

    def __init__(
        self,
        trades: Callable[[], Iterable[Arbitrage | CycleTrade]],
        balances: MemoryBalances,
        health: MemoryHealth,
        check: Callable[[Actor], Moment],
    ) -> None:
        self._trades = trades
        self._balances = balances
        self._health = health
        self._check = check
        self._kept: dict[str, StoredDifference] = {}
        self._compared_until: dict[str, int] = {}

    async def store(self, difference: StoredDifference) -> bool:
        known = self._kept.get(difference.difference_id)
        if known is not None and not is_found_again(known, difference):
            return False
        self._kept[difference.difference_id] = difference
        self._update_health(difference.exchange, difference.found_at)
        return True

    async def settle(self, difference_id: str, verdict: PersonsVerdict, who: str) -> StoredDifference | None:
        known = self._kept.get(difference_id)
        if known is None:
            return None
        key = (known.exchange, known.subject)
        row = self._balances.kept.get(key, BalanceRow(*key, ZERO, ZERO))
        settlement = Settlement(verdict, who, self._check(UNFENCED).now)
        settled = settled_difference(known, settlement, row.unexplained)
        if settled is known:
            return known
        self._kept[difference_id] = settled
        if settled.booked:
            self._balances.book(row, settlement.at)
        for one in [one for one in self._kept.values() if is_of_balance(one, settled)]:
            self._kept[one.difference_id] = settled_difference(one, replace(settlement, verdict="acknowledged"), ZERO)
        self._update_health(known.exchange, known.found_at)
        return settled

    async def take_back(self, found: StoredDifference, row: BalanceRow, by: Actor) -> bool:
        self._check(by)
        if self._balances.kept.get((row.exchange, row.currency)) != row:
            return False
        known = self._kept.get(found.difference_id)
        self._kept[found.difference_id] = taken_back(found, row, known)
        self._balances.book(row)
        return True

    async def open_at(self, exchange: str) -> list[StoredDifference]:
        return [one for one in self._kept.values() if one.exchange == exchange and one.is_open]

    async def explain(self, exchange: str, difference_ids: Collection[str], at: int) -> None:
        for one in await self.open_at(exchange):
            if one.difference_id in difference_ids:
                self._kept[one.difference_id] = explained(one, at)
        self._update_health(exchange, at)

    def _update_health(self, exchange: str, at: int) -> None:
        is_open = any(one.exchange == exchange and one.is_open for one in self._kept.values())
        before = self._health.kept.get(exchange, Health(exchange))
        since = (before.unexplained_since or at) if is_open else 0
        if since != before.unexplained_since:
            self._health.kept[exchange] = replace(before, unexplained_since=since)

    async def stored(self) -> list[StoredDifference]:
        return sorted(self._kept.values(), key=lambda one: (one.found_at, one.difference_id), reverse=True)

    async def compared_until(self, exchange: str) -> int | None:
        return self._compared_until.get(exchange)

    async def record_compared(self, exchange: str, until: int) -> None:
        self._compared_until[exchange] = max(until, self._compared_until.get(exchange, 0))

    async def trades_since(self, exchange: str, since: int) -> list[TradeOfLegs]:
        return [
            one
            for one in self._trades()
            if any(leg.exchange == exchange for leg in one.legs)
            and (one.state in OPEN_STATES or one.times.get("ended", 0) >= since)
        ]

    async def orders_since(self, exchange: str, since: int) -> dict[str, str]:
        return {
            leg.client_order_id: leg.exchange_order_id
            for one in await self.trades_since(exchange, since)
            for leg in one.legs
            if leg.exchange == exchange and leg.exchange_order_id is not None
        }

    async def correct(self, correction: RowCorrection, by: Actor) -> bool:
        self._check(by)
        expected, corrected = correction.expected, correction.corrected
        key = (expected.exchange, expected.currency)
        rows = self._balances.kept
        if rows.get(key, BalanceRow(*key, ZERO, ZERO)) != expected:
            return False
        rows[key] = corrected
        return True
