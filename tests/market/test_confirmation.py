"""Whether an exchange without client ids bears out that it never had an order that it denies."""

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.instruments.orders import AccountFill, Fill, OpenOrder, Side, changes_of
from market.money import ZERO, Amount, Price
from market.trade.arbitrages import Arbitrage, Leg
from market.trade.confirmation import ExchangeView, doubt_about
from market.trade.inflight_orders import orders_of_others
from market.trade.reservation_state import BalanceRow
from tests.market.samples import EUR_MARKET, USD_MARKET, fill_of, levels, opportunity_of, order_leg
from tests.market.samples import arbitrage_of as arbitrage_with

ONE, PRICE = Decimal(1), Decimal(100)
BTC, USD = BalanceRow("alpha", "BTC", Decimal(5), ONE), BalanceRow("alpha", "USD", Decimal(900), ZERO)
ROWS = (BTC, USD)
LEG = replace(order_leg(USD_MARKET, "buy", ONE, PRICE, ()), state="granted", exchange_order_id=None)
FILL = fill_of(USD_MARKET, "buy", ONE, PRICE, fill_id="1")
SOLD = fill_of(USD_MARKET, "sell", ONE, PRICE, fill_id="2")


OPPORTUNITY = opportunity_of((USD_MARKET, levels(("100", "1"))), (EUR_MARKET, levels(("110", "1"))))


def arbitrage_of(*legs: Leg) -> Arbitrage:
    return arbitrage_with(OPPORTUNITY, *legs)


def other(order_id: str, *fills: Fill, side: Side = "sell") -> Leg:
    """Another leg's, known by its order."""
    leg = order_leg(USD_MARKET, side, ONE, PRICE, fills)
    return replace(leg, client_order_id=f"for {order_id}", exchange_order_id=order_id)


def view(
    btc: str = "6",
    usd: str = "900",
    *,
    orders: tuple[OpenOrder, ...] = (),
    fills: tuple[AccountFill, ...] = (),
    legs: tuple[Leg, ...] = (),
    before: tuple[BalanceRow, ...] = ROWS,
) -> ExchangeView:
    arbitrages = (arbitrage_of(LEG, *legs),)
    return ExchangeView(before, {"BTC": Decimal(btc), "USD": Decimal(usd)}, orders, fills, arbitrages, ROWS)


def resting(order_id: str, side: Side = "buy") -> OpenOrder:
    return OpenOrder("alpha", "BTC/USD", order_id, None, side, Amount(ONE), Price(PRICE), 0)


@pytest.mark.parametrize(
    ("said", "doubt"),
    [
        (view(), None),
        # it filled, whatever it is dated: the balances show it
        (view("7", "800"), "BTC: 6 in our books, 7 at the exchange"),
        (view("6", "899.99"), "USD: 900 in our books, 899.99 at the exchange"),
        # what belongs to no leg and may be it
        (view(orders=(resting("x"),)), "order x, which rests there, belongs to no leg"),
        (view(fills=(AccountFill(FILL, "x"),)), f"fill {FILL.fill_id} of order x belongs to no leg"),
        # what cannot be it
        (view(orders=(resting("x", "sell"),)), None),
        (view(orders=(resting("known"),), legs=(other("known", side="buy"),)), None),
        (view(fills=(AccountFill(FILL, "known"),), legs=(other("known", FILL, side="buy"),)), None),
        # another order is seen through just now: its fill is there and not booked yet
        (view("5", "1000", fills=(AccountFill(SOLD, "known"),), legs=(other("known"),)), None),
        (view(fills=(AccountFill(SOLD, "known"),), legs=(other("known"),)), "BTC: 5 in our books, 6 at the exchange"),
        (view(fills=(AccountFill(SOLD, "known"),), legs=(other("known", SOLD),)), None),
        (view(before=(USD,)), "our balances changed during the request"),
    ],
)
def test_doubts(said: ExchangeView, doubt: str | None) -> None:
    assert doubt_about(LEG, said) == doubt


def test_a_fill_of_another_order_changes_what_its_leg_trades() -> None:
    """Cover names of which the symbol's text says little: a contract, or a code that is not the asset's name."""
    name = "XBT/USDT:USDT"
    sold, seen = replace(SOLD, symbol=name), replace(other("known"), symbol=name)
    there = view("5", "1000", fills=(AccountFill(sold, "known"),), legs=(seen,))
    assert doubt_about(replace(LEG, symbol=name), there) is None


amounts = st.decimals(Decimal("0.00000001"), ONE, places=8)


@given(amounts, st.sampled_from(["buy", "sell"]), st.booleans())
def test_what_it_filled_always_leaves_a_doubt(amount: Decimal, side: Side, is_listed: bool) -> None:
    """However little, on either side, whether the exchange lists the fill or not."""
    leg = replace(LEG, side=side)
    fill = fill_of(USD_MARKET, side, amount, PRICE)
    balances = {row.currency: row.free + row.held for row in ROWS}
    for currency, change in changes_of(fill, "BTC", "USD"):
        balances[currency] += change
    fills = (AccountFill(fill, "its own"),) if is_listed else ()
    assert doubt_about(leg, ExchangeView(ROWS, balances, (), fills, (arbitrage_of(leg),), ROWS)) is not None


def test_orders_of_others_are_all_that_other_legs_have_there() -> None:
    elsewhere = replace(other("elsewhere"), exchange="beta")
    own = replace(LEG, exchange_order_id="own")
    ended = replace(arbitrage_of(other("ended")), state="closed")
    assert set(orders_of_others(LEG, [arbitrage_of(own, other("open"), other("two"), elsewhere), ended])) == {
        "open",
        "two",
        "ended",
    }
