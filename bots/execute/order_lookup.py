"""Looks up the order of a sent leg until nothing more can fill, and reports what became of it. Never sends."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal

from bots.execute.order_confirmation import doubt_not_sent, known_orders
from exchanges.errors import ExchangeUnavailableError, OutcomeUnknownError
from exchanges.ports.account import TradingAccount
from market.accounting.differences import implausible, stored_difference
from market.decide.circuit_breaker import FailureKind
from market.instruments.orders import LimitOrder, OrderReport
from market.money import ZERO, Amount, text_of
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Leg
from market.trade.inflight_orders import WITHOUT_CLIENT_IDS
from market.trade.leases import Actor
from market.trade.order_results import result_of
from market.trade.report_checks import IMPLAUSIBLE, ReportRules, listed_amount
from market.trade.unwinding import UNCONFIRMED
from runtime.backoff import backoff
from runtime.clock import SystemClock, steady_now
from store.ports.trading import OrderStore

log = logging.getLogger(__name__)

UNKNOWN_AFTER_SECONDS = 5.0
MISSING_SECONDS = 1.0
"""Minimum time between two answers that an order is unknown: a single one may come from a stale replica."""
CONFIRM_SECONDS = 30.0
"""How long a doubt about an unknown order may last on an exchange without client order ids: longer than the exchange
takes to book pending changes."""

FINAL_SECONDS = 10.0
"""The same without settings (`order_final_ms`)."""
CANCELLED_SECONDS = 5.0
"""How long a cancelled order, or one whose fills are incomplete, may still become final."""
NOT_FINAL = "order_not_final"
"""Reason of a residual arbitrage: its order was acknowledged and cancelled, and the exchange still calls it open."""

RecordFailure = Callable[[FailureKind, str], None]
"""Called with the kind of failure and the client order id."""


def ignore_failure(_kind: FailureKind, _client_order_id: str) -> None:
    """Default without a health watch."""


def usual_seconds() -> float:
    """Default without settings."""
    return FINAL_SECONDS


@dataclass(slots=True)
class _Search:
    """How long the exchange has not known an order, without interruption. Measured by the monotonic clock: if the wall
    clock were set forward, an order under way would count as not sent."""

    missing_since: int | None = None
    """Time of the first of the current run of such answers, microseconds."""
    doubted_since: int | None = None
    open_since: int | None = None
    """When it was first reported, but not as final."""
    cancelled_at: int | None = None
    filled: Decimal = ZERO
    """The most that was reported as filled."""

    def missing_for(self, asked_at: int, now: int) -> float:
        """Seconds from the first such answer to the request of the current one; 0.0 at the first."""
        if self.missing_since is None:
            self.missing_since = now
        return max(0, asked_at - self.missing_since) / MICROSECONDS

    def doubted_for(self, now: int) -> float:
        """Seconds; 0.0 at the first doubt."""
        if self.doubted_since is None:
            self.doubted_since = now
        return (now - self.doubted_since) / MICROSECONDS

    def open_for(self, now: int) -> float:
        """Seconds since it was first reported as not final; 0.0 then."""
        if self.open_since is None:
            self.open_since = now
        return (now - self.open_since) / MICROSECONDS

    def reset(self) -> None:
        """Start over: the order was found, or a look-up failed. How long it has been open goes on."""
        self.missing_since = self.doubted_since = None


@dataclass(slots=True)
class OrderLookup:
    """Follows sent legs of one exchange to their end."""

    store: OrderStore
    account: TradingAccount
    by: Actor
    record_failure: RecordFailure
    unknown_after: float = UNKNOWN_AFTER_SECONDS
    """Seconds for which an order must be unknown to the exchange before it counts as not sent."""
    steady_clock: Callable[[], int] = steady_now
    """Keeps running while the process is suspended."""
    rules: ReportRules = field(default_factory=ReportRules)
    final_within: Callable[[], float] = usual_seconds
    """Seconds within which an acknowledged order has to become final; then it is cancelled."""

    async def resolve(self, arbitrage_id: str, leg: Leg) -> None:
        """Follow a sent leg: look its order up until nothing more can fill, or the exchange has not known it for too
        long.

        Never sends. Raises StoreUnavailableError; call again.
        """
        waits = backoff(first=0.02, longest=1.0)
        search = _Search()
        while True:
            try:
                others, asked_at = await self._others(leg), self.steady_clock()
                report = await self.account.look_up(order_of(leg), others)
                if report is None:
                    is_over = await self._is_lost(arbitrage_id, leg, search, asked_at)
                else:
                    search.reset()
                    is_over = await self._is_reported(arbitrage_id, leg, report, search)
                if is_over:
                    return
            except ExchangeUnavailableError as error:
                search.reset()
                self.record_failure("look_up_unanswered", leg.client_order_id)
                log.warning("order look-up failed, retrying: %s", error, extra=leg_ids(arbitrage_id, leg))
            except OutcomeUnknownError as error:
                await self._give_up(arbitrage_id, leg, "ambiguous_order", str(error))
                return
            await SystemClock().sleep(next(waits))

    async def _is_reported(self, arbitrage_id: str, leg: Leg, report: OrderReport, search: _Search) -> bool:
        """Report a found order; True if it is final, or has not become final for too long."""
        if report.is_final:
            await self.report(arbitrage_id, leg, report, search.filled)
            return True
        search.filled = max(search.filled, report.filled)
        await self.acknowledge(arbitrage_id, leg, report)
        now = self.steady_clock()
        if search.open_for(now) < self.final_within():
            return False
        if search.cancelled_at is None:
            search.cancelled_at = now
            log.error("order acknowledged, but not final: it is cancelled", extra=leg_ids(arbitrage_id, leg))
            self.record_failure("order_not_final", leg.client_order_id)
        # at every look-up: the request may get lost, and an answer says nothing of what rests
        await self._cancel(arbitrage_id, leg, report)
        is_hopeless = now - search.cancelled_at >= CANCELLED_SECONDS * MICROSECONDS
        if is_hopeless:
            listed = listed_amount(report.fills)
            amounts = f"{text_of(report.filled)} is filled, fills of {text_of(listed)} are listed"
            reason = NOT_FINAL if listed == report.filled else IMPLAUSIBLE
            self.record_failure("order_not_final", leg.client_order_id)
            await self._give_up(arbitrage_id, leg, reason, f"it does not become final: {amounts}")
        return is_hopeless

    async def _cancel(self, arbitrage_id: str, leg: Leg, report: OrderReport) -> None:
        """Cancel what is left of an order that should have ended at once; the next look-up says what became of it."""
        try:
            await self.account.cancel(order_of(leg), report.exchange_order_id)
        except ExchangeUnavailableError as error:
            # so it answers also if the order has ended and only its fills are missing
            log.warning("order not cancelled: %s", error, extra=leg_ids(arbitrage_id, leg))

    async def _is_lost(self, arbitrage_id: str, leg: Leg, search: _Search, asked_at: int) -> bool:
        """End a leg whose order was unknown for long enough: as not sent, or as residual if the order was once
        acknowledged or the exchange's balances suggest that it exists."""
        missing_for = search.missing_for(asked_at, self.steady_clock())
        if await self._was_acknowledged(arbitrage_id, leg):
            is_gone = missing_for >= max(2 * self.unknown_after, MISSING_SECONDS)
            if is_gone:
                await self._give_up(arbitrage_id, leg, "order_lost", "acknowledged, then unknown")
            return is_gone
        if missing_for < max(self.unknown_after, MISSING_SECONDS):
            return False
        # an order sent in its place would double whatever it has filled
        why = await doubt_not_sent(self.store, self.account, leg) if leg.exchange in WITHOUT_CLIENT_IDS else None
        if why is not None:
            is_hopeless = search.doubted_for(self.steady_clock()) >= CONFIRM_SECONDS
            if is_hopeless:
                await self._give_up(arbitrage_id, leg, UNCONFIRMED, why)
            return is_hopeless
        log.warning("order unknown to the exchange, counted as not sent", extra=leg_ids(arbitrage_id, leg))
        await self.report(arbitrage_id, leg, None)
        return True

    async def _was_acknowledged(self, arbitrage_id: str, leg: Leg) -> bool:
        """Whether the exchange once knew the order, by the leg or by what is not booked yet."""
        results = await self.store.order_results(arbitrage_id)
        if any(one.client_order_id == leg.client_order_id and one.report is not None for one in results):
            return True
        stored = await self.store.arbitrage(arbitrage_id) or await self.store.cycle_trade(arbitrage_id)
        known = None if stored is None else stored.leg(leg.role)
        return known is not None and known.exchange_order_id is not None

    async def _others(self, leg: Leg) -> frozenset[str]:
        """Orders that could be mistaken for this one on an exchange without client order ids."""
        return await known_orders(self.store, leg) if leg.exchange in WITHOUT_CLIENT_IDS else frozenset()

    async def _give_up(self, arbitrage_id: str, leg: Leg, reason: str, why: str) -> None:
        """Nobody can say what became of the order: nothing more is traded on a guess, nor there if it lied."""
        log.error("order outcome stays unknown: %s", why, extra=leg_ids(arbitrage_id, leg))
        if reason == IMPLAUSIBLE:
            # first: whoever dies in between leaves the mark
            found = stored_difference(implausible(arbitrage_id, leg, why), await self.store.server_now())
            await self.store.differences.store(found)
        await self.store.report_order(result_of(arbitrage_id, leg, None, reason), self.by)

    async def acknowledge(self, arbitrage_id: str, leg: Leg, report: OrderReport) -> None:
        """Record once that the exchange knows the order, whatever it has filled by now. Raises
        StoreUnavailableError."""
        if report.exchange_order_id == leg.exchange_order_id:
            return
        known = OrderReport(report.exchange_order_id, is_final=False, filled=Amount(ZERO), fills=())
        await self.store.report_order(result_of(arbitrage_id, leg, known), self.by)

    async def report(self, arbitrage_id: str, leg: Leg, report: OrderReport | None, seen: Decimal = ZERO) -> None:
        """Book the exchange's final report if it can be true of the order; None: the order was not sent. `seen`: what
        was filled before. Raises StoreUnavailableError, FencedOutError."""
        doubt = None if report is None else self.rules.doubt(leg, report, seen)
        if report is None or doubt is None:
            await self.store.report_order(result_of(arbitrage_id, leg, report), self.by)
            return
        self.record_failure(IMPLAUSIBLE, leg.client_order_id)
        if doubt.subject not in ("order_id", "client_id"):
            # reconciliation knows its fills by it
            await self.acknowledge(arbitrage_id, leg, report)
        await self._give_up(arbitrage_id, leg, IMPLAUSIBLE, doubt.text)


def order_of(leg: Leg) -> LimitOrder:
    """Return the order of a leg that was granted."""
    return LimitOrder(
        client_order_id=leg.client_order_id,
        exchange=leg.exchange,
        symbol=leg.symbol,
        side=leg.side,
        amount=leg.amount,
        price=leg.limit_price,
        intended_at=leg.times["granted"],
    )


def leg_ids(arbitrage_id: str, leg: Leg) -> dict[str, str]:
    return {"opportunity_id": arbitrage_id, "leg": leg.role, "client_order_id": leg.client_order_id}
