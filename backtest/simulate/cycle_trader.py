"""Trades cycles in a backtest: decides on each sighting, sends the orders to the simulated accounts, and books them by
the functions of `market.trade`, on the store, balances, limits and fees that the pairs of exchanges have, too."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial

from backtest.detect.cycle_search import CycleSighting, cycle_sightings
from backtest.parameters import Parameters
from backtest.result.asset_marks import opening_marks
from backtest.result.cycles_found import CyclesFound
from backtest.simulate.cycle_episodes import CycleEpisodes
from backtest.simulate.event_queue import EventQueue
from backtest.simulate.simulated_account import SimulatedAccount
from backtest.simulate.simulated_bots import SimulatedBots
from backtest.simulate.simulated_rejections import EXPIRED
from bots.execute.leg_executor import NOTHING_FILLED
from bots.execute.order_lookup import order_of
from exchanges.errors import OrderRejectedError
from market.decide.kill_switch import HALTED, permits_orders
from market.decide.settings import Settings
from market.instruments.cycles import Cycle, CycleTerms, WatchedCycles, watched_cycles
from market.instruments.orders import OrderReport
from market.money import ZERO
from market.trade.cycle_lifecycle import cycle_booked
from market.trade.cycle_profit import value_in_settlement
from market.trade.cycle_reservations import CycleRequest, cycle_reserved, liquidity_keys
from market.trade.cycle_trades import CycleOrder, CycleTrade
from market.trade.leases import UNFENCED
from market.trade.order_results import result_of
from market.trade.profit import decimal_part
from store.memory.store import MemoryTradeStore
from store.records.cycle_step import CycleStepRequest
from tick_sets.sets.tick_set import TickSet

Search = Callable[[tuple[Cycle, ...], Settings], Iterable[CycleSighting]]
"""What is found of these cycles under these settings, in the order of time."""
BY_BOOKS = frozenset(("too_small", "limit_reached", "insufficient_balance", "liquidity_used"))
"""Reasons that take exact sizing to find, and last as long as nothing else is traded and nothing better is shown."""


@dataclass(frozen=True, slots=True)
class CycleFeed:
    """What is traded of cycles: those watched, and what is found of them, read as far as it is asked for, in the order
    of time."""

    terms: CycleTerms
    watched: WatchedCycles
    sightings: Iterable[CycleSighting]
    currency: str
    """The settlement currency."""
    worth: Mapping[str, Decimal]
    """Currency or asset → what one counts in the settlement currency."""


@dataclass(frozen=True, slots=True)
class _Refused:
    """Holds for sightings that pay no more, until that moment or the next step of any trade."""

    reason: str
    net_bps: float
    until: int
    steps: int


class CycleTrader:
    """The decider and the executors of cycles in one backtest."""

    def __init__(
        self,
        feed: CycleFeed,
        agenda: EventQueue,
        store: MemoryTradeStore,
        accounts: Mapping[str, SimulatedAccount],
        bots: SimulatedBots,
        decision: int,
        before: Callable[[int], None],
    ) -> None:
        """Take `decision`, microseconds from a row to what is decided on it. `before` does what is due until the time
        of the next sighting."""
        self._before = before
        self._feed = feed
        self._agenda = agenda
        self._store = store
        self._accounts = accounts
        self._bots = bots
        self._decision = decision
        self._lifetime = bots.cache.settings.opportunity_lifetime_ms * 1_000
        self._coming = iter(feed.sightings)
        self._next = next(self._coming, None)
        self._episodes = CycleEpisodes(self._lifetime)
        self._refused: dict[int, _Refused] = {}
        self._steps = 0
        """Steps of cycles so far: each changes what the next one may use."""
        self._open: dict[str, CycleTrade] = {}
        self._sent: set[str] = set()
        """Client order ids of what was sent, or is about to be."""

    def decide_until(self, time: int | None) -> None:
        """Decide on all that was seen before `time`; None: on all there is."""
        while self._next is not None and (time is None or self._next.time < time):
            self._before(self._next.time)
            one, self._next = self._next, next(self._coming, None)
            self._agenda.advance(one.time + self._decision)
            self._episodes.see(one, self._decided(one))

    def found(self) -> CyclesFound:
        """Return what became of all, once everything is over."""
        watched, trades = self._feed.watched, tuple(self._store.cycle_trades.values())
        return CyclesFound(self._feed.terms, len(watched.cycles), watched.reasons, self._episodes.all(), trades)

    def _decided(self, one: CycleSighting) -> str | None:
        """Return why it is not traded; None if a trade was begun."""
        now = self._agenda.now()
        self._bots.see_day()
        if now >= one.time + self._lifetime:
            return EXPIRED
        known = self._refused.get(one.number)
        if known is not None and known.steps == self._steps and now < known.until and one.net_bps <= known.net_bps:
            return known.reason
        request = self._request(one)
        before = self._store.cycle_rows(request.trade_id, request.cycle, UNFENCED, liquidity_keys(request))
        after, reason = cycle_reserved(before, request)
        if reason in BY_BOOKS:
            self._refused[one.number] = _Refused(reason, one.net_bps, now + self._lifetime, self._steps)
        if reason is None:
            self._store.write_cycle(before, after, CycleStepRequest("reserve", request=request))
            self._follow(after.trade)
        return reason

    def _request(self, one: CycleSighting) -> CycleRequest:
        cycle, cache = one.cycle, self._bots.cache
        return CycleRequest(
            trade_id=one.sighting_id,
            cycle=cycle,
            net_bps=one.net_bps,
            event_time=one.time,
            levels=tuple(one.levels(number) for number in range(len(cycle.legs))),
            quotes=one.quotes,
            currency=self._feed.currency,
            worth=self._feed.worth,
            drift=cache.drift,
            legs_left={name: self._legs_left(name) for name in cycle.exchanges},
        )

    def _legs_left(self, exchange: str) -> int | None:
        cache = self._bots.cache
        orders = (order for trade in self._open.values() for order in trade.orders)
        under_way = sum(order.market.exchange == exchange and not order.is_final for order in orders)
        return cache.partners.legs_left(exchange, cache.open.values(), under_way)

    def _follow(self, trade: CycleTrade | None) -> None:
        """Send what was granted and was not sent yet: the first orders follow from the decision, each later one takes
        another decision."""
        if trade is None:
            return
        self._steps += 1
        if trade.is_open:
            self._open[trade.trade_id] = trade
        else:
            self._open.pop(trade.trade_id, None)
        self._bots.see_balances(
            (order.market.exchange, currency)
            for order in trade.orders
            for currency in (order.market.base, order.market.quote_currency)
        )
        now = self._agenda.now()
        for order in trade.orders:
            if order.state == "granted" and order.client_order_id not in self._sent:
                self._sent.add(order.client_order_id)
                is_first = order.times["granted"] == trade.times["reserved"]
                self._agenda.schedule(now + (0 if is_first else self._decision), partial(self._send, trade, order))

    def _send(self, trade: CycleTrade, order: CycleOrder) -> None:
        reports: list[OrderReport] = []
        self._agenda.start(self._posted(order, reports.append), lambda: self._book(trade, order, reports[0]))

    async def _posted(self, order: CycleOrder, answer: Callable[[OrderReport], None]) -> None:
        """Post an order, once, and give what became of it to `answer`."""
        market = order.market
        if not permits_orders(self._bots.cache.settings.trading_state):
            answer(replace(NOTHING_FILLED, is_posted=False, reason=HALTED))
            return
        try:
            answer(await self._accounts[market.exchange].place(order_of(order.leg)))
        except OrderRejectedError:
            self._bots.record_failure(market.exchange, "order_rejected", order.client_order_id)
            answer(NOTHING_FILLED)

    def _book(self, trade: CycleTrade, order: CycleOrder, report: OrderReport) -> None:
        before = self._store.cycle_rows(trade.trade_id, trade.cycle, UNFENCED)
        results = (result_of(trade.trade_id, order.leg, report),)
        after = cycle_booked(before, results)
        self._store.write_cycle(before, after, CycleStepRequest("book", results))
        cost = sum((fill.cost for fill in report.fills), ZERO)
        value = value_in_settlement(trade, order.market.quote_currency, cost)
        self._bots.see_order(order.market.exchange, decimal_part(value))
        self._follow(after.trade)


def cycle_feed(tick_set: TickSet, parameters: Parameters, found: Search | None = None) -> CycleFeed | None:
    """Return what is found of cycles in a set, read as it is asked for; None if they are not asked for. `found` answers
    as `cycle_sightings`, for several runs at once. Raises ImportRejectedError if the set cannot be read."""
    terms, manifest = parameters.cycles, tick_set.manifest
    if terms is None:
        return None
    held = {
        exchange: {currency for currency, amount in row.items() if amount > ZERO}
        for exchange, row in parameters.balances.items()
    }
    settings, settlement = parameters.settings, manifest.settlement_currency
    watched = watched_cycles(manifest.markets, terms, settlement, settings.taker_fees, held)
    search = found or partial(cycle_sightings, tick_set)
    sightings = search(watched.cycles, settings) if watched.cycles else ()
    return CycleFeed(terms, watched, sightings, settlement, opening_marks(tick_set))
