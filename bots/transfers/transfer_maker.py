"""Proposes transfers from one exchange at intervals, and makes those that were confirmed, each at most once."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

from bots.transfers.transfer_watch import TransferWatch, log_step
from exchanges.errors import (
    AccountRejectedError,
    ExchangeUnavailableError,
    NotPostedError,
    OrderRejectedError,
    OutcomeUnknownError,
)
from exchanges.ports.permits import Permit
from exchanges.ports.withdrawals import WithdrawalAddress, WithdrawalOrder
from market.accounting.inventory import Values
from market.accounting.transfer_lifecycle import (
    POST_SECONDS,
    DropReason,
    MoneyTransfer,
    Withdrawal,
    dropped,
    proposed,
    rejected,
    with_withdrawal,
)
from market.accounting.transfer_planning import TransferRules, is_outdated, next_transfers, plan_of, with_own_amount
from market.accounting.transfer_terms import TransferTerms, terms_of
from market.time_units import MICROSECONDS
from market.trade.reservation_state import BalanceRow
from runtime.clock import SystemClock, steady_now
from store.ports.parts import BalanceStore
from store.transfer_steps import Step

log = logging.getLogger(__name__)

ROUND_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class TransferTask:
    """What the session says of transfers. `exchanges`: those from which, and to which, money can be sent.
    `confirmed_by`: who lets proposals go without being asked; empty if an operator confirms each."""

    rules: TransferRules
    terms: tuple[TransferTerms, ...]
    exchanges: tuple[str, ...]
    currency: str
    """The settlement currency."""
    address_of: Callable[[str, str], WithdrawalAddress | None]
    """(exchange, currency) → where to send it; None: it is on no list."""
    confirmed_by: str = ""


@dataclass(slots=True)
class TransferMaker:
    """Of the exchange of `watch`; `run` is a background task of its bot loop."""

    watch: TransferWatch
    task: TransferTask
    balances: BalanceStore
    values: Callable[[], Awaitable[Values]]
    may_send: Callable[[], bool]
    """Whether this process still acts for the exchange, and trading is not halted."""
    steady_clock: Callable[[], int] = steady_now
    _planned_at: int = field(default=0)
    """By the server's clock."""

    async def run(self) -> None:
        """Run until cancelled. Raises StoreUnavailableError, ExchangeUnavailableError: run it again."""
        while True:
            await self.round()
            await SystemClock().sleep(ROUND_SECONDS)

    async def round(self) -> None:
        """Propose, make and follow whatever is due, once."""
        now, here = await self.watch.store.server_now(), self.watch.account.exchange
        for one in await self.watch.known():
            if one.source == here and one.state == "proposed":
                if is_outdated(one, now) or one.session_id != self.watch.session_id or not self.task.rules.is_on:
                    await self._take(one, partial(_dropped, "not_confirmed"))
                elif one.confirmed_by and self.may_send():
                    await self._make(one)
        await self.watch.settle()
        is_due = now - self._planned_at >= self.task.rules.every_seconds * MICROSECONDS
        if self.task.rules.is_on and is_due and self.may_send():
            self._planned_at = now
            await self._propose(now)

    async def _propose(self, now: int) -> None:
        """Propose what the plan sends away from here; whoever is at the other exchanges proposes the rest."""
        transfers, values = self.watch.store.transfers, await self.values()
        rows = [row for row in await self.balances.rows() if self._can_send(row)]
        opening, _ = await self.balances.of_session()
        if not {row.exchange for row in rows} <= opening.keys():
            return
        known, net = await self.watch.known(), await transfers.net(self.task.currency)
        session, terms = self.watch.session_id, terms_of(self.task.terms)
        plan = plan_of(rows, opening, known, terms, values, net, self.task.rules, session)
        for one in next_transfers(plan, known):
            if one.source != self.watch.account.exchange:
                continue
            own = with_own_amount(one, known, terms[one.source, one.currency].step)
            proposal = proposed(own, session, now, self.task.confirmed_by)
            reason = await transfers.propose(proposal, net, self.watch.by)
            if reason is None:
                log_step(proposal)

    def _can_send(self, row: BalanceRow) -> bool:
        return row.exchange in self.task.exchanges

    async def _make(self, wanted: MoneyTransfer) -> None:
        """Ask the exchange for the withdrawal: only this process does, once, within seconds of the step that allows
        it."""
        began = self.steady_clock()
        to = self.task.address_of(wanted.destination, wanted.currency)
        if to is None:
            await self._take(wanted, partial(_dropped, "no_address"))
            return
        asked = await self.watch.store.transfers.ask(wanted.transfer_id, self.watch.by)
        if asked is None:
            return
        log_step(asked)
        order = WithdrawalOrder(asked.transfer_id, asked.currency, asked.amount, to)
        try:
            name = await self.watch.account.withdraw(order, Permit(partial(self._check, began)))
        except (OrderRejectedError, AccountRejectedError, NotPostedError) as error:
            log.warning("nothing was withdrawn: %s", error, extra={"transfer": asked.transfer_id})
            await self._take(asked, _rejected)
        except (OutcomeUnknownError, ExchangeUnavailableError) as error:
            log.warning("withdrawal looked up later: %s", error, extra={"transfer": asked.transfer_id})
        else:
            made = Withdrawal(name, asked.currency, asked.amount, "pending", asked.times["asked"])
            await self._take(asked, partial(self._sent, made))

    def _sent(self, made: Withdrawal, known: MoneyTransfer, now: int) -> MoneyTransfer:
        return with_withdrawal(known, made, now, self.watch.session_id)

    def _check(self, began: int) -> None:
        """Raise NotPostedError if it must not be sent any more: somebody else may be looking it up."""
        if self.steady_clock() - began > POST_SECONDS * MICROSECONDS:
            raise NotPostedError("the withdrawal came too late to be sent")
        if not self.may_send():
            raise NotPostedError("this process may not send any more")

    async def _take(self, transfer: MoneyTransfer, step: Step) -> None:
        after = await self.watch.store.transfers.step(transfer.transfer_id, step, self.watch.by)
        if after is not None:
            log_step(after)


def _dropped(reason: DropReason, known: MoneyTransfer, now: int) -> MoneyTransfer:
    return dropped(known, reason, now) if known.state == "proposed" else known


def _rejected(known: MoneyTransfer, now: int) -> MoneyTransfer:
    # it may have been found in the exchange's list meanwhile
    return rejected(known, now) if known.state in ("asked", "unknown") and known.left is None else known
