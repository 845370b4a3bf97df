"""The simulated Coinbase Advanced's stream: numbers of messages, books, tickers, trades and the account's orders."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import aiohttp
import jwt
import pytest

from tests.simulators.visitor import DEADLINE, Visitor, visiting
from tests.simulators.wire_clients import WIRE_CLIENTS

[WIRE] = [wire for wire in WIRE_CLIENTS if wire.exchange == "coinbase"]
BEAT_TURNS = 30


@dataclass
class Line:
    """One connection, whose messages are numbered one by one."""

    visitor: Visitor
    socket: aiohttp.ClientWebSocketResponse
    numbers: list[int] = field(default_factory=list)

    async def send(self, kind: str, channel: str, *products: str, **fields: str) -> None:
        await self.socket.send_str(json.dumps({"type": kind, "channel": channel, "product_ids": products, **fields}))

    async def next(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads((await self.socket.receive(timeout=DEADLINE)).data)
        if "sequence_num" in message:
            self.numbers.append(message["sequence_num"])
        return message

    async def event(self, channel: str) -> dict[str, Any]:
        """Return the event of the next message of a channel."""
        while (message := await self.next())["channel"] != channel:
            pass
        [event] = message["events"]
        found: dict[str, Any] = event
        return found

    def token(self, seconds: int = 0) -> str:
        keys, now = self.visitor.keys, self.visitor.clock.now() // 1_000_000 + seconds
        claims = {"iss": "cdp", "sub": keys.api_key, "nbf": now, "exp": now + 120}
        return jwt.encode(claims, keys.secret, algorithm="ES256", headers={"kid": keys.api_key})


@pytest.fixture
async def line(tmp_path: Path) -> AsyncIterator[Line]:
    async with visiting(tmp_path, WIRE) as visitor, connected(visitor) as line:
        yield line


@asynccontextmanager
async def connected(visitor: Visitor) -> AsyncIterator[Line]:
    async with visitor.session.ws_connect(f"{visitor.outside.url}/coinbase/ws") as socket:
        yield Line(visitor, socket)


async def test_a_book_begins_whole_and_changes_level_by_level(line: Line) -> None:
    await line.send("subscribe", "level2", "BTC-USD")
    assert (await line.event("subscriptions"))["subscriptions"] == {"level2": ["BTC-USD"]}
    snapshot = await line.event("l2_data")
    assert (snapshot["type"], snapshot["product_id"]) == ("snapshot", "BTC-USD")
    sides: dict[str, dict[str, str]] = {"bid": {}, "offer": {}}
    changes = 0
    for row in snapshot["updates"]:
        sides[row["side"]][row["price_level"]] = row["new_quantity"]
    for _ in range(5):
        line.visitor.rounds(1)
        update = await line.event("l2_data")
        assert update["type"] == "update"
        changes += len(update["updates"])
        for row in update["updates"]:
            sides[row["side"]][row["price_level"]] = row["new_quantity"]
    assert changes
    book, listing = line.visitor.exchange.books["BTC/USD"], line.visitor.exchange.listings["BTC/USD"]
    for side, name in (("buy", "bid"), ("sell", "offer")):
        standing = {listing.price(ticks): listing.amount(lots) for ticks, lots in book.levels(side, 1_000)}  # type: ignore[arg-type]
        shown = {Decimal(price): Decimal(amount) for price, amount in sides[name].items()}
        assert {price: amount for price, amount in shown.items() if amount} == standing


async def test_each_connection_counts_all_its_messages(line: Line) -> None:
    async with connected(line.visitor) as other:
        for one in (line, other):
            await one.send("subscribe", "heartbeats")
            await one.send("subscribe", "level2", "BTC-USD", "ETH-USD")
            await one.event("subscriptions")
        line.visitor.rounds(BEAT_TURNS)
        for one in (line, other):
            for _ in range(2):
                assert (await one.event("heartbeats"))["heartbeat_counter"] > 0 or one.numbers
                line.visitor.rounds(BEAT_TURNS)
            assert one.numbers == list(range(len(one.numbers)))
            assert len(one.numbers) > 5


async def test_a_channel_that_was_left_is_silent(line: Line) -> None:
    await line.send("subscribe", "level2", "BTC-USD", "ETH-USD")
    await line.send("unsubscribe", "level2", "BTC-USD")
    for _ in range(2):
        said = await line.event("subscriptions")
    assert said["subscriptions"] == {"level2": ["ETH-USD"]}
    await line.send("unsubscribe", "level2")
    assert (await line.event("subscriptions"))["subscriptions"] == {}


async def test_trades_and_the_ticker_follow_the_tape(line: Line) -> None:
    await line.send("subscribe", "market_trades", "BTC-USD")
    await line.send("subscribe", "ticker", "BTC-USD")
    for _ in range(2):
        await line.event("subscriptions")
    tape = line.visitor.exchange.tape
    before = {trade.number for trade in tape.newest("BTC/USD", 100)}
    while {trade.number for trade in tape.newest("BTC/USD", 100)} == before:
        line.visitor.rounds(1)
    newest = tape.newest("BTC/USD", 1)[0]
    while (event := await line.event("market_trades"))["type"] != "update":
        pass
    assert (event["trades"][0]["trade_id"], event["trades"][0]["side"]) == (str(newest.number), newest.side.upper())
    ticker = (await line.event("ticker"))["tickers"][0]
    assert Decimal(ticker["price"]) == newest.price
    assert Decimal(ticker["best_bid"]) < Decimal(ticker["best_ask"])


async def test_the_accounts_orders_are_told_to_who_signs(line: Line) -> None:
    for token in ("", "a.b.c", line.token(-200)):
        await line.send("subscribe", "user", jwt=token)
        assert await line.next() == {"type": "error", "message": "authentication failure"}
    await line.send("subscribe", "user", jwt=line.token())
    assert (await line.event("subscriptions"))["subscriptions"] == {"user": ["user"]}
    assert await line.event("user") == {"type": "snapshot", "orders": []}
    await line.visitor.bought("0.04")
    rows = [(await line.event("user"))["orders"][0]]
    while rows[-1]["status"] == "OPEN":
        rows += (await line.event("user"))["orders"]
    assert (rows[0]["status"], rows[0]["cumulative_quantity"], rows[0]["leaves_quantity"]) == ("OPEN", "0", "0.04")
    assert (rows[-1]["status"], rows[-1]["cumulative_quantity"]) == ("FILLED", "0.04")
    assert rows[-1]["order_side"] == "BUY"


@pytest.mark.parametrize(
    ("kind", "channel", "products", "said"),
    [
        ("subscribe", "level3", ["BTC-USD"], "level3 is not a valid channel"),
        ("subscribe", "level2", ["XYZ-USD"], "invalid product_ids"),
        ("subscribe", "level2", [], "product_ids is required"),
        ("listen", "level2", ["BTC-USD"], "type must be subscribe or unsubscribe"),
    ],
)
async def test_what_it_does_not_know(line: Line, kind: str, channel: str, products: list[str], said: str) -> None:
    await line.send(kind, channel, *products)
    assert await line.next() == {"type": "error", "message": said}
