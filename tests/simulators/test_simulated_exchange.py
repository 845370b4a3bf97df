"""Money on a simulated exchange: balances = opening + fills − fees, none is made, a journal gives all of it back."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.instruments.orders import Side
from simulators.matching.exchange_journal import Entry, EntryLog
from simulators.matching.listings import listings_of
from simulators.matching.order_records import OrderRequest, RequestRejectedError, SimulatedOrder
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.matching.venue import Names, Venue

NAMES = Names(order=lambda number, _micros: f"o{number}", fill=lambda number, _micros: f"f{number}")
SYMBOLS = {
    "coinbaseexchange": "BTC/USD",
    "bitstamp": "BTC/EUR",
    "bitflyer": "BTC/JPY",
    "kraken": "BTC/USD",
}


@dataclass
class TickingClock:
    """A clock that is a microsecond later at each look."""

    time: int = 1_700_000_000_000_000

    def now(self) -> int:
        self.time += 1
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += int(seconds * 1_000_000)


@dataclass
class ListJournal:
    lines: list[Entry] = field(default_factory=list)

    def entries(self) -> Sequence[Entry]:
        return list(self.lines)

    def write(self, entry: Entry) -> None:
        self.lines.append(entry)


def opening(name: str) -> dict[str, Decimal]:
    return {"BTC": Decimal(3), SYMBOLS[name].split("/")[1]: Decimal(40_000_000 if name == "bitflyer" else 250_000)}


def exchange_of(name: str, journal: EntryLog | None = None) -> SimulatedExchange:
    venue = Venue(name, listings_of(name), NAMES, TickingClock())
    return SimulatedExchange(venue, opening(name), journal or ListJournal())


def quoted(exchange: SimulatedExchange, shift: int = 0) -> None:
    """Quote five levels of 0.3 BTC a side around the start price; `shift` in thousandths of it."""
    symbol = SYMBOLS[exchange.name]
    listing = exchange.listings[symbol]
    step = max(1, listing.ticks(Decimal(listing.start_price) / 10_000))
    mid = listing.ticks(Decimal(listing.start_price)) + shift * 10 * step
    bids = [(mid - step * n, 30_000_000 + n) for n in range(1, 6)]
    asks = [(mid + step * n, 30_000_000 + n) for n in range(1, 6)]
    exchange.venue.quote(symbol, bids, asks)


steps = st.lists(
    st.one_of(
        st.tuples(
            st.just("place"),
            st.sampled_from(("buy", "sell")),
            st.integers(100_000, 150_000_000),
            st.one_of(st.none(), st.integers(-80, 80)),
            st.booleans(),
        ),
        st.tuples(st.just("quote"), st.integers(-6, 6)),
        st.tuples(st.just("take"), st.sampled_from(("buy", "sell")), st.integers(1, 200_000_000)),
        st.tuples(st.just("cancel"), st.integers(0, 5)),
    ),
    max_size=40,
)


def play(exchange: SimulatedExchange, step: tuple[object, ...]) -> None:
    symbol = SYMBOLS[exchange.name]
    match step:
        case ("quote", int(shift)):
            quoted(exchange, shift)
        case ("take", ("buy" | "sell") as side, int(lots)):
            exchange.venue.take(symbol, side, lots)
        case ("cancel", int(index)):
            for order in exchange.customer.open_orders()[index : index + 1]:
                exchange.cancel(order.order_id)
        case ("place", ("buy" | "sell") as side, int(lots), offset, bool(immediate)):
            with suppress(RequestRejectedError):
                exchange.place(_request(exchange, side, lots, offset if isinstance(offset, int) else None, immediate))


def _request(exchange: SimulatedExchange, side: Side, lots: int, offset: int | None, immediate: bool) -> OrderRequest:
    listing = exchange.listings[SYMBOLS[exchange.name]]
    price = None
    if offset is not None:
        price = listing.price(listing.ticks(Decimal(listing.start_price) * (10_000 + offset) / 10_000))
    return OrderRequest(SYMBOLS[exchange.name], side, listing.amount(lots), price, immediate)


@pytest.mark.parametrize("name", SYMBOLS)
@given(steps)
def test_balances_are_opening_plus_fills_minus_fees(name: str, rows: list[tuple[object, ...]]) -> None:
    exchange = exchange_of(name)
    currencies = tuple(opening(name))
    quoted(exchange)
    for row in rows:
        play(exchange, row)
        expected = dict(opening(name))
        for fill in exchange.customer.fills:
            base, quote = fill.symbol.split("/")
            sign = 1 if fill.side == "buy" else -1
            expected[base] += sign * fill.amount
            expected[quote] -= sign * fill.cost
            expected[fill.fee_currency] -= fill.fee
        assert exchange.customer.balances == expected
        held = exchange.customer.held()
        for currency in currencies:
            assert exchange.venue.total_of(currency) == opening(name)[currency]
            assert 0 <= held[currency] <= expected[currency]


@pytest.mark.parametrize("name", SYMBOLS)
@given(steps)
def test_a_journal_gives_back_balances_orders_and_fills(name: str, rows: list[tuple[object, ...]]) -> None:
    journal = ListJournal()
    exchange = exchange_of(name, journal)
    quoted(exchange)
    for row in rows:
        play(exchange, row)
    again = exchange_of(name, journal)
    assert again.customer.balances == exchange.customer.balances
    assert again.customer.orders == exchange.customer.orders
    assert again.customer.fills == exchange.customer.fills
    assert again.customer.held() == exchange.customer.held()
    for order in exchange.customer.open_orders():
        assert again.books[order.symbol].rests(order.order_id)
    quoted(again)
    known = set(again.customer.orders)
    fresh = _placed(again, "sell", "0.01")
    assert fresh is None or fresh.order_id not in known


def test_a_restart_ends_what_hung_across_an_order_of_the_same_account() -> None:
    journal = ListJournal()
    exchange = exchange_of("kraken", journal)
    selling = exchange.place(OrderRequest("BTC/USD", "sell", Decimal("0.1"), Decimal(60_000), False))
    hung = replace(selling, order_id="hung", side="buy", price=Decimal(61_000), number=selling.number + 1)
    journal.write(Entry(orders=(hung,)))
    again = exchange_of("kraken", journal)
    assert [order.order_id for order in again.customer.open_orders()] == [selling.order_id]
    assert again.customer.held()["USD"] == 0
    assert not again.customer.fills


def test_an_order_that_is_rejected_is_written_down_and_nothing_more() -> None:
    journal = ListJournal()
    exchange = exchange_of("kraken", journal)
    request = OrderRequest("BTC/USD", "buy", Decimal("0.000001"), Decimal(60_000), True, "mine")
    with pytest.raises(RequestRejectedError):
        exchange.place(request)
    (rejected,) = [rejected for entry in journal.lines for rejected in entry.rejected]
    assert (rejected.request, rejected.reason) == (request, "amount_too_small")
    assert not exchange_of("kraken", journal).customer.orders


def _placed(exchange: SimulatedExchange, side: Side, amount: str) -> SimulatedOrder | None:
    try:
        return exchange.place(OrderRequest(SYMBOLS[exchange.name], side, Decimal(amount), None, True))
    except RequestRejectedError:
        return None


def test_an_immediate_order_takes_what_is_there_and_drops_the_rest() -> None:
    exchange = exchange_of("kraken")
    quoted(exchange)
    best = exchange.books["BTC/USD"].best("sell") or 0
    price = exchange.listings["BTC/USD"].price(best)
    order = exchange.place(OrderRequest("BTC/USD", "buy", Decimal("0.5"), price, True))
    assert (order.state, order.filled) == ("cancelled", Decimal("0.30000001"))
    assert exchange.customer.held()["USD"] == 0


def test_a_resting_order_is_filled_by_the_maker_at_its_own_price() -> None:
    exchange = exchange_of("bitstamp")
    quoted(exchange)
    order = exchange.place(OrderRequest("BTC/EUR", "buy", Decimal("0.1"), Decimal(55_400), False))
    assert order.state == "open"
    quoted(exchange, shift=-10)
    assert exchange.customer.order(order.order_id).state == "done"
    assert {fill.price for fill in exchange.customer.fills_of(order.order_id)} == {Decimal(55_400)}
    assert exchange.books["BTC/EUR"].best("buy") != 55_400


@pytest.mark.parametrize(
    ("amount", "price", "reason"),
    [
        ("100", "60000", "insufficient_funds"),
        ("0.00001", "60000", "amount_too_small"),
        ("0.000050001", "60000", "too_precise"),
        ("0.1", "60000.05", "too_precise"),
        ("0.1", "-1", "price_invalid"),
        ("0", "60000", "amount_invalid"),
        ("1e12", "60000", "amount_invalid"),
    ],
)
def test_rejects_what_the_exchange_would(amount: str, price: str, reason: str) -> None:
    exchange = exchange_of("kraken")
    quoted(exchange)
    with pytest.raises(RequestRejectedError) as rejected:
        exchange.place(OrderRequest("BTC/USD", "buy", Decimal(amount), Decimal(price), True))
    assert rejected.value.reason == reason
    assert not exchange.customer.orders


@pytest.mark.parametrize("name", SYMBOLS)
@given(st.sampled_from(("buy", "sell")), st.integers(1, 400), st.lists(st.integers(1, 40_000), max_size=30))
def test_a_hold_suffices_however_small_the_pieces(name: str, side: Side, off: int, pieces: list[int]) -> None:
    """An account that owns just what its one order holds never owes anything."""
    symbol = SYMBOLS[name]
    listing = next(row for row in listings_of(name) if row.market.symbol == symbol)
    ticks = listing.ticks(Decimal(listing.start_price)) + off
    lots = max(sum(pieces), listing.lots(listing.market.minimum_amount), 100_000)
    currency, needed = listing.hold(side, ticks, lots)
    exchange = SimulatedExchange(Venue(name, [listing], NAMES, TickingClock()), {currency: needed}, ListJournal())
    exchange.place(OrderRequest(symbol, side, listing.amount(lots), listing.price(ticks), False))
    for piece in (*pieces, lots):
        exchange.venue.take(symbol, "sell" if side == "buy" else "buy", piece)
        held = exchange.customer.held()
        assert 0 <= held[currency] <= exchange.customer.balances[currency]
    assert [order.state for order in exchange.customer.orders.values()] == ["done"]


def test_all_or_nothing() -> None:
    exchange = exchange_of("kraken")
    quoted(exchange)
    shown = sum(lots for _, lots in exchange.books["BTC/USD"].levels("sell", 100))
    listing = exchange.listings["BTC/USD"]
    worst = exchange.books["BTC/USD"].levels("sell", 100)[-1][0]
    for more, state in ((1, "cancelled"), (0, "done")):
        amount, price = listing.amount(shown + more), listing.price(worst)
        order = exchange.place(OrderRequest("BTC/USD", "buy", amount, price, immediate=False, whole=True))
        assert (order.state, order.filled) == (state, amount if state == "done" else 0)


def test_an_account_is_paid_what_the_exchange_lists_since_it_was_opened() -> None:
    journal = ListJournal()
    exchange_of("kraken", journal)
    later = {**opening("kraken"), "BTC": Decimal(9), "ETH": Decimal(20)}
    for _ in range(2):
        grown = SimulatedExchange(Venue("kraken", listings_of("kraken"), NAMES, TickingClock()), later, journal)
        assert grown.customer.balances == {**opening("kraken"), "ETH": Decimal(20)}
    assert [entry.opening for entry in journal.lines] == [opening("kraken"), {"ETH": Decimal(20)}]
