"""Reconciliation's differences in memory, under the contract of the MongoDB adapter."""

from collections.abc import Callable, Iterable

from market.accounting.differences import RowCorrection, StoredDifference
from market.money import ZERO
from market.trade.arbitrages import OPEN_STATES, Arbitrage
from market.trade.leases import Actor
from market.trade.reservation_state import BalanceRow
from store.memory.memory_parts import MemoryBalances


class MemoryDifferences:
    """`store.store_port.Differences`; every method runs without waiting, so each is one transaction.

    `check` raises FencedOutError.
    """

    def __init__(
        self,
        arbitrages: Callable[[], Iterable[Arbitrage]],
        balances: MemoryBalances,
        check: Callable[[Actor], object],
    ) -> None:
        self._arbitrages = arbitrages
        self._balances = balances
        self._check = check
        self._kept: dict[str, StoredDifference] = {}
        self._compared_until: dict[str, int] = {}

    async def store(self, difference: StoredDifference) -> bool:
        is_new = difference.difference_id not in self._kept
        self._kept.setdefault(difference.difference_id, difference)
        return is_new

    async def stored(self) -> list[StoredDifference]:
        return sorted(self._kept.values(), key=lambda one: (one.found_at, one.difference_id), reverse=True)

    async def compared_until(self, exchange: str) -> int | None:
        return self._compared_until.get(exchange)

    async def record_compared(self, exchange: str, until: int) -> None:
        self._compared_until[exchange] = max(until, self._compared_until.get(exchange, 0))

    async def arbitrages_since(self, exchange: str, since: int) -> list[Arbitrage]:
        return [
            one
            for one in self._arbitrages()
            if any(leg.exchange == exchange for leg in one.legs)
            and (one.state in OPEN_STATES or one.times.get("ended", 0) >= since)
        ]

    async def orders_since(self, exchange: str, since: int) -> dict[str, str]:
        return {
            leg.client_order_id: leg.exchange_order_id
            for one in await self.arbitrages_since(exchange, since)
            for leg in one.legs
            if leg.exchange == exchange and leg.exchange_order_id is not None
        }

    async def foreign_currencies(self, exchange: str) -> frozenset[str]:
        opened = self._balances.opened.get(exchange, 0)
        found = (one for one in self._kept.values() if one.exchange == exchange and one.found_at >= opened)
        return frozenset(currency for one in found for currency in one.currencies)

    async def correct(self, correction: RowCorrection, by: Actor) -> bool:
        self._check(by)
        expected, corrected = correction.expected, correction.corrected
        key = (expected.exchange, expected.currency)
        rows = self._balances.kept
        if rows.get(key, BalanceRow(*key, ZERO, ZERO)) != expected:
            return False
        rows[key] = corrected
        return True
