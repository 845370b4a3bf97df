"""Trading in a backtest: small scenarios whose fills are computed by hand, and what holds of every one."""

from decimal import Decimal

from backtest.trading import trade
from tests.backtest.trading_samples import MARKETS, START, offered, parameters_of, steady_quotes, tape_with


def test_both_legs_fill_after_their_latency() -> None:
    """0.1618 BTC: what 1,000 USD of notional allow at 5,618 EUR with 5,615.20 as the least price taken."""
    outcome = trade([offered(START)], tape_with(steady_quotes([START])), MARKETS, parameters_of())
    (arbitrage,) = outcome.arbitrages
    assert arbitrage.state == "closed"
    buy, sell = arbitrage.legs
    assert [(fill.price, fill.amount, fill.filled_at) for fill in buy.fills] == [
        (Decimal(6000), Decimal("0.1618"), START + 55_000)
    ]
    assert [(fill.price, fill.amount, fill.filled_at) for fill in sell.fills] == [
        (Decimal(5618), Decimal("0.1618"), START + 55_000)
    ]
    assert outcome.is_balanced
    assert outcome.trades == 1
