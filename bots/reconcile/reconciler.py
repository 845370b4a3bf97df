"""Reconciles our books with the exchange, at start and at intervals: corrects what it can, reports the rest.

Stateless: the differences found and the time of the last comparison are in the store.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal

from bots.execute.due_actions import has_leg_at
from bots.execute.order_lookup import order_of
from bots.reconcile.money_in_transit import MoneyInTransit, NothingInTransit
from exchanges.errors import ExchangeUnavailableError, OutcomeUnknownError
from exchanges.ports.account import TradingAccount
from market.accounting.compared_books import BookedLeg, BookState, ExchangeState, OrderSearch
from market.accounting.differences import (
    Difference,
    Resumption,
    RowCorrection,
    StoredDifference,
    TakenBack,
    confirmed,
    orders_in_doubt,
    stored_difference,
)
from market.accounting.explained_differences import no_longer_found
from market.accounting.reconciliation import balance_marks, differences, to_look_up
from market.accounting.restated_fills import restatement
from market.decide.kill_switch import HALTED, permits_orders
from market.decide.settings import Settings
from market.instruments.orders import OrderReport
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Leg, TradeOfLegs
from market.trade.inflight_orders import orders_of_others
from market.trade.leases import Actor
from market.trade.leg_lifecycle import Advance
from market.trade.order_results import OrderResult
from market.trade.report_checks import ReportRules
from market.trade.reservation_state import BalanceRow
from market.trade.unwinding import UNCONFIRMED
from runtime.clock import SystemClock, wall_now
from store.ports.trading import TradeStore

log = logging.getLogger(__name__)

SEARCH_BACK = 600 * MICROSECONDS
"""How long an order unknown to the exchange is searched for; also how far back the first comparison goes."""
OVERLAP = 60 * MICROSECONDS
"""Overlap of the fills of two rounds, for fills that an exchange lists late."""
MAX_LOOK_BACK = 24 * 3_600 * MICROSECONDS
"""As far back as all exchanges list fills."""
LEG_MARGIN = 900 * MICROSECONDS
"""How long before the fills their legs may have ended, which every round reads. An order is immediate-or-cancel and
looked up until it is final, and a fill that comes later opens its arbitrage again; the rest is for an exchange whose
clock is wrong."""
FILL_KINDS = ("fill_restated", "fill_foreign", "fill_not_listed", "fill_differs")
MOST_RESTATING = 4
"""Rounds in which the same restatement is found: two to see it, two to have it booked. If the books do not have it by
then, what they are apart by is reported for a person."""
MILLISECONDS = 1_000


def _nothing() -> None:
    """Default without anybody who wants to know."""


@dataclass(slots=True)
class Reconciliation:
    """Reconciles one exchange; `run` is a background task of its bot loop."""

    store: TradeStore
    account: TradingAccount
    advance: Advance
    settings: Callable[[], Settings]
    by: Actor
    has_client_ids: bool = True
    wall_clock: Callable[[], int] = wall_now
    """This machine's clock, microseconds: used in requests to exchanges; the store's may differ."""
    on_report: Callable[[], None] = _nothing
    """Called after a late fill or order was reported."""
    rules: ReportRules = field(default_factory=ReportRules)
    transit: MoneyInTransit = field(default_factory=NothingInTransit)
    _previous: frozenset[str] = field(default_factory=frozenset)
    """Difference ids of the previous round; lost on a restart, which costs one more round."""
    _restated: Counter[str] = field(default_factory=Counter)
    """Rounds in which a restatement was found, by difference id; lost on a restart, which finds it some times more."""

    async def run(self) -> None:
        """Run until cancelled. Raises StoreUnavailableError, ExchangeUnavailableError: run it again."""
        while True:
            await self.round()
            await SystemClock().sleep(self.settings().reconcile_ms / MILLISECONDS)

    async def round(self) -> list[Difference]:
        """Compare once; returns the differences acted on. Raises StoreError, ExchangeError."""
        known = await self.store.differences.open_at(self.account.exchange)
        theirs, before = await self._fetch_exchange_state(known)
        ours = await self._fetch_book_state(theirs, before)
        for mark in balance_marks(ours, theirs):
            await self.store.differences.correct(mark, self.by)
        theirs = await self._with_orders_in_question(ours, theirs)
        found = differences(ours, theirs)
        self._restated.update(one.difference_id for one in found if one.kind == "fill_restated")
        # in each round, whatever an earlier one was interrupted in
        gone = no_longer_found(known, found, ours, theirs)
        if gone:
            ids = {one.difference_id for one in gone}
            await self.store.differences.explain(self.account.exchange, ids, theirs.asked_at)
        doubts = orders_in_doubt((*known, *found))
        acted_on = [one for one in confirmed(found, self._previous) if await self._handle(one, theirs.asked_at, doubts)]
        self._previous = frozenset(one.difference_id for one in found)
        if not any(one.kind in FILL_KINDS and one not in acted_on for one in found):
            # otherwise the next round must fetch the same fills again to confirm the difference
            await self.store.differences.record_compared(self.account.exchange, theirs.asked_at)
        return acted_on

    # The order of reads decides what a difference means. A leg is in the store before its order is sent, and a fill is
    # at the exchange before it is in the store. So the exchange is read first, balances before fills, and the store
    # last: by then it has whatever the exchange showed, at least as a leg in state `granted`, which is left to its bot.
    # Balances are compared only if nothing was open before and after they were fetched and no row changed in between.

    async def _fetch_exchange_state(
        self, known: list[StoredDifference]
    ) -> tuple[ExchangeState, tuple[BalanceRow, ...] | None]:
        """Return the exchange's state, and our balance rows before it if nothing was open; fills also of `known`
        differences, which may be explained."""
        exchange, asked_at = self.account.exchange, await self.store.server_now()
        store_ahead = asked_at - self.wall_clock()
        since = await self._since(asked_at, known)
        rows = await self._idle_rows()
        balances = None if rows is None else await self._balances()
        orders = tuple(await self.account.open_orders())
        fills = tuple(await self.account.fills_since(since - OVERLAP - store_ahead))
        denied = await self.store.unconfirmed_legs(exchange, asked_at - SEARCH_BACK)
        searches = await self._search_orders(denied, since) if denied else ()
        return ExchangeState(orders, fills, since, asked_at, balances, searches), rows

    async def _fetch_book_state(self, theirs: ExchangeState, before: tuple[BalanceRow, ...] | None) -> BookState:
        exchange = self.account.exchange
        arbitrages = await self.store.differences.trades_since(exchange, theirs.fills_since - LEG_MARGIN)
        rows = await self._idle_rows()
        return BookState(
            exchange=exchange,
            legs=_legs(arbitrages, exchange),
            rows=rows if rows == before else None,
            resumable=await self._halted(),
            has_client_ids=self.has_client_ids,
            unconfirmed=_unconfirmed(arbitrages, exchange),
            rules=self.rules,
        )

    async def _with_orders_in_question(self, ours: BookState, theirs: ExchangeState) -> ExchangeState:
        """Return the exchange's state with what it says of the very orders that its list and balances contradict."""
        reports: dict[str, OrderReport] = {}
        for one in to_look_up(ours, theirs):
            leg = one.own.leg
            if self._restated[restatement(one).difference_id] >= MOST_RESTATING:
                continue
            others = {other.leg.exchange_order_id or "" for other in ours.legs} - {leg.exchange_order_id}
            try:
                report = await self.account.look_up(order_of(leg), others)
            except (ExchangeUnavailableError, OutcomeUnknownError) as error:
                fields = {"opportunity_id": one.own.arbitrage_id, "leg": leg.role}
                log.warning("order in question not looked up: %s", error, extra=fields)
            else:
                if report is not None:
                    reports[leg.client_order_id] = report
        return replace(theirs, looked_up=reports)

    async def _since(self, now: int, known: list[StoredDifference]) -> int:
        compared = await self.store.differences.compared_until(self.account.exchange)
        # if the store's clock was set back, the last comparison may lie in the future
        since = now - SEARCH_BACK if compared is None else min(compared, now) - OVERLAP
        # a fill that a machine did not list, or otherwise, may be listed as we know it later
        unsure = [one.found_at - SEARCH_BACK for one in known if one.kind in ("fill_not_listed", "fill_differs")]
        return max(min(since, *unsure) if unsure else since, now - MAX_LOOK_BACK)

    async def _idle_rows(self) -> tuple[BalanceRow, ...] | None:
        """Our rows of the exchange; None while anything is open there."""
        exchange = self.account.exchange
        if has_leg_at(await self.store.open_trades(), exchange):
            return None
        doubtful = await self.transit.in_question()
        rows = await self.store.balances.rows()
        return tuple(row for row in rows if row.exchange == exchange and row.currency not in doubtful)

    async def _balances(self) -> dict[str, Decimal]:
        """Return the exchange's balances, without those of which some may have left. What arrived by then is booked
        afterwards, so that our rows have it, or have changed."""
        balances = await self.account.balances()
        await self.transit.settle()
        doubtful = await self.transit.in_question()
        return {currency: amount for currency, amount in balances.items() if currency not in doubtful}

    async def _search_orders(self, denied: list[tuple[str, Leg]], since: int) -> tuple[OrderSearch, ...]:
        exchange = self.account.exchange
        arbitrages = await self.store.differences.trades_since(exchange, min(since, *_sent_times(denied)) - LEG_MARGIN)
        searches = []
        # an order found for one leg cannot belong to another, however similar
        taken: frozenset[str] = frozenset()
        for arbitrage_id, leg in denied:
            try:
                report = await self.account.look_up(order_of(leg), taken.union(orders_of_others(leg, arbitrages)))
            except OutcomeUnknownError:
                searches.append(OrderSearch(arbitrage_id, leg, None, is_ambiguous=True))
            except ExchangeUnavailableError as error:
                # also raised if the market is not in this session; the other comparisons must not wait for it
                log.warning("order search failed: %s", error, extra={"opportunity_id": arbitrage_id, "leg": leg.role})
                searches.append(OrderSearch(arbitrage_id, leg, None, is_unanswered=True))
            else:
                searches.append(OrderSearch(arbitrage_id, leg, report))
                taken |= set() if report is None else {report.exchange_order_id}
        return tuple(searches)

    async def _halted(self) -> tuple[Resumption, ...]:
        if not permits_orders(self.settings().trading_state):
            return ()
        pairs, cycles = await asyncio.gather(self.store.resumable_arbitrages(), self.store.resumable_cycles())
        # orders not posted are resumed by the bot loop, once the rate limits allow it
        return tuple(
            Resumption(one.arbitrage_id, is_cycle)
            for halted, is_cycle in ((pairs, False), (cycles, True))
            for one in halted
            if one.reason == HALTED and has_leg_at([one], self.account.exchange)
        )

    async def _handle(self, difference: Difference, found_at: int, in_doubt: str) -> bool:
        """Correct it, then store it: one stored first would look corrected after a crash. False if it no longer
        exists."""
        stored = stored_difference(difference, found_at, in_doubt)
        if isinstance(difference.remedy, TakenBack):
            # in one transaction: it is the entry of what is booked
            is_new = await self.store.differences.take_back(stored, difference.remedy.row, self.by)
            if not is_new:
                return False
        elif await self._is_corrected(difference):
            is_new = await self.store.differences.store(stored)
        else:
            return False
        if is_new:
            level = logging.ERROR if stored.handled == "reported" else logging.WARNING
            fields = {"exchange": stored.exchange, "subject": stored.subject, "difference_id": stored.difference_id}
            words = (stored.kind, stored.handled, stored.ours, stored.theirs)
            log.log(level, "%s, %s: ours %s, theirs %s", *words, extra=fields)
        return True

    async def _is_corrected(self, difference: Difference) -> bool:
        """Apply the remedy; True also if there is none. Raises FencedOutError."""
        remedy, by = difference.remedy, self.by
        if isinstance(remedy, OrderResult):
            await self.store.report_order(remedy, by)
            self.on_report()
        elif isinstance(remedy, RowCorrection):
            return await self.store.differences.correct(remedy, by)
        elif isinstance(remedy, Resumption) and remedy.is_cycle:
            return await self.store.resume_cycle(remedy.arbitrage_id, by)
        elif isinstance(remedy, Resumption):
            return await self.store.resume(remedy.arbitrage_id, self.advance, by)
        return True


def _legs(arbitrages: Iterable[TradeOfLegs], exchange: str) -> tuple[BookedLeg, ...]:
    return tuple(
        BookedLeg(arbitrage.arbitrage_id, leg)
        for arbitrage in arbitrages
        for leg in arbitrage.legs
        if leg.exchange == exchange
    )


def _unconfirmed(arbitrages: Iterable[TradeOfLegs], exchange: str) -> tuple[BookedLeg, ...]:
    """Legs of residual arbitrages whose orders are unknown to this exchange and not confirmed as not sent."""
    held = [one for one in arbitrages if (one.state, one.reason) == ("residual", UNCONFIRMED)]
    return tuple(own for own in _legs(held, exchange) if "unconfirmed" in own.leg.times and own.leg.state == "not_sent")


def _sent_times(denied: list[tuple[str, Leg]]) -> list[int]:
    return [leg.times.get("granted", 0) for _, leg in denied]
