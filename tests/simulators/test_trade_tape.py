"""What a simulated exchange reports of its matches: public trades to all, events of their orders to the customer."""

from decimal import Decimal

from market.money import floor_to_step
from simulators.catalogue import EXCHANGES, terms_of
from simulators.matching.listings import listings_of
from simulators.matching.order_records import OrderRequest, SimulatedAccountEvent
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.matching.trade_tape import KEPT
from simulators.matching.venue import Venue
from tests.simulators.test_simulated_exchange import NAMES, SYMBOLS, ListJournal, TickingClock, exchange_of, quoted

SYMBOL = SYMBOLS["kraken"]


def market_order(side: str, amount: str, price: Decimal | None = None, immediate: bool = True) -> OrderRequest:
    return OrderRequest(SYMBOL, "buy" if side == "buy" else "sell", Decimal(amount), price, immediate)


def test_a_crossing_order_is_opened_filled_and_ended_and_everybody_sees_its_trades() -> None:
    exchange = exchange_of("kraken")
    events: list[SimulatedAccountEvent] = []
    exchange.listen(events.append)
    quoted(exchange)
    order = exchange.place(market_order("buy", "0.5"))
    assert [event.kind for event in events] == ["opened", "filled", "filled", "ended"]
    assert [event.order.filled for event in events] == [0, Decimal("0.30000001"), Decimal("0.5"), Decimal("0.5")]
    fills = [event.fill for event in events if event.fill]
    trades = exchange.tape.newest(SYMBOL, 10)
    assert [(trade.number, trade.price, trade.amount) for trade in reversed(trades)] == [
        (fill.number, fill.price, fill.amount) for fill in fills
    ]
    assert {trade.side for trade in trades} == {"buy"}
    assert events[-1].order == order
    assert exchange.tape.drain(SYMBOL) == trades[::-1]
    assert exchange.tape.drain(SYMBOL) == []


def test_a_resting_order_that_somebody_takes_pays_the_makers_rate() -> None:
    exchange = exchange_of("bitstamp")
    events: list[SimulatedAccountEvent] = []
    exchange.listen(events.append)
    quoted(exchange)
    symbol = SYMBOLS["bitstamp"]
    price = exchange.listings[symbol].price(exchange.books[symbol].best("sell") or 0) - 1
    exchange.place(OrderRequest(symbol, "sell", Decimal("0.1"), price, immediate=False))
    exchange.venue.take(symbol, "buy", 5_000_000)
    [fill] = [event.fill for event in events if event.fill]
    assert fill.liquidity == "maker"
    assert fill.fee == floor_to_step(fill.cost * exchange.tier.maker, Decimal("0.00001")) > 0
    assert exchange.tape.newest(symbol, 1)[0].side == "buy"
    exchange.cancel(events[0].order.order_id)
    assert [event.kind for event in events] == ["opened", "filled", "ended"]
    assert events[-1].order.state == "cancelled"


def test_numbers_do_not_come_again_after_a_restart() -> None:
    journal = ListJournal()
    before = exchange_of("kraken", journal)
    quoted(before)
    before.venue.take(SYMBOL, "buy", 1_000)
    clock = TickingClock(before.clock.now() + 1_000_000)
    after = SimulatedExchange(Venue("kraken", listings_of("kraken"), NAMES, clock), {}, journal)
    quoted(after)
    after.venue.take(SYMBOL, "buy", 1_000)
    assert after.tape.newest(SYMBOL, 1)[0].number > before.tape.newest(SYMBOL, 1)[0].number


def test_the_tape_keeps_the_newest_trades_only() -> None:
    exchange = exchange_of("kraken")
    quoted(exchange)
    for _ in range(KEPT + 5):
        exchange.venue.take(SYMBOL, "buy", 1)
    numbers = [trade.number for trade in exchange.tape.newest(SYMBOL, 5_000)]
    assert len(numbers) == KEPT
    assert numbers == sorted(numbers, reverse=True)


def test_a_volume_is_in_the_highest_tier_that_it_reaches() -> None:
    for terms in map(terms_of, EXCHANGES):
        tiers = terms.tiers
        assert tiers[0].volume == 0
        for tier in tiers:
            assert terms.tier_at(tier.volume) == tier
            assert terms.tier_at(tier.volume + 1) == tier
        assert list(tiers) == sorted(tiers, key=lambda tier: tier.volume)
        assert terms.tier_at(terms.volume) in tiers
