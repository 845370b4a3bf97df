"""Proposes transfers from one exchange at intervals, and makes those that were confirmed, each at most once."""

import logging
from collections.abc import Awaitable, Callable, Collection
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
    NOT_ASKED,
    POST_SECONDS,
    REJECTED,
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
from store.transfer_steps import Step, may_turn_up

log = logging.getLogger(__name__)

LOOK_SECONDS = 2.0
"""Interval at which it is looked what is due."""
FOLLOW_SECONDS = 30
"""How often lists are asked for what was answered: networks take minutes, and Binance allows ten such requests a
minute, Kraken one in five seconds."""
SEARCH_AGAIN_SECONDS = 300
"""Likewise for withdrawals that count as never made."""


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
    wanted: Callable[[], Collection[MoneyTransfer]]
    """What is proposed or under way, as the bot's last round has read it: every step is decided on what is stored."""
    steady_clock: Callable[[], int] = steady_now
    _planned_at: int | None = None
    """When the last plan was made, by the steady clock."""
    _looked_at: dict[str, int] = field(default_factory=dict)
    _searched_at: int | None = None
    _is_refused: bool = False
    """Whether the exchange says that this account may not withdraw: nothing more is proposed by this process."""

    async def run(self) -> None:
        """Run until cancelled. Raises StoreUnavailableError, ExchangeUnavailableError: run it again."""
        while True:
            await self.round()
            await SystemClock().sleep(LOOK_SECONDS)

    async def round(self) -> None:
        """Propose, make and follow whatever is due, once. Asks nobody while there is nothing."""
        here = self.watch.account.exchange
        proposals = [one for one in self.wanted() if one.source == here and one.state == "proposed"]
        if proposals:
            now = await self.watch.store.server_now()
            for one in proposals:
                await self._go_on(one, now)
        await self._follow()
        due_at = None if self._planned_at is None else self._planned_at + self.task.rules.every_seconds * MICROSECONDS
        is_due = due_at is None or self.steady_clock() >= due_at
        if self.task.rules.is_on and is_due and self.may_send() and not self._is_refused:
            await self._propose(await self.watch.store.server_now())
            # not before: what failed is tried again in the next round
            self._planned_at = self.steady_clock()

    async def _go_on(self, proposal: MoneyTransfer, now: int) -> None:
        if proposal.session_id != self.watch.session_id or not self.task.rules.is_on:
            await self._take(proposal, partial(_dropped, "not_wanted"))
        elif is_outdated(proposal, now):
            await self._take(proposal, partial(_dropped, "not_confirmed"))
        elif proposal.confirmed_by and self.may_send():
            await self._make(proposal)

    async def _follow(self) -> None:
        """Look in the exchange's lists, for what was just asked for at once: an exchange allows few such requests."""
        now, here = self.steady_clock(), self.watch.account.exchange
        under_way = {
            one.transfer_id: one for one in self.wanted() if one.is_open and here in (place for place, _ in one.ends)
        }
        self._looked_at = {name: at for name, at in self._looked_at.items() if name in under_way}
        due = {name for name, one in under_way.items() if self._is_due(one, now)}
        searches = self._searched_at is None or now - self._searched_at >= SEARCH_AGAIN_SECONDS * MICROSECONDS
        if due or searches:
            await self.watch.settle(asks_for=lambda one: one.transfer_id in due or (searches and may_turn_up(one)))
        self._looked_at.update(dict.fromkeys(due, now))
        self._searched_at = now if searches else self._searched_at

    def _is_due(self, one: MoneyTransfer, now: int) -> bool:
        last = self._looked_at.get(one.transfer_id)
        return one.state == "asked" or last is None or now - last >= FOLLOW_SECONDS * MICROSECONDS

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
            own = with_own_amount(one, known, terms[one.source, one.currency])
            if own is None:
                continue
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
        except NotPostedError as error:
            log.warning("nothing was withdrawn: %s", error, extra={"transfer": asked.transfer_id})
            await self._take(asked, partial(_rejected, NOT_ASKED))
        except OrderRejectedError as error:
            log.warning("nothing was withdrawn: %s", error, extra={"transfer": asked.transfer_id})
            await self._take(asked, partial(_rejected, REJECTED))
        except AccountRejectedError as error:
            log.error("no more is withdrawn until this bot restarts: %s", error, extra={"transfer": asked.transfer_id})
            self._is_refused = True
            await self._take(asked, partial(_rejected, REJECTED))
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


def _rejected(reason: str, known: MoneyTransfer, now: int) -> MoneyTransfer:
    # it may have been found in the exchange's list meanwhile
    return rejected(known, now, reason) if known.state in ("asked", "unknown") and known.left is None else known
