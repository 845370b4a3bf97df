"""Orders of the moving average against their signals: what the bot traded, and what is altered in it."""

from dataclasses import replace

import pytest

from backtest.verify.signals import by_id, order_difference, signal_difference
from market.trade.arbitrages import Arbitrage
from market.trade.moving_average import AverageTrade
from tests.bots.test_average_trader import INTERVAL, ORDERS, PRICES, Bench
from tests.market.average_rules import app_rule


@pytest.fixture
async def traded() -> tuple[Arbitrage, AverageTrade]:
    """Return an order and its signal."""
    bench = Bench(ORDERS)
    await bench.open()
    await bench.periods(PRICES[:3])
    (arbitrage,), (signal,) = await bench.store.session_arbitrages(), await bench.store.averages.trades()
    return arbitrage, signal


def period(signal: AverageTrade) -> int:
    return int(signal.trade_id.rpartition("|")[2])


def test_what_the_bot_did_is_as_its_signal_says(traded: tuple[Arbitrage, AverageTrade]) -> None:
    arbitrage, signal = traded
    assert signal_difference(signal, app_rule()) is None
    assert order_difference(arbitrage, by_id([signal]), 0) is None
    assert order_difference(replace(arbitrage, strategy="arbitrage"), {}, 0) is None


def test_an_order_that_nobody_signalled(traded: tuple[Arbitrage, AverageTrade]) -> None:
    """It may be of a signal of the session before, which may be traded in this one."""
    arbitrage, signal = traded
    found = order_difference(arbitrage, {}, period(signal))
    assert str(found) == f"arbitrage {signal.trade_id}: signal recorded nothing, derived one that it was traded on"
    assert order_difference(arbitrage, {}, period(signal) + INTERVAL) is None


def test_an_order_of_the_other_side(traded: tuple[Arbitrage, AverageTrade]) -> None:
    arbitrage, signal = traded
    found = order_difference(arbitrage, by_id([replace(signal, trade_type="SELL")]), 0)
    assert found is not None
    assert (found.recorded, found.derived) == ("alpha BTC/USD buy", "alpha BTC/USD sell")
