"""The account's lists as exchanges show them: newest first, and read no further than asked."""

from dataclasses import replace
from decimal import Decimal
from itertools import islice

from simulators.matching.funded_account import FundedAccount
from simulators.matching.listings import listings_of
from simulators.matching.order_records import SimulatedFill, SimulatedOrder

ONE = Decimal(1)


def order(number: int, symbol: str = "BTC/USD") -> SimulatedOrder:
    return SimulatedOrder(f"o{number}", number, None, symbol, "buy", ONE, ONE, True, number)


def fill(number: int, order_number: int) -> SimulatedFill:
    return SimulatedFill(
        f"f{number}", number, f"o{order_number}", "BTC/USD", "buy", ONE, ONE, ONE, ONE, "USD", "taker", number
    )


def filled_customer() -> FundedAccount:
    """Return orders 1–4, of which 2 is on another market and 1 and 3 have ended; 3 in two fills."""
    customer = FundedAccount({listing.market.symbol: listing for listing in listings_of("kraken")})
    for placed in (order(1), order(2, "EUR/USD"), order(3), order(4)):
        customer.store(placed)
    for made in (fill(5, 1), fill(6, 3), fill(7, 3)):
        customer.add_fill(made)
    for number in (1, 3):
        customer.store(replace(order(number), state="done", ended_at=9))
    return customer


def test_orders_are_newest_first_of_all_markets_or_of_one() -> None:
    customer = filled_customer()
    assert [each.number for each in customer.newest_orders()] == [4, 3, 2, 1]
    assert [each.number for each in customer.newest_orders("BTC/USD")] == [4, 3, 1]
    assert list(customer.newest_orders("USD/JPY")) == []
    assert [each.state for each in islice(customer.newest_orders(), 2)] == ["open", "done"]
    assert len(customer.orders) - len(customer.open_orders()) == 2


def test_fills_are_found_by_their_own_ids_and_by_their_order() -> None:
    customer = filled_customer()
    assert [each.number for each in customer.known_fills(["f7", "f5", "f99", "f7"])] == [5, 7]
    assert [each.number for each in customer.newest_fills()] == [7, 6, 5]
    assert [each.number for each in customer.fills_of("o3")] == [6, 7]
