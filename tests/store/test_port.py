"""The contract of the store, on both adapters."""

from decimal import Decimal

from store.port import TradeStore
from tests.store.wishes import OPENING, balances, close, filled, open_books, opportunity, reserve_both, sent, wish


async def test_both_legs_are_reserved_sent_and_booked(store: TradeStore) -> None:
    await open_books(store)
    half = (await store.reserve(wish("buy", "2"))).arbitrage
    assert half is not None
    assert half.state == "half_reserved"
    assert (await balances(store))["alpha", "USD"] == (Decimal("799.8"), Decimal("200.2"))
    arbitrage = (await store.reserve(wish("sell", "1.5"))).arbitrage
    assert arbitrage is not None
    assert (arbitrage.state, arbitrage.amount) == ("reserved", Decimal("1.5"))
    assert (await balances(store))["alpha", "USD"] == (Decimal("849.85"), Decimal("150.15"))
    assert (await balances(store))["beta", "BTC"] == (Decimal("8.5"), Decimal("1.5"))
    buy = await sent(store, "opportunity-1", "buy")
    sell = await sent(store, "opportunity-1", "sell")
    await store.note_sent("opportunity-1", "buy", "order-1")
    assert (await store.finish_leg("opportunity-1", "buy", filled(buy), close)).state == "reserved"
    ended = await store.finish_leg("opportunity-1", "sell", filled(sell), close)
    assert ended.state == "closed"
    assert ended == await store.arbitrage("opportunity-1")
    assert await store.open_arbitrages() == []
    assert await balances(store) == {
        ("alpha", "BTC"): (Decimal("1.5"), Decimal(0)),
        ("alpha", "USD"): (Decimal("849.85"), Decimal(0)),
        ("beta", "BTC"): (Decimal("8.5"), Decimal(0)),
        ("beta", "EUR"): (Decimal("151.3485"), Decimal(0)),
    }
    assert {"event", "detected", "reserved", "sent", "filled", "ended"} == ended.times.keys()
