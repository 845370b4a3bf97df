"""Reserves this bot's leg of the opportunities that pass its checks."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from bots.decide.decision_record import sight_of
from bots.decide.opportunity_checks import Circumstances, is_expired
from bots.decide.order_decision import Rejected, decide, early_rejection, side_of
from bots.decide.state_cache import StateCache
from bots.execute.opportunity_queue import OpportunityQueue
from market.prices.opportunities import Opportunity
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Arbitrage, LegRole
from market.trade.decision_context import Sight
from market.trade.decisions import Grounds, grounds_text
from market.trade.fast_replace import replace
from market.trade.leases import UNFENCED, Actor
from market.trade.leg_planning import Markets
from session.clock import Clock, wall_now, wall_seconds
from store.errors import StoreUnavailableError
from store.store_port import Reservation, ReservationResult, TradeStore

log = logging.getLogger(__name__)

ENDED = "expired"
"""The arbitrage has ended without this leg: too late, as with an expired opportunity no rejection."""

MIN_SECONDS = 0.05
"""What a reservation gets at least, so that a fast replay's do not all come too late."""

Execute = Callable[[str, LegRole], None]
"""Starts trading a leg of an arbitrage, without waiting for it."""


class RejectionSink(Protocol):
    """Where it is put down what became of an opportunity."""

    def record_opportunity(self, opportunity: Opportunity) -> None:
        """It was acted on."""
        ...

    def reject(
        self, opportunity: Opportunity, reason: str, rejected_at: int, grounds: Callable[[], str] | None = None
    ) -> None:
        """`rejected_at` by the machine's clock, microseconds; `grounds` say what it was decided on, if asked at
        once."""
        ...


@dataclass(slots=True)
class LegReserver:
    """Sees opportunities, rejects the cheap way at once, and reserves the rest, newest first."""

    exchange: str
    store: TradeStore
    markets: Markets
    clock: Clock
    cache: StateCache
    rejection_log: RejectionSink
    execute: Execute
    by: Actor = UNFENCED
    wall_clock: Callable[[], int] = wall_now
    """This machine's, microseconds."""
    queue: OpportunityQueue = field(default_factory=OpportunityQueue)
    reserving: set[str] = field(default_factory=set)
    """Opportunities whose reservation is under way."""

    def consider(self, opportunity: Opportunity) -> None:
        """An opportunity from the stream; an expired one, or one of other exchanges, is nobody's business."""
        if self.cache.is_reduce_only:
            return
        if side_of(opportunity, self.exchange) is None or is_expired(opportunity, self.clock.now()):
            return
        known = self._circumstances(opportunity)
        reason = self.early_rejection(opportunity, known)
        if reason is None:
            self.queue.push(opportunity)
        else:
            self._reject(opportunity, reason, lambda: self._grounds(opportunity, known))

    def consider_second_leg(self, arbitrage: Arbitrage) -> None:
        """An arbitrage whose other leg is reserved and waits for this one."""
        has_own_leg = any(leg.exchange == self.exchange for leg in arbitrage.legs)
        if arbitrage.state == "awaiting_second_leg" and not has_own_leg:
            self.consider(arbitrage.opportunity)

    async def work(self) -> None:
        """One worker: reserves for ever."""
        while True:
            opportunity = await self.queue.newest()
            try:
                await self.attempt(opportunity)
            except StoreUnavailableError as error:
                log.warning("reservation given up: %s", error, extra={"opportunity_id": opportunity.opportunity_id})

    async def attempt(self, opportunity: Opportunity) -> None:
        """Raises StoreUnavailableError: whether it is reserved then, the next look at the open arbitrages says."""
        side = side_of(opportunity, self.exchange)
        identity = opportunity.opportunity_id
        is_over = is_expired(opportunity, self.clock.now())
        is_obsolete = side is None or is_over or self.cache.is_reduce_only
        if side is None or is_obsolete or identity in self.reserving or self._is_reserved(identity):
            return
        known = self._circumstances(opportunity)
        reason = self.early_rejection(opportunity, known)
        if reason is not None:
            self._reject(opportunity, reason, lambda: self._grounds(opportunity, known))
            return
        decision = decide(opportunity, side, self.markets, self.cache.free, known)
        if isinstance(decision, Rejected):
            self._reject(opportunity, decision.reason, lambda: self._grounds(opportunity, known))
            return
        self.reserving.add(identity)
        try:
            valid_until = self._valid_until(opportunity)
            request = replace(decision, valid_until=valid_until, sight=self._sight(opportunity, known))
            self._handle_result(request, await self.store.reserve(request, self.by))
        finally:
            self.reserving.discard(identity)

    def _handle_result(self, request: Reservation, result: ReservationResult) -> None:
        opportunity, sight = request.opportunity, request.sight
        if result.arbitrage is None:
            if result.rejection == "liquidity_used":
                is_buyer = opportunity.buy.exchange == self.exchange
                self.cache.record_used_up((opportunity.buy if is_buyer else opportunity.sell).quote_id)
            if result.rejection is not None and result.rejection != ENDED and sight is not None:
                grounds = Grounds(sight, result.read, request.valid_until)
                self._reject(opportunity, result.rejection, lambda: grounds)
            return
        self.rejection_log.record_opportunity(opportunity)
        self.cache.update_arbitrage(result.arbitrage)
        own = next((leg for leg in result.arbitrage.legs if leg.exchange == self.exchange), None)
        if own is not None and result.arbitrage.state == "reserved" and own.state == "reserved":
            self.execute(result.arbitrage.arbitrage_id, own.role)

    def early_rejection(self, opportunity: Opportunity, known: Circumstances | None = None) -> str | None:
        """What needs neither sizing nor the store, and is the same whichever exchange's bot asks."""
        known = known or self._circumstances(opportunity)
        is_used_up = self.cache.is_used_up(opportunity)
        rejected = early_rejection(opportunity, self.markets, known, is_used_up=is_used_up)
        return None if rejected is None else rejected.reason

    def _valid_until(self, opportunity: Opportunity) -> int:
        """When the opportunity expires, by the store's clock."""
        left = wall_seconds(self.clock, (opportunity.expires_at - self.clock.now()) / MICROSECONDS)
        return self.wall_clock() + self.cache.server_ahead + int(max(left, MIN_SECONDS) * MICROSECONDS)

    def _is_reserved(self, identity: str) -> bool:
        known = self.cache.open.get(identity)
        return known is not None and any(leg.exchange == self.exchange for leg in known.legs)

    def _circumstances(self, opportunity: Opportunity) -> Circumstances:
        cache = self.cache
        return Circumstances(
            settings=cache.settings,
            window=cache.window_of(opportunity),
            now=self.clock.now(),
            history=cache.history_of(opportunity),
            drift=cache.drift,
            standing=cache.standing(opportunity, self.wall_clock()),
            legs_left=min(self._legs_left(opportunity), default=None),
        )

    def _legs_left(self, opportunity: Opportunity) -> list[int]:
        """Of each of both exchanges whose limits are known, the own first; of the own alone where this leg joins."""
        buy, sell = opportunity.buy.exchange, opportunity.sell.exchange
        own = self.cache.new_legs_left(self.exchange, len(self.reserving))
        open_ones = self.cache.open
        partner = sell if buy == self.exchange else buy
        other = self.cache.partners.legs_left(partner, open_ones.values(), len(self.reserving))
        if opportunity.opportunity_id in open_ones:
            other = None
        return [left for left in (own, other) if left is not None]

    def _sight(self, opportunity: Opportunity, known: Circumstances) -> Sight:
        is_used_up = self.cache.is_used_up(opportunity)
        return sight_of(opportunity, self.exchange, known, self.cache.free, is_used_up=is_used_up)

    def _grounds(self, opportunity: Opportunity, known: Circumstances) -> Grounds:
        return Grounds(self._sight(opportunity, known))

    def _reject(self, opportunity: Opportunity, reason: str, grounds: Callable[[], Grounds]) -> None:
        """The buyer's bot speaks for both, so that an opportunity is not counted twice. The seller's speaks where the
        buyer has reserved: it alone says no then."""
        identity = opportunity.opportunity_id
        is_reporter = self.exchange == opportunity.buy.exchange or identity in self.cache.open
        if not is_reporter or self._is_reserved(identity):
            return
        self.rejection_log.reject(opportunity, reason, self.wall_clock(), lambda: grounds_text(grounds()))
