"""Hops of trades, of orders beyond the first two by themselves."""

from dataclasses import replace
from decimal import Decimal

from benchmarks.trade_hops import FIRST, hop_lines
from market.money import Amount
from market.trade.arbitrages import Arbitrage
from tests.market.samples import EUR_MARKET, USD_MARKET, levels, opportunity_of, order_leg

OPPORTUNITY = opportunity_of((USD_MARKET, levels(("6000", "1"))), (EUR_MARKET, levels(("5618", "1"))))
BUY = order_leg(USD_MARKET, "buy", Decimal(1), Decimal(6000))
MILLISECOND = 1_000


def traded(sent_after: int, further: int | None = None) -> Arbitrage:
    """Return one whose two orders are sent after so many milliseconds and take 20; a further one takes `further`."""
    times = {"granted": 0, "sent": sent_after * MILLISECOND, "done": (sent_after + 20) * MILLISECOND}
    legs = [replace(BUY, times=times)] * 2
    if further is not None:
        legs.append(replace(BUY, role="complete", times={"granted": 0, "sent": 0, "done": further * MILLISECOND}))
    return Arbitrage(
        arbitrage_id="one",
        base="BTC",
        state="closed",
        opportunity=OPPORTUNITY,
        legs=tuple(legs),
        amount=Amount(Decimal(1)),
        send_by=0,
        times={"event": 0, "detected": 0, "reserved": 0, "sent": sent_after * MILLISECOND},
    )


def test_further_orders_are_a_hop_of_their_own() -> None:
    found = {line[:44].strip(): line[44:].split() for line in hop_lines([traded(10, 1_500)] * 2)}
    assert found["sent to its end, each of the two"] == ["20.0", "/", "20.0", "/", "20.0", "of", "4"]
    assert found["sent to its end, further orders"] == ["1500.0", "/", "1500.0", "/", "1500.0", "of", "2"]


def test_the_first_trades_are_compared_with_the_rest() -> None:
    lines = hop_lines([traded(30)] * (FIRST - 1) + [traded(30, 100)] + [traded(10)] * 5)
    assert "opportunity to both sent, median of the first 10 and of the rest 30.0, 10.0: 3.00" in lines
    assert lines[-1] == "with a further order: 1 of the first 10, 0 of the other 5"
    assert len(hop_lines([traded(30)])) == len(hop_lines([]))
