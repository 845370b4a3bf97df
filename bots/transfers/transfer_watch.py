"""Follows the transfers that leave one exchange or arrive there, and books what its lists say of them.

Stateless: whatever was asked of an exchange is in the store before it was sent.
"""

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from exchanges.ports.permits import Permit
from exchanges.ports.withdrawals import WithdrawalOrder
from market.accounting.transfer_lifecycle import (
    Deposit,
    MoneyTransfer,
    Withdrawal,
    ambiguous,
    not_found,
    overdue,
    with_deposit,
    with_withdrawal,
)
from market.accounting.transfer_matching import AmbiguousWithdrawalError, deposit_of, withdrawal_of
from market.time_units import MICROSECONDS
from market.trade.leases import Actor
from runtime.clock import wall_now
from store.ports.transfers import Transfers
from store.transfer_steps import TURNED_UP_DAYS, Step, may_turn_up

log = logging.getLogger(__name__)

LISTED_MARGIN = 600 * MICROSECONDS
"""How long before a withdrawal was asked for lists are read: the store's clock, ours and the exchange's differ."""
TURNED_UP = TURNED_UP_DAYS * 86_400 * MICROSECONDS


class FundingAccount(Protocol):
    """The part of an account that moves money; ExchangeAccount is one."""

    @property
    def exchange(self) -> str: ...

    async def withdraw(self, order: WithdrawalOrder, permit: Permit = ...) -> str: ...

    async def withdrawals(self, currency: str, since: int) -> list[Withdrawal]: ...

    async def deposits(self, currency: str, since: int) -> list[Deposit]: ...


class TransferStore(Protocol):
    async def server_now(self) -> int: ...

    @property
    def transfers(self) -> Transfers: ...


@dataclass(slots=True)
class TransferWatch:
    """Of the exchange of `account`. `session_id`: whose books get what moves."""

    store: TransferStore
    account: FundingAccount
    by: Actor
    session_id: str

    async def known(self) -> list[MoneyTransfer]:
        """Return all that matter now, of whatever exchanges. Raises StoreUnavailableError."""
        return await self.store.transfers.known(await self.store.server_now() - TURNED_UP)

    async def in_question(self) -> frozenset[str]:
        """Return currencies of which nobody knows whether they left this exchange, or by which deposit they arrive
        here: they cannot be compared. Raises StoreUnavailableError."""
        here = self.account.exchange
        return frozenset(one.currency for one in await self.known() if one.is_open and _is_in_question(one, here))

    async def settle(
        self, session_id: str | None = None, asks_for: Callable[[MoneyTransfer], bool] = lambda _: True
    ) -> int:
        """Ask the exchange what became of each transfer, and book it; return how many took a step. `session_id`: ""
        while no session's books are open. Raises StoreError, ExchangeError."""
        known, own = await self.known(), self.session_id if session_id is None else session_id
        wanted = [one for one in known if asks_for(one)]
        return await self._leaving(wanted, known, own) + await self._arriving(wanted, own)

    async def _leaving(self, wanted: Sequence[MoneyTransfer], known: Sequence[MoneyTransfer], session_id: str) -> int:
        leaving = [
            one
            for one in wanted
            if one.source == self.account.exchange
            and (may_turn_up(one) or (one.is_open and (one.network_id is None or one.state == "unknown")))
        ]
        steps = 0
        for currency in dict.fromkeys(one.currency for one in leaving):
            own = [one for one in leaving if one.currency == currency]
            since, asked_at = _since(own), await self.store.server_now()
            listed = await self.account.withdrawals(currency, since)
            for one in own:
                steps += await self._take(one, partial(_left, listed, _others(one, known), asked_at, session_id))
        return steps

    async def _arriving(self, wanted: Sequence[MoneyTransfer], session_id: str) -> int:
        arriving = [
            one for one in wanted if one.is_open and one.destination == self.account.exchange and one.network_id
        ]
        steps = 0
        for currency in dict.fromkeys(one.currency for one in arriving):
            own = [one for one in arriving if one.currency == currency]
            listed = await self.account.deposits(currency, _since(own))
            for one in own:
                steps += await self._take(one, partial(_arrived, deposit_of(one, listed), session_id))
        return steps

    async def _take(self, transfer: MoneyTransfer, step: Step) -> int:
        after = await self.store.transfers.step(transfer.transfer_id, step, self.by)
        if after is not None and after.state != transfer.state:
            log_step(after)
        return int(after is not None)


def _is_in_question(one: MoneyTransfer, here: str) -> bool:
    return (one.source == here and one.left is None) or (one.destination == here and one.network_id is None)


def _left(
    listed: Sequence[Withdrawal],
    others: Collection[str],
    asked_at: int,
    session_id: str,
    current: MoneyTransfer,
    now: int,
) -> MoneyTransfer:
    """Return what a list that was asked for at `asked_at` makes of a transfer, as it is stored by now."""
    try:
        found = withdrawal_of(current, listed, others)
    except AmbiguousWithdrawalError:
        return ambiguous(current, now)
    if found is not None:
        return overdue(with_withdrawal(current, found, now, session_id), now)
    if current.is_open and current.left is None:
        # only if the list is from after it should have been in it
        return not_found(current, asked_at)
    return overdue(current, now)


def _arrived(found: Deposit | None, session_id: str, current: MoneyTransfer, now: int) -> MoneyTransfer:
    after = current if found is None else with_deposit(current, found, now, session_id)
    return overdue(after, now)


def _since(transfers: Sequence[MoneyTransfer]) -> int:
    """By this machine's clock."""
    return min(*(one.times["asked"] for one in transfers), wall_now()) - LISTED_MARGIN


def _others(transfer: MoneyTransfer, known: Sequence[MoneyTransfer]) -> frozenset[str]:
    return frozenset(one.withdrawal_id for one in known if one.withdrawal_id and one is not transfer)


def log_step(transfer: MoneyTransfer) -> None:
    level = logging.ERROR if transfer.state == "unknown" else logging.INFO
    fields = {"transfer": transfer.transfer_id, "currency": transfer.currency, "source": transfer.source}
    log.log(level, "transfer %s %s", transfer.state, transfer.reason, extra=fields)
