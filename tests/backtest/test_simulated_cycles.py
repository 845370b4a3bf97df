"""Cycles on what the simulated exchanges' own market model would have shown: some busy seconds, with crosses."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

import pyarrow as pa
import pytest

from backtest.detect.workers import ThisProcess
from backtest.report.result_document import result_document
from backtest.requested_backtest import RequestedBacktest, parameters_for
from backtest.result.backtest_result import BacktestResult
from backtest.run import run_backtest
from exchanges.simulated_markets import simulated_taker_fees
from market.accounting.transfer_planning import TransferRules
from market.instruments.cycles import CycleTerms
from market.instruments.markets import Market
from market.money import Amount, Price, decimal_of, text_of, total
from market.prices.quotes import Level
from simulators.market.chosen_market import ChosenMarket
from simulators.matching.listings import Listing, listings_of
from streams.message_format import levels_text
from tick_sets.sets.builder import TickSetBuilder
from tick_sets.sets.manifest import Manifest
from tick_sets.sets.schema import SOURCE_SCHEMA
from tick_sets.sets.tick_set import TickSet, open_tick_set

EXCHANGES = ("coinbaseexchange", "bitstamp", "kraken", "binance")
BASES = ("BTC", "ETH", "SOL")
BEGIN, SECOND, STEP = 1_723_075_200_000_000, 1_000_000, 0.25
MINUTES = 0.25
HALF_SPREAD, LEVEL = 0.5e-4, 1.5e-4
LEVEL_WORTH = 4_000.0
"""Dollars shown at each of five levels."""
EVERYWHERE = CycleTerms(3, frozenset(EXCHANGES), frozenset(EXCHANGES))


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> TickSet:
    listings = {name: listings_of(name, BASES, has_crosses=True) for name in EXCHANGES}
    markets = tuple(row.market for rows in listings.values() for row in rows)
    rows = list(quotes(listings))
    folder = tmp_path_factory.mktemp("sets") / "simulated"
    manifest = Manifest(folder.name, "made up", "generated", "USD", markets, (), (), len(rows))
    with TickSetBuilder(folder, manifest.bases) as builder:
        builder.add(pa.Table.from_pylist(rows, schema=SOURCE_SCHEMA))
        builder.finish(manifest)
    return open_tick_set(folder)


def quotes(listings: dict[str, tuple[Listing, ...]]) -> Iterator[dict[str, object]]:
    """Return a quote of each market a few times a second, each exchange a little after the one before."""
    prices = ChosenMarket("busy").prices(7, listings)
    dollars = {"USD": 1.0, "EUR": 1.1, "JPY": 1 / 150, "USDT": 1.0}
    for step in range(int(MINUTES * 60 / STEP)):
        prices.advance_latent(STEP)
        for late, (exchange, rows) in enumerate(listings.items()):
            prices.advance_exchange(exchange, STEP)
            time = BEGIN + round((step * STEP + late * 0.03) * SECOND)
            for row in rows:
                prices.orders(row)
                mid = prices.mid(row)
                if row.market.quote_currency == "USD":
                    dollars[row.market.base] = mid
                yield quote_of(row.market, time, mid, LEVEL_WORTH / dollars.get(row.market.base, 1.0))


def quote_of(market: Market, time: int, mid: float, amount: float) -> dict[str, object]:
    sides = {"bid": side_of(market, mid, amount, -1), "ask": side_of(market, mid, amount, 1)}
    row: dict[str, object] = {
        "base": None if market.is_fx else market.base,
        "rank": 0 if market.is_fx else 1,
        "kind": "fx" if market.is_fx else "quote",
        "exchange": market.exchange,
        "symbol": market.symbol,
        "received_time": time,
    }
    for name, levels in sides.items():
        row |= {f"{name}_price": float(levels[0].price), name: text_of(levels[0].price)}
        row |= {f"{name}_amount": text_of(levels[0].amount), f"{name}s": levels_text(list(levels))}
    return row


def side_of(market: Market, mid: float, amount: float, sign: int) -> tuple[Level, ...]:
    places = -int(market.tick_size.as_tuple().exponent)
    shown = Amount(max(decimal_of(round(amount, 6)), market.lot_step))
    levels: dict[Decimal, Level] = {}
    for level in range(5):
        price = decimal_of(f"{mid * (1 + sign * (HALF_SPREAD + level * LEVEL)):.{max(places, 0)}f}")
        levels.setdefault(price, Level(Price(price), shown))
    return tuple(levels.values())


def run(simulated: TickSet, rebalancing: TransferRules | None = None) -> BacktestResult:
    request = RequestedBacktest(values={"max_open_arbitrages": "20", "max_total_notional": "100000"}, cycles=EVERYWHERE)
    parameters = replace(parameters_for(simulated, request), rebalancing=rebalancing)
    fees = {name: fee for name, fee in simulated_taker_fees().items() if name in parameters.settings.taker_fees}
    settings = parameters.settings.model_copy(update={"taker_fees": fees})
    return run_backtest(ThisProcess(), simulated, replace(parameters, settings=settings))


@pytest.fixture(scope="module")
def result(simulated: TickSet) -> BacktestResult:
    return run(simulated)


@pytest.mark.slow
def test_plans_that_send_nothing_hold_no_cycle_up(simulated: TickSet, result: BacktestResult) -> None:
    planned = run(simulated, TransferRules(is_on=True, every_seconds=1, tolerance=Decimal(1_000_000)))
    assert planned.trading.transfers == ()
    assert planned.trading.cycles == result.trading.cycles


def test_cycles_close_within_and_over_exchanges_with_a_gain(result: BacktestResult) -> None:
    found = result.trading.cycles
    assert found is not None
    closed = [trade for trade in found.trades if trade.state == "closed"]
    assert len([trade for trade in closed if len(trade.cycle.exchanges) == 1]) >= 5
    assert len([trade for trade in closed if len(trade.cycle.exchanges) > 1]) >= 20
    assert len(closed) > 0.9 * len(found.trades)
    assert not any(trade.is_open for trade in found.trades)
    assert total(trade.profit.net for trade in closed if trade.profit is not None) > 0


def test_the_ledger_covers_pairs_and_cycles_on_one_account(result: BacktestResult) -> None:
    trading = result.trading
    assert trading.arbitrages
    assert trading.is_balanced
    assert trading.profit.net == trading.equity[-1].net
    parts = trading.profit.parts
    assert total(amount for part, amount in parts.items() if part != "net") == parts["net"]
    assert result_document(result)["balanced"] is True


def test_what_is_planned_is_exact_and_within_the_limits(result: BacktestResult) -> None:
    found, settings = result.trading.cycles, result.parameters.settings
    assert found is not None
    for trade in found.trades:
        assert trade.planned.gap == 0
        assert 0 < trade.notional <= settings.max_notional
        assert all(order.filled <= order.amount for order in trade.orders)
        assert set(trade.flows) <= {leg.gives for leg in trade.cycle.legs}
