"""The messages about an account's own orders on Coinbase Exchange, beside those for everybody."""

from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from exchanges.ccxt.client import make_exchange
from simulators.matching.simulated_exchange import SimulatedExchange
from tests.simulators.listener import Listener, Message, listening
from tests.simulators.test_coinbaseexchange_stream import PRODUCT, signed, subscribed


@pytest.fixture
async def listener(tmp_path: Path) -> AsyncIterator[Listener]:
    async with listening(tmp_path, "coinbaseexchange", "type") as listener:
        answer = await subscribed(listener, "user", "matches", **signed(listener.outside))
        assert answer["type"] == "subscriptions"
        yield listener


@pytest.fixture
async def client(listener: Listener) -> AsyncIterator[Any]:
    client = make_exchange(listener.outside.config("coinbaseexchange"))
    try:
        yield client
    finally:
        await client.close()


def exchange_of(listener: Listener) -> SimulatedExchange:
    return listener.outside.world.gateways["coinbaseexchange"].exchange


async def own(listener: Listener, last: str, order_id: str) -> list[Message]:
    """Return the messages about an order up to one of type `last`."""
    while True:
        message = await listener.next("received", "open", "match", "done")
        if message["type"] == last and message.get("order_id") == order_id:
            mine = [row for row in listener.heard if "user_id" in row]
            return [row for row in mine if order_id in (row.get("order_id"), row.get("taker_order_id"))]


async def test_a_resting_order_is_received_opened_and_done(listener: Listener, client: Any) -> None:
    price, _ = listener.outside.best(exchange_of(listener).listings["BTC/USD"].market, "buy")
    order = {"product_id": PRODUCT, "side": "buy", "size": "0.01", "price": str(price - 100)}
    client_oid = "5d2f8a52-0000-4000-8000-000000000001"
    placed = await client.privatePostOrders({**order, "client_oid": client_oid})
    await client.privateDeleteOrdersId({"id": placed["id"]})
    received, opened, done = await own(listener, "done", placed["id"])
    assert [row["type"] for row in (received, opened, done)] == ["received", "open", "done"]
    assert (received["client_oid"], received["order_type"], received["size"]) == (client_oid, "limit", "0.01000000")
    assert Decimal(opened["remaining_size"]) == Decimal("0.01")
    assert (done["reason"], Decimal(done["remaining_size"])) == ("canceled", Decimal("0.01"))
    sequences = [row["sequence"] for row in (received, opened, done)]
    assert sequences == sorted(set(sequences))


async def test_a_fill_is_the_trade_that_everybody_sees(listener: Listener, client: Any) -> None:
    placed = await client.privatePostOrders({"product_id": PRODUCT, "side": "buy", "size": "0.7", "type": "market"})
    rows = await own(listener, "done", placed["id"])
    assert [rows[0]["type"], rows[-1]["type"], rows[-1]["reason"]] == ["received", "done", "filled"]
    sequences = [row["sequence"] for row in rows]
    assert sequences == sorted(set(sequences))
    fills = {row["trade_id"]: row for row in await client.privateGetFills({"order_id": placed["id"]})}
    for match in rows[1:-1]:
        # the side is the maker's, and the account took
        assert (match["type"], match["side"], match["taker_order_id"]) == ("match", "sell", placed["id"])
        assert match["taker_fee_rate"] == "0.0010"
        fill = fills[match["trade_id"]]
        assert (Decimal(fill["price"]), fill["size"]) == (Decimal(match["price"]), match["size"])
    assert sorted(fills) == sorted(row["trade_id"] for row in rows[1:-1])
    public: dict[int, Message] = {}
    while len(public) < len(fills):
        message = await listener.next("match")
        if "user_id" not in message and message["trade_id"] in fills:
            public[message["trade_id"]] = message
    for match in rows[1:-1]:
        seen = public[match["trade_id"]]
        assert {name: match[name] for name in seen} == seen


async def test_the_market_passing_by_makes_the_account_the_maker(listener: Listener, client: Any) -> None:
    price, _ = listener.outside.best(exchange_of(listener).listings["BTC/USD"].market, "buy")
    order = {"product_id": PRODUCT, "side": "buy", "size": "0.01", "price": str(price)}
    placed = await client.privatePostOrders(order)
    while True:
        message = await listener.next("match", "done")
        if message.get("maker_order_id") == placed["id"] and "user_id" in message:
            assert (message["side"], message["maker_fee_rate"]) == ("buy", "0.0000")
            break
    sequences = [row["sequence"] for row in listener.heard if row["type"] == "match" and "user_id" not in row]
    assert sequences == sorted(set(sequences))
