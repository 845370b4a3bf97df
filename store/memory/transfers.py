"""Transfers in memory, under the contract of the MongoDB adapter."""

from collections.abc import Callable
from decimal import Decimal

from market.accounting.transfer_lifecycle import MoneyTransfer, confirmed
from market.money import ZERO
from market.trade.leases import UNFENCED, Actor
from market.trade.lifecycle import Moment
from market.trade.reservation_state import BalanceRow
from store.memory.parts import MemoryBalances
from store.transfer_steps import NotProposed, Step, asked_step, changed_rows, refusal


class MemoryTransfers:
    """`store.ports.transfers.Transfers`; every method runs without waiting, so each is one transaction.

    `check` raises FencedOutError.
    """

    def __init__(
        self,
        balances: MemoryBalances,
        check: Callable[[Actor], Moment],
        net: Callable[[str], Decimal],
        session_id: str | None,
    ) -> None:
        self._session_id = session_id
        self._balances, self._check, self._net = balances, check, net
        self.kept: dict[str, MoneyTransfer] = {}

    async def propose(self, transfer: MoneyTransfer, net: Decimal, by: Actor) -> NotProposed | None:
        self._check(by)
        reason = refusal(transfer, self.kept.values(), net)
        if reason is None:
            self.kept[transfer.transfer_id] = transfer
        return reason

    async def confirm(self, transfer_id: str, who: str) -> MoneyTransfer | None:
        known = self.kept.get(transfer_id)
        if known is None:
            return None
        self.kept[transfer_id] = confirmed(known, who, self._check(UNFENCED).now)
        return self.kept[transfer_id]

    async def ask(self, transfer_id: str, by: Actor) -> MoneyTransfer | None:
        after = await self.step(transfer_id, asked_step(self._row_of, by), by)
        return after if after is not None and after.state == "asked" else None

    async def step(self, transfer_id: str, step: Step, by: Actor) -> MoneyTransfer | None:
        now, known = self._check(by).now, self.kept.get(transfer_id)
        after = None if known is None else step(known, now)
        if known is None or after is None or after == known:
            return None
        for row in changed_rows(known, after, self._row_of):
            self._balances.kept[row.exchange, row.currency] = row
        self.kept[transfer_id] = after
        return after

    async def known(self, since: int) -> list[MoneyTransfer]:
        counted = (one for one in self.kept.values() if self._counts(one) or max(one.times.values()) >= since)
        return sorted(counted, key=lambda one: (one.times["proposed"], one.transfer_id))

    def now(self) -> tuple[MoneyTransfer, ...]:
        """Return those that `store.ports.trading.Overview` has."""
        return tuple(one for one in self.kept.values() if one.is_wanted or one.is_across)

    def _counts(self, one: MoneyTransfer) -> bool:
        return one.is_wanted or one.is_across or self._session_id in (None, one.session_id)

    async def net(self, currency: str) -> Decimal:
        return self._net(currency)

    def _row_of(self, exchange: str, currency: str) -> BalanceRow:
        return self._balances.kept.get((exchange, currency)) or BalanceRow(exchange, currency, ZERO, ZERO)
