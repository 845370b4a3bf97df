"""The store in memory, under the contract of the MongoDB one: backtests trade on it. Nothing outlives the process."""

from asyncio import Queue
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from decimal import Decimal
from typing import Literal

from market.accounting.missed_profit import missed_of
from market.decide.circuit_breaker import Failure, Health, with_failure
from market.instruments.orders import Fill, OrderReport
from market.money import ZERO
from market.prices.feed_state import FeedState
from market.prices.opportunities import Opportunity
from market.time_units import MICROSECONDS
from market.trade import reservations
from market.trade.arbitrages import OPEN_STATES, Arbitrage, Leg, LegRole, Rejection
from market.trade.decision_context import rows_read_to_reserve
from market.trade.decisions import Cause, finishing, reserving
from market.trade.inflight_orders import allows_one_in_flight, inflight_key, inflight_owner
from market.trade.leases import UNFENCED, Actor
from market.trade.lifecycle import Moment
from market.trade.reservation_state import (
    SIDES,
    BalanceRow,
    PairRow,
    ReservationState,
    ReservationTerms,
    fill_key,
    liquidity_key,
    pair_key,
)
from market.trade.reservations import Reservation, ReservationResult
from session.clock import Clock, SystemClock
from store import leg_lifecycle as legs
from store.errors import StoreError
from store.memory.memory_averages import MemoryAverages
from store.memory.memory_backtests import MemoryBacktests
from store.memory.memory_differences import MemoryDifferences
from store.memory.memory_leases import MemoryLeases
from store.memory.memory_settings import MemorySettings
from store.memory.memory_steps import MemorySteps
from store.store_port import Advance, Balances

LIQUIDITY_ROWS = 10_000
"""How many quotes' used liquidity is remembered; a quote so many quotes old has expired."""


class MemoryTradeStore(MemorySettings, MemoryLeases):
    """Every method runs without waiting, so each is one transaction. The clock is the server's time."""

    def __init__(self, clock: Clock | None = None) -> None:
        MemorySettings.__init__(self)
        MemoryLeases.__init__(self, clock or SystemClock())
        self.opportunities: dict[str, Opportunity] = {}
        self.rejections: dict[tuple[str, ...], Rejection] = {}
        self.feed_states: dict[tuple[str, str], FeedState] = {}
        self.liquidity: dict[str, Decimal] = {}
        """`liquidity_key` → base amount taken, of the newest quotes that any arbitrage took from."""
        self.averages = MemoryAverages(self.moment)
        self.backtests = MemoryBacktests(self._clock)
        self.steps = MemorySteps()
        self._rejection_ids: set[str] = set()
        self._arbitrages: dict[str, Arbitrage] = {}
        self._terms: dict[str, ReservationTerms] = {}
        self._pairs: dict[str, PairRow] = {}
        self._balances: dict[tuple[str, str], BalanceRow] = {}
        self._ordered_places: list[tuple[str, str]] = []  # sorted once: a backtest asks for the rows after every step
        self._awaiting_second_leg: dict[str, str | None] = {}
        self._in_flight: dict[str, str | None] = {}
        self._open_arbitrages = 0
        self._notional: dict[str, Decimal] = {}
        self._day_net = (0, ZERO)
        """Which day, and the net profit of the arbitrages that ended on it."""
        self._reservations_open = True
        self._fills: dict[str, Fill] = {}
        self._before: Balances = {}
        self._after: Balances = {}
        self._health: dict[str, Health] = {}
        self.differences = MemoryDifferences(self._arbitrages.values, lambda: self._balances, self.moment)
        self._watching_arbitrages: set[Queue[Arbitrage]] = set()

    async def server_now(self) -> int:
        return self._clock.now()

    async def save_opportunity(self, opportunity: Opportunity) -> bool:
        is_new = opportunity.opportunity_id not in self.opportunities
        self.opportunities.setdefault(opportunity.opportunity_id, opportunity)
        return is_new

    async def reject(self, rejection: Rejection) -> None:
        if rejection.rejection_id in self._rejection_ids:
            return
        self._rejection_ids.add(rejection.rejection_id)
        second = str(rejection.rejected_at // MICROSECONDS)
        pair = (rejection.base, rejection.buy_exchange, rejection.sell_exchange)
        key = (*pair, rejection.exchange, rejection.reason, second)
        first = self.rejections.get(key)
        if first is not None:
            rejection = first.with_more(rejection)
        self.rejections[key] = rejection

    async def rejected_profit(self) -> dict[str, Decimal]:
        """Reason → missed profit, each episode once (`market.accounting.episodes`)."""
        return missed_of(self.rejections.values(), self._arbitrages.values())

    async def rejection_counts(self) -> dict[str, int]:
        """Reason → how many, those not stored whole included."""
        counts: Counter[str] = Counter()
        for rejection in self.rejections.values():
            counts[rejection.reason] += rejection.count
        return dict(counts)

    async def reserve(self, reservation: Reservation, by: Actor = UNFENCED) -> ReservationResult:
        before = self._read(reservation.opportunity, by)
        after, result = reservations.reserved(before, reservation)
        self._write(before, after, reserving(reservation))
        return replace(result, read=rows_read_to_reserve(before)) if self.steps.are_recorded else result

    async def expire(self, arbitrage_id: str, by: Actor = UNFENCED) -> bool:
        return arbitrage_id in self._arbitrages and self._changed(
            arbitrage_id, Cause("expire"), reservations.expired, by
        )

    async def start_sending(self, arbitrage_id: str, role: LegRole, by: Actor = UNFENCED) -> Leg | None:
        before, moment = self._known(arbitrage_id), self.moment(by)
        after = legs.sending(before, role, moment, await self.settings())
        if after is before or not self._may_be_in_flight(after, role):
            return None
        self._store(after, Cause("send", role), moment)
        return legs.allowed(after, role)

    async def record_sent(self, arbitrage_id: str, role: LegRole, exchange_order_id: str, by: Actor = UNFENCED) -> None:
        before, moment = self._known(arbitrage_id), self.moment(by)
        after = legs.acknowledged(before, role, exchange_order_id, moment)
        if after is not before:
            self._store(after, Cause("acknowledge", role, exchange_order_id), moment)

    async def finish_leg(
        self,
        arbitrage_id: str,
        role: LegRole,
        report: OrderReport | None,
        advance: Advance,
        by: Actor = UNFENCED,
    ) -> Arbitrage:
        settings = self.settings_in_force()
        cause = finishing(role, report, advance)
        self._changed(arbitrage_id, cause, lambda rows: legs.finished(rows, role, report, settings, advance), by)
        return self._known(arbitrage_id)

    async def resume(self, arbitrage_id: str, advance: Advance, by: Actor = UNFENCED) -> bool:
        settings = self.settings_in_force()
        return self._changed(arbitrage_id, Cause("resume"), lambda rows: legs.resumed(rows, settings, advance), by)

    async def resumable_arbitrages(self) -> list[Arbitrage]:
        return [one for one in self._arbitrages.values() if one.state == "residual" and one.reason in legs.RESUMED]

    async def unconfirmed_legs(self, exchange: str, since: int) -> list[tuple[str, Leg]]:
        return legs.unconfirmed(self._arbitrages.values(), exchange, since)

    async def open_arbitrages(self) -> list[Arbitrage]:
        return [arbitrage for arbitrage in self._arbitrages.values() if arbitrage.state in OPEN_STATES]

    async def session_arbitrages(self) -> list[Arbitrage]:
        """All of them, open and ended, oldest first."""
        return list(self._arbitrages.values())

    async def arbitrage(self, arbitrage_id: str) -> Arbitrage | None:
        return self._arbitrages.get(arbitrage_id)

    async def watch_arbitrages(self) -> AsyncGenerator[Arbitrage]:
        queue: Queue[Arbitrage] = Queue()
        self._watching_arbitrages.add(queue)
        try:
            for arbitrage in await self.open_arbitrages():
                yield arbitrage
            while True:
                yield await queue.get()
        finally:
            self._watching_arbitrages.discard(queue)

    async def stop_reservations(self) -> None:
        self._reservations_open = False

    async def reservations_open(self) -> bool:
        return self._reservations_open

    async def set_balances(
        self,
        exchange: str,
        balances: dict[str, Decimal],
        moment: Literal["before", "now", "after"],
        by: Actor = UNFENCED,
    ) -> None:
        self.moment(by)
        held = {row.currency: row.held for row in self._balances.values() if row.exchange == exchange}
        for name in held.keys() | balances.keys():
            still = held.get(name, ZERO)
            self._balances[exchange, name] = BalanceRow(exchange, name, balances.get(name, ZERO) - still, still)
        if moment == "before":
            self.differences.opened.setdefault(exchange, self._clock.now())
            self._before.setdefault(exchange, dict(balances))
        elif moment == "after":
            self._after[exchange] = dict(balances)

    async def balance_rows(self) -> list[BalanceRow]:
        if len(self._ordered_places) != len(self._balances):
            self._ordered_places = sorted(self._balances)
        return [self._balances[place] for place in self._ordered_places]

    async def session_balances(self) -> tuple[Balances, Balances]:
        return dict(self._before), dict(self._after)

    async def fills(self) -> list[Fill]:
        return list(self._fills.values())

    async def record_failure(self, exchange: str, failure: Failure) -> Health:
        settings = self.settings_in_force()
        before = self._health.get(exchange, Health(exchange))
        self._health[exchange] = with_failure(before, failure, settings, self._clock.now())
        return self._health[exchange]

    async def health(self) -> list[Health]:
        return [self._health[exchange] for exchange in sorted(self._health)]

    async def save_feed_state(self, state: FeedState) -> None:
        self.feed_states[state.exchange, state.symbol] = state

    async def close(self) -> None:
        """Nothing is held open."""

    def _may_be_in_flight(self, arbitrage: Arbitrage, role: LegRole) -> bool:
        """Take the claim if it is free."""
        leg = legs.allowed(arbitrage, role)
        if leg is None or not allows_one_in_flight(leg):
            return True
        own = inflight_owner(arbitrage.arbitrage_id, leg)
        owner = self._in_flight.get(inflight_key(leg)) or own
        self._in_flight[inflight_key(leg)] = owner
        return owner == own

    def _changed(
        self, arbitrage_id: str, cause: Cause, decide: Callable[[ReservationState], ReservationState], by: Actor
    ) -> bool:
        before = self._read(self._known(arbitrage_id).opportunity, by)
        after = decide(before)
        self._write(before, after, cause)
        return after is not before

    def _known(self, arbitrage_id: str) -> Arbitrage:
        if arbitrage_id not in self._arbitrages:
            raise StoreError(f"there is no arbitrage {arbitrage_id}")
        return self._arbitrages[arbitrage_id]

    def _read(self, opportunity: Opportunity, by: Actor) -> ReservationState:
        moment = self.moment(by)
        used = {key: self.liquidity.get(key, ZERO) for key in (liquidity_key(opportunity, side) for side in SIDES)}
        return ReservationState(
            now=moment.now,
            by=by,
            opportunity=opportunity,
            settings=self.settings_versions[-1][0] if self.settings_versions else None,
            reservations_open=self._reservations_open,
            open_arbitrages=self._open_arbitrages,
            notional=self._notional,
            day_net=self._day_net[1] if self._day_net[0] == _day_of(moment.now) else ZERO,
            paused_until={name: health.paused_until for name, health in self._health.items()},
            arbitrage=self._arbitrages.get(opportunity.opportunity_id),
            terms=self._terms.get(opportunity.opportunity_id),
            pair=self._pairs.get(pair_key(opportunity), PairRow()),
            balances=self._balances,
            liquidity=used,
            awaiting_second_leg=self._awaiting_second_leg,
            in_flight=self._in_flight,
            known_fills=self._fills.keys(),
        )

    def _write(self, before: ReservationState, after: ReservationState, cause: Cause) -> None:
        if after is before or after.arbitrage is None:
            return
        self.steps.record(before, opportunity_id := after.arbitrage.arbitrage_id, cause)
        self._terms.pop(opportunity_id, None)
        if after.terms is not None:
            self._terms[opportunity_id] = after.terms
        self._open_arbitrages = after.open_arbitrages
        self._notional = dict(after.notional)
        self._day_net = (_day_of(after.now), after.day_net)
        self._pairs[pair_key(after.opportunity)] = after.pair
        self._balances = dict(after.balances)
        self.liquidity.update(after.liquidity)
        while len(self.liquidity) > LIQUIDITY_ROWS:
            del self.liquidity[next(iter(self.liquidity))]
        self._awaiting_second_leg = dict(after.awaiting_second_leg)
        self._in_flight = dict(after.in_flight)
        self._fills.update((fill_key(fill), fill) for fill in after.booked)
        self._store(after.arbitrage)

    def _store(self, arbitrage: Arbitrage, cause: Cause | None = None, moment: Moment | None = None) -> None:
        if cause is not None and moment is not None and self.steps.are_recorded:
            read = self._read(arbitrage.opportunity, moment.by)
            self.steps.record(replace(read, now=moment.now), arbitrage.arbitrage_id, cause)
        self._arbitrages[arbitrage.arbitrage_id] = arbitrage
        for queue in self._watching_arbitrages:
            queue.put_nowait(arbitrage)


def _day_of(now: int) -> int:
    return now // (86_400 * MICROSECONDS)
