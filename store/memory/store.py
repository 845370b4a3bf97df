"""The store in memory, under the contract of the MongoDB one: backtests trade on it. Nothing outlives the process."""

from asyncio import Queue
from collections import Counter
from collections.abc import AsyncGenerator, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import chain
from typing import TypeVar

from market.instruments.cycles import Cycle
from market.instruments.orders import Fill
from market.money import ZERO, total
from market.prices.episodes import Episode, MarketPair, merged, missed_by_reason
from market.prices.feed_state import FeedState
from market.prices.opportunities import Opportunity
from market.time_units import MICROSECONDS
from market.trade.arbitrages import OPEN_STATES, Arbitrage, Leg, Rejection, TradeOfLegs
from market.trade.cycle_reservations import CycleRows
from market.trade.cycle_trades import CycleTrade
from market.trade.decision_record import StepRequest, step_by, step_text
from market.trade.grants import Grant, grants_in, new_grants
from market.trade.leases import Actor
from market.trade.leg_lifecycle import RESUMED, unconfirmed
from market.trade.lifecycle import Moment, Traded
from market.trade.moving_average import changed_order
from market.trade.order_results import OrderResult
from market.trade.reservation_state import (
    SIDES,
    PairRow,
    ReservationState,
    fill_key,
    liquidity_key,
    pair_key,
)
from runtime.clock import Clock, SystemClock
from store.cycle_steps import CycleSteps, CycleWork
from store.memory.apps import MemoryApps
from store.memory.backtests import MemoryBacktests
from store.memory.differences import MemoryDifferences
from store.memory.failed_rows import MemoryFailedRows
from store.memory.parts import (
    MemoryAverages,
    MemoryBalances,
    MemoryHealth,
    MemoryLeases,
    MemorySettings,
)
from store.memory.transfers import MemoryTransfers
from store.ports.trading import Overview
from store.preconditions import in_force
from store.records.cycle_rejection import CycleRejection
from store.records.cycle_step import CycleStepRequest, cycle_step_text
from store.unit_of_work import Result, TradeSteps, Work

Key = TypeVar("Key")
Row = TypeVar("Row")

LIQUIDITY_ROWS = 10_000
"""How many quotes' used liquidity is remembered; a quote so many quotes old has expired."""


class MemoryTradeStore(TradeSteps, CycleSteps):
    """Every method runs without waiting, so each is one transaction, and the store its unit of work. The clock is the
    server's time. `session_id`: whose transfers are its own; None: all."""

    are_steps_recorded = False
    """Not for a backtest, which can be run again."""

    def __init__(self, clock: Clock | None = None, session_id: str | None = None) -> None:
        self._clock = clock or SystemClock()
        self.settings, self.leases = MemorySettings(self._clock), MemoryLeases(self._clock)
        self.balances = MemoryBalances(self.moment)
        self.health = MemoryHealth(self._clock, self.settings)
        self.opportunities: dict[str, Opportunity] = {}
        self.rejections: dict[tuple[str, ...], Rejection] = {}
        self.episodes: dict[tuple[MarketPair, int], Episode] = {}
        """(pair, start) → it."""
        self.feed_states: dict[tuple[str, str], FeedState] = {}
        self.liquidity: dict[str, Decimal] = {}
        """`liquidity_key` → base amount taken, of the newest quotes that any arbitrage took from."""
        self.averages = MemoryAverages(self.moment)
        self.backtests = MemoryBacktests(self._clock)
        self.apps, self.failed_rows = MemoryApps(self._clock), MemoryFailedRows(self._clock)
        self.steps: dict[str, list[str]] = {}
        """Arbitrage → its steps, as the store on MongoDB keeps them."""
        self._rejection_ids: set[str] = set()
        self.cycle_rejections: dict[str, CycleRejection] = {}
        self._arbitrages: dict[str, Arbitrage] = {}
        self._unfinished: dict[str, Arbitrage] = {}
        """Open and residual ones."""
        self._began: dict[str, int] = {}
        self._earlier: frozenset[str] = frozenset()
        """Arbitrages that began before this session."""
        self._pairs: dict[str, PairRow] = {}
        self._in_flight: dict[str, str | None] = {}
        self._open_arbitrages = 0
        self._notional: dict[str, Decimal] = {}
        self._day_net = (0, ZERO)
        """Which day, and the net profit of the arbitrages that ended on it."""
        self._reservations_open = True
        self._fills: dict[str, Fill] = {}
        self.transfers = MemoryTransfers(self.balances, self.moment, self._net, session_id)
        self.differences = MemoryDifferences(self._trades, self.balances, self.health, self.moment)
        self.cycle_trades: dict[str, CycleTrade] = {}
        self._results: list[OrderResult] = []
        """Not booked yet, each once."""
        self._watching_grants: set[Queue[Grant]] = set()
        self._watching_results: set[Queue[OrderResult]] = set()

    def begin_session(self) -> None:
        """All that is stored is of earlier ones from now on."""
        self._earlier = frozenset((*self._arbitrages, *self.cycle_trades))

    def moment(self, by: Actor) -> Moment:
        """Raise FencedOutError if another process acts for the actor's exchange."""
        self.leases.check(by)
        return Moment(self._clock.now(), by)

    def _net(self, currency: str) -> Decimal:
        profits = (one.profit for one in self._trades())
        return total(profit.net for profit in profits if profit is not None and profit.currency == currency)

    async def server_now(self) -> int:
        return self._clock.now()

    async def overview(self) -> Overview:
        return Overview(
            now=self._clock.now(),
            reservations_open=self._reservations_open,
            open_arbitrages=tuple(await self.open_arbitrages()),
            open_cycles=tuple(await self.open_cycles()),
            resumable_cycles=tuple(await self.resumable_cycles()),
            resumable=tuple(await self.resumable_arbitrages()),
            results=tuple(self._results),
            balances=tuple(await self.balances.rows()),
            opening=(await self.balances.of_session())[0],
            health=tuple(await self.health.all()),
            leases=tuple(await self.leases.all()),
            transfers=self.transfers.now(),
        )

    async def save_opportunities(self, opportunities: Sequence[Opportunity]) -> None:
        for opportunity in opportunities:
            self.opportunities.setdefault(opportunity.opportunity_id, opportunity)

    async def reject(self, rejections: Sequence[Rejection]) -> None:
        for rejection in rejections:
            if rejection.rejection_id not in self._rejection_ids:
                self._rejection_ids.add(rejection.rejection_id)
                self._count(rejection)

    async def reject_cycles(self, rejections: Sequence[CycleRejection]) -> None:
        for rejection in rejections:
            known = self.cycle_rejections.setdefault(rejection.rejection_id, rejection)
            count = max(known.count, rejection.count)
            self.cycle_rejections[rejection.rejection_id] = replace(known, count=count)

    def _count(self, rejection: Rejection) -> None:
        second = str(rejection.rejected_at // MICROSECONDS)
        pair = (rejection.base, rejection.buy_exchange, rejection.sell_exchange)
        key = (*pair, rejection.exchange, rejection.reason, second)
        first = self.rejections.get(key)
        self.rejections[key] = rejection if first is None else first.with_more(rejection)

    async def save_episodes(self, episodes: Sequence[Episode]) -> None:
        for episode in episodes:
            key = (episode.pair, episode.start)
            known = self.episodes.get(key)
            self.episodes[key] = episode if known is None else merged(known, episode)

    async def running_episodes(self, now: int) -> list[Episode]:
        return [one for one in self.episodes.values() if one.until >= now]

    async def rejected_profit(self) -> dict[str, Decimal]:
        """Reason → missed profit, each episode once (`market.prices.episodes`)."""
        return {reason: one.profit for reason, one in missed_by_reason(self.episodes.values()).items()}

    async def rejection_counts(self) -> dict[str, int]:
        """Reason → how many, those not stored whole included."""
        counts: Counter[str] = Counter()
        for rejection in self.rejections.values():
            counts[rejection.reason] += rejection.count
        return dict(counts)

    async def in_unit_of_work(self, work: Work[Result]) -> Result:
        return work(self)

    async def resumable_arbitrages(self) -> list[Arbitrage]:
        return self._oldest_first(
            one for one in self._unfinished.values() if one.state == "residual" and one.reason in RESUMED
        )

    async def unconfirmed_legs(self, exchange: str, since: int) -> list[tuple[str, Leg]]:
        return unconfirmed(self._trades(), exchange, since)

    async def open_arbitrages(self) -> list[Arbitrage]:
        return self._oldest_first(one for one in self._unfinished.values() if one.state in OPEN_STATES)

    async def session_arbitrages(self) -> list[Arbitrage]:
        """All of them, open and ended, oldest first."""
        return list(self._arbitrages.values())

    async def arbitrage(self, arbitrage_id: str) -> Arbitrage | None:
        return self._arbitrages.get(arbitrage_id)

    async def traded(self, opportunity_ids: Collection[str]) -> frozenset[str]:
        return frozenset((self._arbitrages.keys() | self.cycle_trades.keys()) & set(opportunity_ids))

    async def watch_grants(self, exchange: str) -> AsyncGenerator[Grant]:
        known = grants_in(await self.open_trades())
        async for grant in _watched(self._watching_grants, known):
            if grant.leg.exchange == exchange:
                yield grant

    async def report_order(self, result: OrderResult, by: Actor) -> None:
        self.moment(by)
        if result not in self._results:
            self._results.append(result)
            for queue in self._watching_results:
                queue.put_nowait(result)

    async def order_results(self, arbitrage_id: str | None = None) -> list[OrderResult]:
        return [one for one in self._results if arbitrage_id in (None, one.arbitrage_id)]

    async def watch_order_results(self) -> AsyncGenerator[OrderResult]:
        async for result in _watched(self._watching_results, self._results):
            yield result

    async def stop_reservations(self) -> None:
        self._reservations_open = False

    async def reservations_open(self) -> bool:
        return self._reservations_open

    async def fills(self) -> list[Fill]:
        return list(self._fills.values())

    async def save_feed_states(self, states: Sequence[FeedState]) -> None:
        self.feed_states |= {(state.exchange, state.symbol): state for state in states}

    async def close(self) -> None:
        """Nothing is held open."""

    def begin(self, arbitrage_id: str, by: Actor) -> ReservationState | None:
        now, known = self.moment(by).now, self._arbitrages.get(arbitrage_id)
        if known is None:
            return None
        return ReservationState(now, by, known.opportunity, self.settings.newest, arbitrage=known)

    def results(self, arbitrage_id: str) -> list[OrderResult]:
        return [one for one in self._results if one.arbitrage_id == arbitrage_id]

    def rows(self, opportunity: Opportunity, by: Actor, fill_keys: Iterable[str] = ()) -> ReservationState:
        moment = self.moment(by)
        used = {key: self.liquidity.get(key, ZERO) for key in (liquidity_key(opportunity, side) for side in SIDES)}
        return ReservationState(
            now=moment.now,
            by=by,
            opportunity=opportunity,
            settings=self.settings.newest,
            reservations_open=self._reservations_open,
            open_arbitrages=self._open_arbitrages,
            notional=self._notional,
            day_net=self._day_net[1] if self._day_net[0] == _day_of(moment.now) else ZERO,
            paused_until={name: health.paused_until for name, health in self.health.kept.items()},
            unexplained=tuple(name for name, health in self.health.kept.items() if health.unexplained_since),
            arbitrage=self._arbitrages.get(opportunity.opportunity_id),
            is_of_earlier=opportunity.opportunity_id in self._earlier,
            leases=self.leases.kept if by.exchange is not None else None,
            pair=self._pairs.get(pair_key(opportunity), PairRow()),
            balances=self.balances.kept,
            liquidity=used,
            in_flight=self._in_flight,
            known_fills=self._fills.keys(),
        )

    def write(self, before: ReservationState, after: ReservationState, request: StepRequest) -> None:
        if request.results:
            self._results = [one for one in self._results if one not in request.results]
        arbitrage = after.arbitrage
        if after is before or arbitrage is None:
            return
        if self.are_steps_recorded:
            self.steps.setdefault(arbitrage.arbitrage_id, []).append(step_text(step_by(request, before)))
        if after.pair is not before.pair:
            self._pairs[pair_key(after.opportunity)] = after.pair
        self._change_sums(before, after)
        self._keep(arbitrage, after.now)
        self.averages.keep_order(arbitrage.arbitrage_id, changed_order(before.arbitrage, arbitrage))
        self._notify(new_grants(before.arbitrage, arbitrage))

    async def in_cycle_unit(self, work: CycleWork[Result]) -> Result:
        return work(self)

    def begin_cycle(self, trade_id: str, by: Actor) -> CycleTrade | None:
        self.moment(by)
        return self.cycle_trades.get(trade_id)

    def cycle_rows(
        self, trade_id: str, cycle: Cycle, by: Actor, used: Iterable[str] = (), fill_keys: Iterable[str] = ()
    ) -> CycleRows:
        now = self.moment(by).now
        return CycleRows(
            now=now,
            settings=in_force(self.settings.newest),
            balances=self.balances.kept,
            trade=self.cycle_trades.get(trade_id),
            on_cycle=self._pairs.get(cycle.cycle_id, PairRow()),
            reservations_open=self._reservations_open,
            open_arbitrages=self._open_arbitrages,
            notional=self._notional,
            day_net=self._day_net[1] if self._day_net[0] == _day_of(now) else ZERO,
            paused_until={name: health.paused_until for name, health in self.health.kept.items()},
            unexplained=tuple(name for name, health in self.health.kept.items() if health.unexplained_since),
            liquidity={key: self.liquidity.get(key, ZERO) for key in used},
            by=by,
            is_of_earlier=trade_id in self._earlier,
            leases=self.leases.kept if by.exchange is not None else None,
            in_flight=self._in_flight,
            known_fills=self._fills.keys(),
        )

    def write_cycle(self, before: CycleRows, after: CycleRows, request: CycleStepRequest) -> None:
        if request.results:
            self._results = [one for one in self._results if one not in request.results]
        trade = after.trade
        if after is before or trade is None:
            return
        if self.are_steps_recorded:
            self.steps.setdefault(trade.trade_id, []).append(cycle_step_text(request, before, trade.cycle))
        self._pairs[trade.cycle.cycle_id] = after.on_cycle
        self._change_sums(before, after)
        self.cycle_trades[trade.trade_id] = trade
        self._began.setdefault(trade.trade_id, after.now)
        self._notify(new_grants(before.trade, trade))

    async def cycle_trade(self, trade_id: str) -> CycleTrade | None:
        return self.cycle_trades.get(trade_id)

    async def open_cycles(self) -> list[CycleTrade]:
        return self._oldest_first(one for one in self.cycle_trades.values() if one.is_open)

    async def open_trades(self) -> list[TradeOfLegs]:
        return [*await self.open_arbitrages(), *await self.open_cycles()]

    async def resumable_cycles(self) -> list[CycleTrade]:
        unfinished = (one for one in self.cycle_trades.values() if one.state == "residual")
        return self._oldest_first(one for one in unfinished if one.reason in RESUMED)

    def _change_sums(self, before: ReservationState | CycleRows, after: ReservationState | CycleRows) -> None:
        """Store what trades of all kinds share."""
        if after.day_net != before.day_net:
            self._day_net = (_day_of(after.now), after.day_net)
        self._open_arbitrages += after.open_arbitrages - before.open_arbitrages
        _update(self._notional, before.notional, after.notional)
        _update(self.balances.kept, before.balances, after.balances)
        self._use(before.liquidity, after.liquidity)
        _update(self._in_flight, before.in_flight, after.in_flight)
        for fill in after.unbooked:
            del self._fills[fill_key(fill)]
        self._fills.update((fill_key(fill), fill) for fill in after.booked)

    def _use(self, before: Mapping[str, Decimal], after: Mapping[str, Decimal]) -> None:
        _update(self.liquidity, before, after)
        while len(self.liquidity) > LIQUIDITY_ROWS:
            del self.liquidity[next(iter(self.liquidity))]

    def _keep(self, arbitrage: Arbitrage, now: int) -> None:
        identity = arbitrage.arbitrage_id
        self._began.setdefault(identity, now)
        self._arbitrages[identity] = arbitrage
        if arbitrage.state in OPEN_STATES or arbitrage.state == "residual":
            self._unfinished[identity] = arbitrage
        else:
            self._unfinished.pop(identity, None)

    def _trades(self) -> Iterator[Arbitrage | CycleTrade]:
        return chain(self._arbitrages.values(), self.cycle_trades.values())

    def _oldest_first(self, arbitrages: Iterable[Traded]) -> list[Traded]:
        """Return them in MongoDB's order: those of one moment by their ids."""
        return sorted(arbitrages, key=lambda one: (self._began[one.arbitrage_id], one.arbitrage_id))

    def _notify(self, grants: Iterable[Grant]) -> None:
        for grant in grants:
            for queue in self._watching_grants:
                queue.put_nowait(grant)


async def _watched(watching: set[Queue[Row]], known: Iterable[Row]) -> AsyncGenerator[Row]:
    """First what is known, then whatever is put into a queue among `watching`."""
    queue: Queue[Row] = Queue()
    watching.add(queue)
    try:
        for row in list(known):
            yield row
        while True:
            yield await queue.get()
    finally:
        watching.discard(queue)


def _update(kept: dict[Key, Row], before: Mapping[Key, Row], after: Mapping[Key, Row]) -> None:
    if after is not before:
        kept.update(after)


def _day_of(now: int) -> int:
    return now // (86_400 * MICROSECONDS)
