"""Decides on opportunities: reserves both legs of those that pass the checks."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from bots.decide.opportunity_queue import OpportunityQueue
from bots.decide.order_decision import Rejected, decide, early_rejection, is_expired
from bots.decide.state_cache import StateCache
from bots.decide.write_turns import WriteTurns
from market.decide.decision_context import DecisionContext, recorded_context
from market.decide.place_values import PlacesLeft
from market.decide.risk_checks import FOR_PLACES
from market.decide.shared_sizes import Size
from market.decide.sizing import size
from market.money import ZERO
from market.prices.opportunities import Opportunity
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Arbitrage
from market.trade.decision_record import RejectionRecord, rejection_text
from market.trade.fast_replace import replace
from market.trade.leases import Actor
from market.trade.reservation_state import liquidity_key
from market.trade.reservations import Reservation, ReservationResult
from market.trade.unwinding import Markets
from runtime.clock import Clock, wall_now, wall_seconds
from store.errors import FencedOutError, StoreUnavailableError
from store.ports.trading import DecisionStore

log = logging.getLogger(__name__)

ENDED = "expired"
"""The opportunity is over, which is not recorded as a rejection."""

ActorOf = Callable[[str], Actor | None]
"""As whom this process decides on opportunities of a base; None if it does not."""
PlacesLeftFor = Callable[[Opportunity, int], PlacesLeft]
"""How many more legs the rate limits of both exchanges allow, less the reservations under way."""
NO_DECIDER = "no_decider"
"""It expired while no process decided."""

MIN_SECONDS = 0.05
"""Minimum validity of a reservation, so that a fast replay's do not all come too late."""

Execute = Callable[[Arbitrage], None]
"""Starts executing this bot's leg, without waiting for it."""


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


def valid_until(expires_at: int, clock: Clock, store_now: int) -> int:
    """Return when what expires at that time of the market does, by the store's clock, which shows `store_now`."""
    left = wall_seconds(clock, (expires_at - clock.now()) / MICROSECONDS)
    return store_now + int(max(left, MIN_SECONDS) * MICROSECONDS)


@dataclass(slots=True)
class Reserver:
    """Takes opportunities, rejects most of them by cheap checks, and reserves the rest, the newest first, of those
    found together the one that brings most beyond its places within the rate limits."""

    store: DecisionStore
    markets: Markets
    clock: Clock
    cache: StateCache
    rejection_log: RejectionSink
    execute: Execute
    actor_of: ActorOf
    places_left: PlacesLeftFor
    wall_clock: Callable[[], int] = wall_now
    """This machine's clock, microseconds."""
    sized: Size = size
    queue: OpportunityQueue = field(init=False)
    reserving: set[str] = field(default_factory=set)
    """Opportunities whose reservation is under way."""
    turns: WriteTurns = field(init=False)

    def __post_init__(self) -> None:
        self.queue = OpportunityQueue(lambda one: self.cache.surplus(one, self.clock.now()))
        self.turns = WriteTurns(self.queue.has_any)

    def consider(self, opportunity: Opportunity) -> None:
        """Take an opportunity from the stream; expired ones are ignored."""
        if is_expired(opportunity, self.clock.now()):
            return
        left = self._left(opportunity)
        context = self.context(opportunity, left)
        reason = early_rejection(context, self.markets)
        self._see_wanted(opportunity, left, reason)
        if reason is None:
            self.queue.push(opportunity)
        else:
            self.queue.remove_older(opportunity)
            self._reject(opportunity, reason, lambda: self._record(context))

    def consider_left(self, opportunity: Opportunity) -> None:
        """Take one that came while nobody decided, or shortly before that: an expired one is recorded as that."""
        if is_expired(opportunity, self.clock.now()):
            self.rejection_log.reject(opportunity, NO_DECIDER, self.wall_clock())
        else:
            self.consider(opportunity)

    async def work(self) -> None:
        """Decides on what waits, one by one, until cancelled."""
        while True:
            await self.queue.filled()
            # the best is taken once it is its turn: a better one may come while another is written
            async with self.turns.to_decide():
                opportunity = self.queue.take()
                if opportunity is not None:
                    await self._take(opportunity)

    async def _take(self, opportunity: Opportunity) -> None:
        try:
            await self._decide(opportunity)
        except (StoreUnavailableError, FencedOutError) as error:
            # fenced out: another process decides now, and this one acts on for its exchange
            log.warning("reservation abandoned: %s", error, extra={"opportunity_id": opportunity.opportunity_id})

    async def attempt(self, opportunity: Opportunity) -> None:
        """Decide and reserve. Raises StoreUnavailableError: whether it was reserved shows in the next round; and
        FencedOutError."""
        async with self.turns.to_decide():
            await self._decide(opportunity)

    async def _decide(self, opportunity: Opportunity) -> None:
        identity, by = opportunity.opportunity_id, self.actor_of(opportunity.base)
        if by is None or is_expired(opportunity, self.clock.now()) or identity in self.cache.open:
            return
        # only now, so that it sees what was written meanwhile
        left = self._left(opportunity)
        context = self.context(opportunity, left)
        decision = decide(context, self.markets, self.sized)
        self._see_wanted(opportunity, left, decision.reason if isinstance(decision, Rejected) else None)
        if isinstance(decision, Rejected):
            self._reject(opportunity, decision.reason, lambda: self._record(context))
            return
        self.reserving.add(identity)
        try:
            request = replace(decision, valid_until=self._valid_until(opportunity), context=recorded_context(context))
            self._handle_result(request, await self.store.reserve(request, by))
        finally:
            self.reserving.discard(identity)

    def _left(self, opportunity: Opportunity) -> PlacesLeft:
        return self.places_left(opportunity, len(self.reserving))

    def _see_wanted(self, opportunity: Opportunity, left: PlacesLeft, reason: str | None) -> None:
        """Let what would be traded, were there places enough, say what a place is worth."""
        if reason is None or reason in FOR_PLACES:
            self.cache.see_wanted(opportunity, left, self.clock.now())

    def _handle_result(self, request: Reservation, result: ReservationResult) -> None:
        opportunity, context = request.opportunity, request.context
        if result.arbitrage is None:
            if result.rejection == "liquidity_used":
                self._record_used_up(request, result)
            if result.rejection is not None and result.rejection != ENDED and context is not None:
                record = RejectionRecord(context, result.read, request.valid_until)
                self._reject(opportunity, result.rejection, lambda: record)
            return
        self.rejection_log.record_opportunity(opportunity)
        self.cache.update_arbitrage(result.arbitrage)
        self.execute(result.arbitrage)

    def _record_used_up(self, request: Reservation, result: ReservationResult) -> None:
        """Record those of its quotes that have less left than an order needs."""
        liquidity = {} if result.read is None else result.read.liquidity
        for wanted in request.legs:
            side = wanted.leg.side
            used = liquidity.get(liquidity_key(request.opportunity, side), ZERO)
            if wanted.displayed - used < max(request.minimum_amount, request.amount_step):
                quote = request.opportunity.buy if side == "buy" else request.opportunity.sell
                self.cache.record_used_up(quote.quote_id)

    def _valid_until(self, opportunity: Opportunity) -> int:
        return valid_until(opportunity.expires_at, self.clock, self.wall_clock() + self.cache.server_ahead)

    def context(self, opportunity: Opportunity, left: PlacesLeft | None = None) -> DecisionContext:
        """Return all that is known now of what decides on the opportunity. `left`: the places, if they are known."""
        cache, now, left = self.cache, self.clock.now(), left or self._left(opportunity)
        return DecisionContext(
            opportunity=opportunity,
            settings=cache.settings,
            risk=cache.risk_state(opportunity, self.wall_clock()),
            now=now,
            window=cache.window_of(opportunity),
            history=cache.history_of(opportunity),
            drift=cache.drift,
            legs_left=min((one for one in left if one is not None), default=None),
            place_value=cache.place_value(opportunity, left, now),
            free=cache.free,
            is_used_up=cache.is_used_up(opportunity),
            imbalance=cache.imbalance(opportunity),
        )

    def _record(self, context: DecisionContext) -> RejectionRecord:
        return RejectionRecord(recorded_context(context))

    def _reject(self, opportunity: Opportunity, reason: str, record: Callable[[], RejectionRecord]) -> None:
        if opportunity.opportunity_id not in self.cache.open:
            self.rejection_log.reject(opportunity, reason, self.wall_clock(), lambda: rejection_text(record()))
