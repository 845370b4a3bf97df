"""Trades the opportunities of a recording, in its own time, as the bots would have done: the very functions that
reserve, send, book and unwind live, on the store in memory, against the quotes that were known when an order arrived.

Nothing looks ahead: an event sees only what came before it, so no later row changes an earlier trade.
"""

import logging
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from functools import partial
from itertools import groupby
from operator import attrgetter

import numpy as np

from backtest.detect.sighting_windows import SightingWindow
from backtest.detect.sightings import Sighting, sighting_of
from backtest.parameters import Balances, Latency, Parameters
from backtest.result.trading_outcome import SimulatedEquityPoint, TradingOutcome
from backtest.simulate.cycle_trader import CycleFeed, CycleTrader
from backtest.simulate.event_queue import EventQueue, run_to_end
from backtest.simulate.quote_history import QuoteHistory
from backtest.simulate.recorded_windows import needs_windows
from backtest.simulate.refused_runs import RefusedRuns
from backtest.simulate.seen_spreads import SpreadStatistics, lifetime_of
from backtest.simulate.settings_changes import SettingsChange
from backtest.simulate.simulated_account import Conditions, SimulatedAccount
from backtest.simulate.simulated_books import balances_of, is_balanced
from backtest.simulate.simulated_bots import SimulatedBots
from backtest.simulate.simulated_transfers import SESSION, SimulatedTransfers
from backtest.simulate.trading_assumptions import all_assumptions
from market.accounting.profit_groups import profit_of
from market.accounting.transfer_lifecycle import booked_in
from market.accounting.transfer_terms import terms_of
from market.decide.shared_sizes import Size
from market.decide.sizing import size
from market.instruments.markets import Market
from market.money import ZERO
from market.prices.opportunities import Opportunity
from market.prices.spread_statistics import SpreadWindow
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Arbitrage
from market.trade.cycle_trades import CycleTrade
from market.trade.leases import UNFENCED
from market.trade.unwinding import markets_by_symbol
from store.memory.store import MemoryTradeStore
from streams.query_progress import WINDOW_BATCH_SECONDS

WINDOW_DELAY = (1 + WINDOW_BATCH_SECONDS) * MICROSECONDS
"""Longest time from the end of a spread window until live bots have it: a row a second past it, then a batch."""
UNHEARD = logging.NullHandler()
"""The bots' warnings are about simulated events that the outcome has already: no terminal should show them."""


UNORDERED = "opportunities must come in the order of their time"


class BacktestError(ValueError):
    """The input cannot be traded; the same will fail again."""


def trading_order(opportunity: Opportunity) -> tuple[int, str, int, str, str]:
    """Return the key by which `trade` wants opportunities sorted."""
    legs = opportunity.buy.exchange, opportunity.sell.exchange
    return opportunity.event_time, opportunity.base, opportunity.offset, *legs


def trade(
    opportunities: Iterable[Opportunity],
    history: QuoteHistory,
    markets: tuple[Market, ...],
    parameters: Parameters,
    windows: Iterable[SpreadWindow] | None = None,
) -> TradingOutcome:
    """Trade `opportunities`, sorted by `trading_order`; of several with one id the first counts. The rest as
    `trade_sightings`."""
    return trade_sightings(map(sighting_of, opportunities), history, markets, parameters, windows)


def trade_sightings(
    sightings: Iterable[Sighting],
    history: QuoteHistory,
    markets: tuple[Market, ...],
    parameters: Parameters,
    windows: Iterable[SpreadWindow] | None = None,
    sized: Size = size,
    cycles: CycleFeed | None = None,
) -> TradingOutcome:
    """Trade what was found, in the same order. `sized` answers as `size`, for several runs at once.

    `windows` by their ends, for the rules that need earlier spreads, read only as far as one of them does; None: those
    rules have none. `cycles`: traded beside them; at one moment pairs come first. Raises BacktestError.
    """
    run = _Run(history, markets, parameters, windows, sized, cycles)
    for together in _bursts(_each_once(sightings), parameters):
        run.decide(together)
    return run.finished()


def trade_windows(
    found: Iterable[SightingWindow],
    history: QuoteHistory,
    markets: tuple[Market, ...],
    parameters: Parameters,
    windows: Iterable[SpreadWindow] | None = None,
    report: Callable[[int], None] = lambda _: None,
    sized: Size = size,
) -> TradingOutcome:
    """Trade the same as `trade_sightings`, from columns; no id may come again, and neither cycles nor rate limits nor
    fees by volume nor transfers are traded by. What is refused for certain is passed over by whole runs. `report` gets
    how many sightings are done."""
    run = _Run(history, markets, parameters, windows, sized, None)
    refused = RefusedRuns(run.bots, run.spreads, run.simulation.decision)
    last = done = 0
    for window in found:
        place, times = 0, window.figures.times
        if len(window) and (int(times[0]) < last or (np.diff(times) < 0).any()):
            raise BacktestError(UNORDERED)
        last = int(times[-1]) if len(window) else last
        while place < len(window):
            count = refused.passed(window, place, run.simulation.agenda.next_event)
            if count == 0:
                run.decide([window.sighting(place)])
            place += max(count, 1)
            report(done + place)
        done += len(window)
    return run.finished()


def trades_by_windows(parameters: Parameters) -> bool:
    """Return whether to trade by `trade_windows`: not where more than sightings and events moves the bots, nor where
    trades that bring inventory back make narrow spreads uncertain."""
    rules = parameters.rebalancing
    is_rebalanced = parameters.settings.rebalancing_bps > 0 or (rules is not None and rules.is_on)
    is_plain = not parameters.rate_limits and not parameters.fee_tiers
    return is_plain and not is_rebalanced and parameters.cycles is None


class _Run:
    """One backtest while it trades."""

    def __init__(
        self,
        history: QuoteHistory,
        markets: tuple[Market, ...],
        parameters: Parameters,
        windows: Iterable[SpreadWindow] | None,
        sized: Size,
        cycles: CycleFeed | None,
    ) -> None:
        # here, because a sweep trades in Spark's workers; a handler that is there already is not added again
        logging.getLogger("bots").addHandler(UNHEARD)
        self.simulation = _Simulation(history, markets, parameters, sized, cycles)
        self.bots = self.simulation.bots
        self.spreads = SpreadStatistics()
        self._coming = _Coming(windows)
        self._has_history = windows is not None

    def decide(self, together: list[Sighting]) -> None:
        """Let the bots decide on what was found at one moment."""
        simulation, bots = self.simulation, self.bots
        simulation.rebalance(together[0].event_time, together[0].currency)
        simulation.trade_cycles(together[0].event_time)
        decided = together[0].event_time + simulation.decision
        if len(together) > 1:
            simulation.agenda.advance(decided)
        for one in bots.best_first(together):
            if needs_windows(bots.cache.settings, one.net_bps):
                for window in self._coming.known_at(decided):
                    bots.cache.update_window(window)
            simulation.agenda.advance(decided)
            self.spreads.see(one, bots.decide(one), bots.tradable)

    def finished(self) -> TradingOutcome:
        """Return the outcome, once all is over."""
        self.simulation.trade_cycles(None)
        self.simulation.agenda.finish()
        return self.simulation.outcome(self.spreads, has_history=self._has_history)


class _Coming:
    """Windows in the order of their ends; the first is not even asked for before it is needed."""

    def __init__(self, windows: Iterable[SpreadWindow] | None) -> None:
        self._windows = iter(windows or ())
        self._following: SpreadWindow | None = None

    def known_at(self, time: int) -> Iterator[SpreadWindow]:
        """Return those that live bots have by then, each once."""
        following = self._following or next(self._windows, None)
        while following is not None and following.end + WINDOW_DELAY <= time:
            yield following
            following = next(self._windows, None)
        self._following = following


class _Simulation:
    """The simulated time, store, accounts and bots of one backtest."""

    def __init__(
        self,
        history: QuoteHistory,
        markets: tuple[Market, ...],
        parameters: Parameters,
        sized: Size,
        cycles: CycleFeed | None,
    ) -> None:
        self.agenda = EventQueue()
        self.decision = round(parameters.decision_ms * 1_000)
        self._parameters = parameters
        traded = tuple(market for market in markets if not market.is_fx)
        # a cycle trades an FX market as any other
        self._markets = markets_by_symbol(traded if cycles is None else markets)
        self._store = MemoryTradeStore(self.agenda)
        run_to_end(self._store.settings.create(parameters.settings))
        self._before = _opening(tuple(self._markets.values()), parameters)
        conditions = Conditions(
            markets=self._markets,
            history=history,
            clock=self.agenda,
            settings=self._store.settings.in_force,
            seed=parameters.seed,
            failed_share=parameters.failed_share,
        )
        self._accounts = {
            exchange: SimulatedAccount(exchange, balances, parameters.latency.get(exchange, Latency()), conditions)
            for exchange, balances in self._before.items()
        }
        for exchange, account in self._accounts.items():
            run_to_end(self._store.balances.replace(exchange, run_to_end(account.balances()), "before", UNFENCED))
        self.bots = SimulatedBots(self.agenda, self._store, self._accounts, traded, parameters, sized)
        self._cycles = None if cycles is None else self._cycle_trader(cycles)
        self._currency = "" if cycles is None else cycles.currency
        self._transfers = self._simulated_transfers(history, markets)
        for change in history.settings_changes if parameters.follow_logged_settings else ():
            self.agenda.schedule(change.time, partial(self._change, change))

    def trade_cycles(self, until: int | None) -> None:
        """Decide on the cycles that were seen before that time, microseconds; None: on all that are left."""
        if self._cycles is not None:
            self._cycles.decide_until(until)

    def rebalance(self, until: int, currency: str) -> None:
        """Begin the transfers of the plans that are due by then; `currency`: the settlement currency."""
        if self._transfers is not None:
            self._transfers.plan_until(until, currency)

    def _simulated_transfers(self, history: QuoteHistory, markets: tuple[Market, ...]) -> SimulatedTransfers | None:
        rules = self._parameters.rebalancing
        if rules is None or not rules.is_on:
            return None
        return SimulatedTransfers(
            rules=rules,
            terms=terms_of(self._parameters.transfers),
            markets=markets,
            opening=self._before,
            agenda=self.agenda,
            store=self._store,
            accounts=self._accounts,
            bots=self.bots,
            history=history,
            decide_until=self.trade_cycles,
        )

    def _cycle_trader(self, feed: CycleFeed) -> CycleTrader:
        return CycleTrader(feed, self.agenda, self._store, self._accounts, self.bots, self.decision, self._before_cycle)

    def _before_cycle(self, time: int) -> None:
        self.rebalance(time, self._currency)

    def outcome(self, spreads: SpreadStatistics, *, has_history: bool) -> TradingOutcome:
        """Return the outcome, once all is over."""
        arbitrages = tuple(run_to_end(self._store.session_arbitrages()))
        cycles = None if self._cycles is None else self._cycles.found()
        trades = () if cycles is None else cycles.trades
        fills = tuple(run_to_end(self._store.fills()))
        transfers = () if self._transfers is None else self._transfers.all()
        after, rows = balances_of(self._accounts), run_to_end(self._store.balances.rows())
        episodes = spreads.episodes()
        return TradingOutcome(
            opportunities=spreads.opportunities,
            arbitrages=arbitrages,
            rejections=self.bots.rejections.sums(episodes),
            profit=profit_of((*arbitrages, *trades), spreads.currency or self._currency),
            equity=tuple(_equity((*arbitrages, *trades))),
            fills=fills,
            before=self._before,
            after=after,
            is_balanced=is_balanced(self._before, fills, after, rows, self._markets, booked_in(transfers, SESSION)),
            transfers=transfers,
            lifetimes=tuple(map(lifetime_of, episodes)),
            net_bps_counts=spreads.net_bps_counts(),
            assumptions=all_assumptions(
                self._parameters, list(self._accounts.values()), spreads, self.bots.missed, has_history=has_history
            ),
            cycles=cycles,
        )

    def _change(self, change: SettingsChange) -> None:
        self.bots.change(change.applied(self.bots.cache.settings))


def _opening(markets: tuple[Market, ...], parameters: Parameters) -> Balances:
    """Return the opening balances of each exchange of `markets`; 0 if none is given. Raises BacktestError."""
    exchanges = list(dict.fromkeys(market.exchange for market in markets))
    strangers = parameters.balances.keys() - set(exchanges)
    if strangers:
        raise BacktestError(
            f"balances are given for {', '.join(sorted(strangers))}, which is no exchange of these ticks"
        )
    if not exchanges:
        raise BacktestError("there is no market to trade on")
    return {exchange: dict(parameters.balances.get(exchange, {})) for exchange in exchanges}


def _bursts(sightings: Iterable[Sighting], parameters: Parameters) -> Iterator[list[Sighting]]:
    """Yield what was found at one moment together if places are short, so that the best gets them; else each alone."""
    if not parameters.rate_limits:
        for one in sightings:
            yield [one]
        return
    for _, together in groupby(sightings, key=attrgetter("event_time")):
        yield list(together)


def _each_once(sightings: Iterable[Sighting]) -> Iterator[Sighting]:
    seen: set[str] = set()
    last = 0
    for one in sightings:
        if one.event_time < last:
            raise BacktestError(UNORDERED)
        last = one.event_time
        if one.identity not in seen:
            seen.add(one.identity)
            yield one


def _equity(trades: Iterable[Arbitrage | CycleTrade]) -> Iterator[SimulatedEquityPoint]:
    """Return one point for each moment at which any ended with a profit or a loss."""
    ends: dict[int, Decimal] = {}
    for one in trades:
        if one.profit is not None:
            time = one.times["ended"]
            ends[time] = ends.get(time, ZERO) + one.profit.net
    net = ZERO
    for time in sorted(ends):
        net += ends[time]
        yield SimulatedEquityPoint(time, net)
