"""Trades the opportunities of a recording, in its own time, as the bots would have done: the very functions that
reserve, send, book and unwind live, on the store in memory, against the quotes that were known when an order arrived.

Nothing is looked up that lies ahead: an event sees what came before it, so whatever follows changes no earlier trade.
"""

from collections.abc import Iterable, Iterator
from decimal import Decimal

from backtest.account import Conditions, SimulatedAccount
from backtest.outcome import EquityPoint, TradingOutcome
from backtest.parameters import Balances, Latency, Parameters
from backtest.tape import QuoteTape
from backtest.trading_agenda import Agenda, at_once
from backtest.trading_books import balances_of, is_balanced
from backtest.trading_bots import ReplayedBots
from backtest.trading_spreads import Spreads
from market.arbitrages import Arbitrage, ProfitAndLoss
from market.execution import markets_by_symbol
from market.markets import Market
from market.money import ZERO
from market.opportunities import Opportunity
from market.profit_groups import added, profit_from
from store.memory import MemoryTradeStore


class BacktestError(ValueError):
    """What was given cannot be traded; the same will fail again."""


def trading_order(opportunity: Opportunity) -> tuple[int, str, int, str, str]:
    """What `trade` wants opportunities sorted by."""
    legs = opportunity.buy.exchange, opportunity.sell.exchange
    return opportunity.event_time, opportunity.base, opportunity.offset, *legs


def trade(
    opportunities: Iterable[Opportunity], tape: QuoteTape, markets: tuple[Market, ...], parameters: Parameters
) -> TradingOutcome:
    """`opportunities` by `trading_order`; of several with one id the first counts. Raises BacktestError."""
    traded = tuple(market for market in markets if not market.is_fx)
    agenda = Agenda()
    store = MemoryTradeStore(agenda)
    at_once(store.create_settings(parameters.settings))
    before = _opening(traded, parameters)
    conditions = Conditions(
        markets=markets_by_symbol(traded),
        tape=tape,
        clock=agenda,
        settings=store.settings_in_force,
        seed=parameters.seed,
        failed_share=parameters.failed_share,
    )
    accounts = {
        exchange: SimulatedAccount(exchange, balances, parameters.latency.get(exchange, Latency()), conditions)
        for exchange, balances in before.items()
    }
    for exchange, account in accounts.items():
        at_once(store.set_balances(exchange, at_once(account.balances()), "before"))
    decision = round(parameters.decision_ms * 1_000)
    bots = ReplayedBots(agenda, store, accounts, traded, decision)
    spreads = Spreads()
    for opportunity in _each_once(opportunities):
        spreads.see(opportunity)
        agenda.advance(opportunity.event_time + decision)
        bots.decide(opportunity)
    agenda.finish()
    arbitrages = tuple(at_once(store.session_arbitrages()))
    fills = tuple(at_once(store.fills()))
    after = balances_of(accounts)
    return TradingOutcome(
        opportunities=spreads.opportunities,
        arbitrages=arbitrages,
        refusals=bots.refusals.sums(),
        profit=_profit(arbitrages, spreads.currency),
        equity=tuple(_equity(arbitrages)),
        fills=fills,
        before=before,
        after=after,
        is_balanced=is_balanced(before, fills, after, at_once(store.balance_rows()), conditions.markets),
        lifetimes=spreads.lifetimes(),
        net_bps_counts=spreads.net_bps_counts(),
    )


def _opening(markets: tuple[Market, ...], parameters: Parameters) -> Balances:
    """Of each exchange of `markets`; what no balance is given of is 0. Raises BacktestError."""
    exchanges = list(dict.fromkeys(market.exchange for market in markets))
    strangers = parameters.balances.keys() - set(exchanges)
    if strangers:
        raise BacktestError(
            f"balances are given for {', '.join(sorted(strangers))}, which is no exchange of these ticks"
        )
    if not exchanges:
        raise BacktestError("there is no market to trade on")
    return {exchange: dict(parameters.balances.get(exchange, {})) for exchange in exchanges}


def _each_once(opportunities: Iterable[Opportunity]) -> Iterator[Opportunity]:
    seen: set[str] = set()
    last = 0
    for opportunity in opportunities:
        if opportunity.event_time < last:
            raise BacktestError("opportunities must come in the order of their time")
        last = opportunity.event_time
        if opportunity.opportunity_id not in seen:
            seen.add(opportunity.opportunity_id)
            yield opportunity


def _profit(arbitrages: tuple[Arbitrage, ...], currency: str) -> ProfitAndLoss:
    whole = profit_from(currency, {})
    for arbitrage in arbitrages:
        if arbitrage.profit is not None:
            whole = added(whole, arbitrage.profit)
    return whole


def _equity(arbitrages: tuple[Arbitrage, ...]) -> Iterator[EquityPoint]:
    """One point for each moment at which any ended with a profit or a loss."""
    ends: dict[int, Decimal] = {}
    for arbitrage in arbitrages:
        if arbitrage.profit is not None:
            time = arbitrage.times["ended"]
            ends[time] = ends.get(time, ZERO) + arbitrage.profit.net
    net = ZERO
    for time in sorted(ends):
        net += ends[time]
        yield EquityPoint(time, net)
