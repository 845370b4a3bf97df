"""Transfers between the accounts of a backtest: decided by the plan of sessions, on what was known then, and arriving
so much later as the terms say. None fails, and none is late."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from backtest.simulate.event_queue import EventQueue, run_to_end
from backtest.simulate.quote_history import QuoteHistory
from backtest.simulate.simulated_account import SimulatedAccount
from backtest.simulate.simulated_bots import SimulatedBots
from market.accounting.inventory import Amounts, Values, values_of
from market.accounting.rebalancing import RebalancingPlan, Transfer
from market.accounting.transfer_lifecycle import (
    Deposit,
    MoneyTransfer,
    Withdrawal,
    confirmed,
    proposed,
    with_deposit,
    with_withdrawal,
)
from market.accounting.transfer_planning import PAPER, TransferRules, next_transfers, plan_of
from market.accounting.transfer_terms import TransferTerms
from market.decide.kill_switch import permits_orders
from market.instruments.markets import Market
from market.time_units import MICROSECONDS
from market.trade.leases import UNFENCED
from store.memory.store import MemoryTradeStore

SESSION = ""
"""Of whose books the moves are: there is one."""
ANYTHING = Decimal("Infinity")
"""In place of the realised net, to ask whether anything would be sent at all: to sum that costs more."""


@dataclass(slots=True)
class SimulatedTransfers:
    """The transfers of one backtest."""

    rules: TransferRules
    terms: Mapping[tuple[str, str], TransferTerms]
    markets: tuple[Market, ...]
    opening: Amounts
    agenda: EventQueue
    store: MemoryTradeStore
    accounts: Mapping[str, SimulatedAccount]
    bots: SimulatedBots
    history: QuoteHistory
    decide_until: Callable[[int], None]
    """Decides on all cycles that were seen before a time: a plan counts on what they traded."""
    _due: int | None = None
    """When the next plan is made, microseconds."""
    _currency: str = ""
    """The settlement currency."""

    def plan_until(self, time: int, currency: str) -> None:
        """Make the plans that were due by then: one at each interval, the first one interval after the first call."""
        self._currency = currency
        every = self.rules.every_seconds * MICROSECONDS
        if self._due is None:
            self._due = time + every
        while self._due <= time:
            self.decide_until(self._due)
            self.agenda.advance(self._due)
            self._make_plan()
            self._due += every

    def all(self) -> tuple[MoneyTransfer, ...]:
        return tuple(run_to_end(self.store.transfers.known(0)))

    def _make_plan(self) -> None:
        if not permits_orders(self.bots.cache.settings.trading_state):
            return
        values = self._values()
        if not self._plan(values, ANYTHING).transfers:
            return
        net = run_to_end(self.store.transfers.net(self._currency))
        for wanted in next_transfers(self._plan(values, net), self.all()):
            self._begin(wanted, net)

    def _plan(self, values: Values, net: Decimal) -> RebalancingPlan:
        rows = run_to_end(self.store.balances.rows())
        return plan_of(rows, self.opening, self.all(), self.terms, values, net, self.rules, SESSION)

    def _values(self) -> Values:
        """Return what currencies are worth by the quotes that hold now."""
        now, oldest = self.agenda.now(), self.bots.cache.settings.max_quote_age_ms * 1_000
        mids: dict[tuple[str, str], Decimal] = {}
        for market in self.markets:
            shown = self.history.at(market.exchange, market.symbol, now)
            if shown is not None and now - shown.verified <= oldest:
                mids[market.exchange, market.symbol] = (shown.quote.bid + shown.quote.ask) / 2
        return values_of(mids, self.markets, self._currency)

    def _begin(self, wanted: Transfer, net: Decimal) -> None:
        """Take the steps of a session at one moment: proposed, let go, asked for, and gone."""
        now, transfers = self.agenda.now(), self.store.transfers
        one = confirmed(proposed(wanted, SESSION, now), PAPER, now)
        if run_to_end(transfers.propose(one, net, UNFENCED)) is not None:
            return
        if run_to_end(transfers.ask(one.transfer_id, UNFENCED)) is None:
            return
        left = Withdrawal(one.transfer_id, one.currency, one.amount, "done", now)
        run_to_end(
            transfers.step(one.transfer_id, lambda known, at: with_withdrawal(known, left, at, SESSION), UNFENCED)
        )
        self._move(one.source, one.currency, -one.amount)
        self.agenda.schedule(now + one.seconds * MICROSECONDS, partial(self._arrive, one))

    def _arrive(self, one: MoneyTransfer) -> None:
        arrives = one.amount - one.fee
        there = Deposit(one.transfer_id, one.currency, arrives, "credited")
        run_to_end(
            self.store.transfers.step(
                one.transfer_id, lambda known, at: with_deposit(known, there, at, SESSION), UNFENCED
            )
        )
        self._move(one.destination, one.currency, arrives)

    def _move(self, exchange: str, currency: str, amount: Decimal) -> None:
        self.accounts[exchange].move(currency, amount)
        self.bots.see_balances([(exchange, currency)])
        self.bots.cache.update_transfers(self.all())
