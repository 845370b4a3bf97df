"""Reserves this bot's leg of the opportunities that pass its checks."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from bots.decide.order_decision import Rejected, decide, early_rejection, is_expired, side_of
from bots.decide.state_cache import StateCache
from bots.execute.opportunity_queue import OpportunityQueue
from market.decide.decision_context import DecisionContext, recorded_context
from market.prices.opportunities import Opportunity
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Arbitrage, LegRole
from market.trade.decision_record import RejectionRecord, rejection_text
from market.trade.fast_replace import replace
from market.trade.leases import Actor
from market.trade.leg_planning import Markets
from session.clock import Clock, wall_now, wall_seconds
from store.errors import StoreUnavailableError
from store.store_port import Reservation, ReservationResult, TradeStore

log = logging.getLogger(__name__)

ENDED = "expired"
"""The arbitrage has ended without this leg. Like an expired opportunity, this is not recorded as a rejection."""

MIN_SECONDS = 0.05
"""Minimum validity of a reservation, so that a fast replay's do not all come too late."""

Execute = Callable[[str, LegRole], None]
"""Starts executing a leg, without waiting for it."""


class RejectionSink(Protocol):
    """Records what became of an opportunity."""

    def record_opportunity(self, opportunity: Opportunity) -> None:
        """Record an opportunity that was acted on."""
        ...

    def reject(
        self, opportunity: Opportunity, reason: str, rejected_at: int, record: Callable[[], str] | None = None
    ) -> None:
        """`rejected_at` by this machine's clock, microseconds; `record` returns what the decision was made on and
        must be called immediately."""
        ...


@dataclass(slots=True)
class LegReserver:
    """Takes opportunities, rejects most of them by cheap checks, and reserves the rest, newest first."""

    exchange: str
    store: TradeStore
    markets: Markets
    clock: Clock
    cache: StateCache
    rejection_log: RejectionSink
    execute: Execute
    by: Actor
    wall_clock: Callable[[], int] = wall_now
    """This machine's clock, microseconds."""
    queue: OpportunityQueue = field(default_factory=OpportunityQueue)
    reserving: set[str] = field(default_factory=set)
    """Opportunities whose reservation is under way."""

    def consider(self, opportunity: Opportunity) -> None:
        """Take an opportunity from the stream; expired ones and those of other exchanges are ignored."""
        if self.cache.is_reduce_only:
            return
        if side_of(opportunity, self.exchange) is None or is_expired(opportunity, self.clock.now()):
            return
        context = self._context(opportunity)
        reason = early_rejection(context, self.markets)
        if reason is None:
            self.queue.push(opportunity)
        else:
            self._reject(opportunity, reason, lambda: self._record(context))

    def consider_second_leg(self, arbitrage: Arbitrage) -> None:
        """Take an arbitrage whose first leg is reserved and awaits this one."""
        has_own_leg = any(leg.exchange == self.exchange for leg in arbitrage.legs)
        if arbitrage.state == "awaiting_second_leg" and not has_own_leg:
            self.consider(arbitrage.opportunity)

    async def work(self) -> None:
        """One worker; runs until cancelled."""
        while True:
            opportunity = await self.queue.newest()
            try:
                await self.attempt(opportunity)
            except StoreUnavailableError as error:
                log.warning("reservation abandoned: %s", error, extra={"opportunity_id": opportunity.opportunity_id})

    async def attempt(self, opportunity: Opportunity) -> None:
        """Decide and reserve. Raises StoreUnavailableError; whether it was reserved shows in the next round."""
        side = side_of(opportunity, self.exchange)
        identity = opportunity.opportunity_id
        is_over = is_expired(opportunity, self.clock.now())
        is_obsolete = side is None or is_over or self.cache.is_reduce_only
        if side is None or is_obsolete or identity in self.reserving or self._is_reserved(identity):
            return
        context = self._context(opportunity)
        decision = decide(context, side, self.markets)
        if isinstance(decision, Rejected):
            self._reject(opportunity, decision.reason, lambda: self._record(context))
            return
        self.reserving.add(identity)
        try:
            recorded = recorded_context(context, self.exchange)
            request = replace(decision, valid_until=self._valid_until(opportunity), context=recorded)
            self._handle_result(request, await self.store.reserve(request, self.by))
        finally:
            self.reserving.discard(identity)

    def _handle_result(self, request: Reservation, result: ReservationResult) -> None:
        opportunity, context = request.opportunity, request.context
        if result.arbitrage is None:
            if result.rejection == "liquidity_used":
                is_buyer = opportunity.buy.exchange == self.exchange
                self.cache.record_used_up((opportunity.buy if is_buyer else opportunity.sell).quote_id)
            if result.rejection is not None and result.rejection != ENDED and context is not None:
                record = RejectionRecord(context, result.read, request.valid_until)
                self._reject(opportunity, result.rejection, lambda: record)
            return
        self.rejection_log.record_opportunity(opportunity)
        self.cache.update_arbitrage(result.arbitrage)
        own = next((leg for leg in result.arbitrage.legs if leg.exchange == self.exchange), None)
        if own is not None and result.arbitrage.state == "reserved" and own.state == "reserved":
            self.execute(result.arbitrage.arbitrage_id, own.role)

    def early_rejection(self, opportunity: Opportunity) -> str | None:
        """The first reason that needs neither sizing nor the store; both bots find the same."""
        return early_rejection(self._context(opportunity), self.markets)

    def _valid_until(self, opportunity: Opportunity) -> int:
        """When the opportunity expires, by the store's clock."""
        left = wall_seconds(self.clock, (opportunity.expires_at - self.clock.now()) / MICROSECONDS)
        return self.wall_clock() + self.cache.server_ahead + int(max(left, MIN_SECONDS) * MICROSECONDS)

    def _is_reserved(self, identity: str) -> bool:
        known = self.cache.open.get(identity)
        return known is not None and any(leg.exchange == self.exchange for leg in known.legs)

    def _context(self, opportunity: Opportunity) -> DecisionContext:
        cache = self.cache
        return DecisionContext(
            opportunity=opportunity,
            settings=cache.settings,
            risk=cache.risk_state(opportunity, self.wall_clock()),
            now=self.clock.now(),
            window=cache.window_of(opportunity),
            history=cache.history_of(opportunity),
            drift=cache.drift,
            legs_left=min(self._legs_left(opportunity), default=None),
            free=cache.free,
            is_used_up=cache.is_used_up(opportunity),
        )

    def _legs_left(self, opportunity: Opportunity) -> list[int]:
        """Legs left on each exchange with known limits, own first; only the own where this leg is the second."""
        buy, sell = opportunity.buy.exchange, opportunity.sell.exchange
        own = self.cache.new_legs_left(self.exchange, len(self.reserving))
        open_ones = self.cache.open
        partner = sell if buy == self.exchange else buy
        other = self.cache.partners.legs_left(partner, open_ones.values(), len(self.reserving))
        if opportunity.opportunity_id in open_ones:
            other = None
        return [left for left in (own, other) if left is not None]

    def _record(self, context: DecisionContext) -> RejectionRecord:
        return RejectionRecord(recorded_context(context, self.exchange))

    def _reject(self, opportunity: Opportunity, reason: str, record: Callable[[], RejectionRecord]) -> None:
        """Record the rejection, by the buy side's bot alone so that it is counted once. The sell side's bot records it
        only where the buy leg is reserved already."""
        identity = opportunity.opportunity_id
        is_reporter = self.exchange == opportunity.buy.exchange or identity in self.cache.open
        if not is_reporter or self._is_reserved(identity):
            return
        self.rejection_log.reject(opportunity, reason, self.wall_clock(), lambda: rejection_text(record()))
