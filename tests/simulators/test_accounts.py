"""Several accounts of one exchange: they trade with each other, and neither sees or loses the other's."""

from dataclasses import dataclass, field
from decimal import Decimal

import pytest

from market.instruments.orders import Side
from simulators.matching.account_ledger import ledger_of
from simulators.matching.candles import MINUTE
from simulators.matching.listings import listings_of
from simulators.matching.order_records import OrderRequest, SimulatedOrder, Trigger
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.matching.venue import Venue
from tests.simulators.test_simulated_exchange import NAMES, SYMBOLS, ListJournal, TickingClock, opening, quoted

NAME = "kraken"
SYMBOL = SYMBOLS[NAME]
FAR_BELOW = Decimal(30_000)
INSIDE = Decimal(60_000)
"""A price between the market maker's best bid and best ask."""


@dataclass
class Two:
    """The accounts of one exchange with their journals."""

    journals: tuple[ListJournal, ListJournal] = field(default_factory=lambda: (ListJournal(), ListJournal()))
    first: SimulatedExchange = field(init=False)
    second: SimulatedExchange = field(init=False)

    def __post_init__(self) -> None:
        venue = Venue(NAME, listings_of(NAME), NAMES, TickingClock())
        self.first = SimulatedExchange(venue, opening(NAME), self.journals[0])
        self.second = SimulatedExchange(venue, opening(NAME), self.journals[1], "second")


def traded(exchange: SimulatedExchange, side: Side, amount: str, price: Decimal) -> SimulatedOrder:
    return exchange.place(OrderRequest(SYMBOL, side, Decimal(amount), price, immediate=False))


def test_two_accounts_trade_with_each_other_and_pay_a_fee_each() -> None:
    two = Two()
    quoted(two.first)
    resting = traded(two.first, "sell", "0.5", INSIDE)
    taking = traded(two.second, "buy", "0.2", INSIDE)
    [sold], [bought] = two.first.customer.fills, two.second.customer.fills
    assert (sold.order_id, bought.order_id) == (resting.order_id, taking.order_id)
    assert (sold.liquidity, bought.liquidity) == ("maker", "taker")
    assert (sold.price, sold.amount) == (bought.price, bought.amount) == (INSIDE, Decimal("0.2"))
    assert sold.number == bought.number == two.first.tape.newest(SYMBOL, 1)[0].number
    owned = opening(NAME)
    assert two.first.balances["USD"] == owned["USD"] + sold.cost - sold.fee
    assert two.second.balances["USD"] == owned["USD"] - bought.cost - bought.fee
    assert two.second.balances["BTC"] == owned["BTC"] + Decimal("0.2")
    for currency, amount in owned.items():
        assert two.first.venue.total_of(currency) == 2 * amount


def test_an_account_hears_of_its_own_orders_only_and_cancels_no_others() -> None:
    two = Two()
    heard: dict[str, list[str]] = {"first": [], "second": []}
    two.first.listen(lambda event: heard["first"].append(f"{event.kind} {event.order.order_id}"))
    two.second.listen(lambda event: heard["second"].append(f"{event.kind} {event.order.order_id}"))
    own, others = traded(two.first, "buy", "0.1", FAR_BELOW), traded(two.second, "buy", "0.1", FAR_BELOW)
    for order in two.second.customer.open_orders():
        two.second.cancel(order.order_id)
    assert two.first.customer.open_orders() == [own]
    assert heard == {
        "first": [f"opened {own.order_id}"],
        "second": [f"opened {others.order_id}", f"ended {others.order_id}"],
    }
    assert two.first.customer.held()["USD"] > 0 == two.second.customer.held()["USD"]


def test_an_order_of_another_account_is_no_trade_with_oneself() -> None:
    two = Two()
    traded(two.first, "sell", "0.1", INSIDE)
    assert traded(two.first, "buy", "0.1", INSIDE).state == "cancelled"
    assert traded(two.second, "buy", "0.1", INSIDE).state == "done"


def test_each_account_comes_back_from_its_own_journal() -> None:
    two = Two()
    traded(two.first, "sell", "0.5", INSIDE)
    traded(two.second, "buy", "0.2", INSIDE)
    traded(two.second, "buy", "0.1", FAR_BELOW)
    again = Two(two.journals)
    for before, after in ((two.first, again.first), (two.second, again.second)):
        assert after.customer.balances == before.customer.balances
        assert after.customer.fills == before.customer.fills
        assert after.customer.open_orders() == before.customer.open_orders()
    book = again.first.books[SYMBOL]
    assert [len(book.levels(side, 5)) for side in ("buy", "sell")] == [1, 1]
    assert traded(again.second, "buy", "0.3", INSIDE).state == "done"


def test_an_order_that_would_cross_another_accounts_at_the_start_ends() -> None:
    """An order that was stuck by a fault may cross: its remainder was in no book."""
    two = Two()
    selling = traded(two.first, "sell", "0.5", INSIDE)
    apart = Two((ListJournal(), two.journals[1]))
    buying = traded(apart.second, "buy", "0.5", INSIDE)
    again = Two(two.journals)
    assert again.first.customer.open_orders() == [selling]
    assert again.second.customer.order(buying.order_id).state == "cancelled"
    assert not again.second.customer.fills
    assert again.second.customer.held()["USD"] == 0


def test_an_owner_has_one_account() -> None:
    two = Two()
    for owner in ("second", "maker"):
        with pytest.raises(ValueError, match="has an account of"):
            SimulatedExchange(two.first.venue, opening(NAME), ListJournal(), owner)


def stop_below(exchange: SimulatedExchange, price: Decimal) -> SimulatedOrder:
    """Return an order to sell at the market once somebody has traded at `price` or below."""
    request = OrderRequest(SYMBOL, "sell", Decimal("0.1"), None, immediate=False, trigger=Trigger(price, rises=False))
    return exchange.place(request)


def test_a_trade_of_one_account_triggers_the_stops_of_all_oldest_first() -> None:
    two = Two()
    quoted(two.first)
    triggered: list[str] = []
    for account in (two.first, two.second):
        account.listen(lambda event: triggered.append(event.order.order_id) if event.kind == "triggered" else None)
    stops = [stop_below(account, INSIDE) for account in (two.second, two.first, two.second)]
    untouched = stop_below(two.first, FAR_BELOW)
    two.first.place(OrderRequest(SYMBOL, "sell", Decimal("0.1"), None, immediate=True))
    assert triggered == [stop.order_id for stop in stops]
    sold = dict.fromkeys(fill.order_id for fill in two.second.customer.fills)
    assert list(sold) == [stops[0].order_id, stops[2].order_id]
    assert two.first.customer.open_orders() == [untouched]
    again = Two(two.journals)
    for before, after in ((two.first, again.first), (two.second, again.second)):
        assert after.customer.orders == before.customer.orders


def test_a_ledger_has_the_changes_of_its_own_account_and_candles_have_the_trades_of_all() -> None:
    two = Two()
    quoted(two.first)
    for account in (two.first, two.first, two.second):
        account.place(OrderRequest(SYMBOL, "buy", Decimal("0.1"), None, immediate=True))
    rows = [ledger_of(account.customer, account.listings) for account in (two.first, two.second)]
    assert [sum(row.fill is not None for row in changes) for changes in rows] == [4, 2]
    for account, changes in zip((two.first, two.second), rows, strict=True):
        assert {row.currency: row.balance for row in changes} == account.balances
    candles = two.second.tape.candles[SYMBOL].traded(MINUTE)
    assert sum(candle.count for candle in candles) == 3
    assert sum(candle.volume for candle in candles) == Decimal("0.3")
