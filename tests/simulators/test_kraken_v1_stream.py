"""Kraken's WebSocket v1: arrays with the channel's name, books that are rebuilt by them, orders and their reports."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from market.instruments.orders import Side
from market.money import decimal_of
from tests.simulators.contract.bench import DEADLINE, Bench, opened
from tests.simulators.kraken_checksum import checksum

PAIR = "XBT/USD"


class V1:
    """One connection; everything that came, oldest first."""

    def __init__(self, bench: Bench, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.bench = bench
        self.socket = socket
        self.heard: list[Any] = []

    async def receive(self) -> Any:
        message = json.loads((await self.socket.receive(timeout=DEADLINE)).data)
        self.heard.append(message)
        return message

    async def asked(self, event: str, **fields: object) -> dict[str, Any]:
        """Return the answer to the request."""
        await self.socket.send_json({"event": event, "reqid": 9, **fields})
        while True:
            message = await self.receive()
            if isinstance(message, dict) and message.get("reqid") == 9:
                return message

    async def subscribed(self, name: str, **fields: object) -> dict[str, Any]:
        public = {} if "token" in fields else {"pair": [PAIR]}
        return await self.asked("subscribe", **public, subscription={"name": name, **fields})

    async def next(self, channel: str) -> list[Any]:
        """Return the next message of a channel; the world steps until it comes."""
        found: list[list[Any]] = []

        async def arrived() -> None:
            while not found:
                message = await self.receive()
                if isinstance(message, list) and channel in message:
                    found.append(message)

        await self.bench.stepped_until(arrived)
        return found[0]

    async def token(self) -> str:
        return str((await self.bench.client.privatePostGetWebSocketsToken())["result"]["token"])

    def of(self, channel: str) -> list[dict[str, Any]]:
        """Return the rows of the account's channel that came."""
        messages = [message for message in self.heard if isinstance(message, list) and message[1] == channel]
        return [row for message in messages for row in message[0]]


@asynccontextmanager
async def connected(home: Path, path: str = "/ws") -> AsyncIterator[V1]:
    async with (
        opened("kraken", home) as bench,
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{bench.outside.url}/kraken{path}") as socket,
    ):
        v1 = V1(bench, socket)
        assert (await v1.receive())["event"] == "systemStatus"
        yield v1


@pytest.fixture
async def v1(tmp_path: Path) -> AsyncIterator[V1]:
    async with connected(tmp_path) as v1:
        yield v1


@pytest.mark.parametrize("path", ["/", "/ws", "/ws/"])
async def test_it_answers_at_the_root_too(path: str, tmp_path: Path) -> None:
    async with connected(tmp_path, path) as v1:
        assert await v1.asked("ping") == {"event": "pong", "reqid": 9}


@pytest.mark.parametrize(("name", "channel"), [("ticker", "ticker"), ("trade", "trade"), ("book", "book-10")], ids=str)
async def test_a_subscription_is_acknowledged(v1: V1, name: str, channel: str) -> None:
    answer = await v1.subscribed(name)
    assert (answer["status"], answer["channelName"], answer["pair"]) == ("subscribed", channel, PAIR)
    message = await v1.next(channel)
    assert (message[0], message[-2:]) == (answer["channelID"], [channel, PAIR])
    answer = await v1.asked("unsubscribe", pair=[PAIR], subscription={"name": name})
    assert answer["status"] == "unsubscribed"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"pair": ["XBT/NONE"], "subscription": {"name": "ticker"}}, "Currency pair not supported XBT/NONE"),
        ({"pair": [PAIR], "subscription": {"name": "level9"}}, "Subscription name invalid"),
        ({"pair": [PAIR], "subscription": {"name": "book", "depth": 7}}, "Subscription depth not supported"),
        ({"subscription": {"name": "openOrders", "token": "x"}}, "ESession:Invalid session"),
        ({"subscription": 5}, "Subscription name invalid"),
    ],
    ids=str,
)
async def test_what_cannot_be_subscribed(v1: V1, fields: dict[str, Any], words: str) -> None:
    answer = await v1.asked("subscribe", **fields)
    assert (answer["status"], answer["errorMessage"]) == ("error", words)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"event": []}', '{"event": "dance"}'])
async def test_nonsense_is_answered(v1: V1, text: str) -> None:
    await v1.socket.send_str(text)
    assert (await v1.receive())["event"] == "error"


async def test_the_book_is_rebuilt_from_its_messages(v1: V1) -> None:
    await v1.subscribed("book")
    for _ in range(20):
        await v1.next("book-10")
    # nothing steps any more: the answer comes after all that was published
    await v1.asked("ping")
    (_, snapshot, *_), *updates = [row for row in v1.heard if isinstance(row, list) and row[-2] == "book-10"]
    book = {side: {row[0]: row[1] for row in snapshot[f"{side}s"]} for side in ("a", "b")}
    assert len(updates) >= 19
    for _, *parts, _, _ in updates:
        for side in ("a", "b"):
            for price, amount, _ in (row for part in parts for row in part.get(side, [])):
                book[side].pop(price, None)
                if decimal_of(amount):
                    book[side][price] = amount
            kept = sorted(book[side], key=decimal_of, reverse=side == "b")[:10]
            book[side] = {price: book[side][price] for price in kept}
        assert parts[-1]["c"] == str(checksum(book["a"].items(), book["b"].items()))
    sides: dict[str, Side] = {"a": "sell", "b": "buy"}
    for name, side in sides.items():
        assert {decimal_of(p): decimal_of(a) for p, a in book[name].items()} == v1.bench.standing(side)


async def test_orders_and_their_reports(v1: V1) -> None:
    bench, token = v1.bench, await v1.token()
    for channel in ("openOrders", "ownTrades"):
        assert (await v1.subscribed(channel, token=token))["channelName"] == channel
    order = {"token": token, "pair": PAIR, "type": "buy", "ordertype": "limit", "volume": "0.01", "userref": 7}
    resting = await v1.asked("addOrder", **order, price=str(bench.out_of_reach("buy")))
    assert (resting["event"], resting["status"]) == ("addOrderStatus", "ok")
    assert resting["descr"].startswith("buy 0.01000000 XBTUSD @ limit")
    taking = await v1.asked("addOrder", **order, price=str(bench.best("sell")[0]))
    assert (await v1.asked("cancelOrder", token=token, txid=[resting["txid"]]))["status"] == "ok"
    await v1.asked("ping")
    states = [(name, row["status"]) for rows in v1.of("openOrders") for name, row in rows.items() if "status" in row]
    assert states == [
        *((resting["txid"], state) for state in ("pending", "open")),
        *((taking["txid"], state) for state in ("pending", "open", "closed")),
        (resting["txid"], "canceled"),
    ]
    assert all(row["userref"] == 7 for rows in v1.of("openOrders") for row in rows.values())
    [(fill_id, trade)] = [item for rows in v1.of("ownTrades") for item in rows.items()]
    [fill] = bench.fills()
    assert (fill_id, trade["ordertxid"], trade["pair"]) == (fill.fill_id, taking["txid"], PAIR)
    assert (decimal_of(trade["vol"]), decimal_of(trade["price"])) == (Decimal("0.01"), fill.price)
    sequences = [message[2]["sequence"] for message in v1.heard if isinstance(message, list) and len(message) == 3]
    assert sequences[:2] == [1, 1]


@pytest.mark.parametrize(
    ("event", "fields", "words"),
    [
        ("addOrder", {"pair": PAIR, "type": "buy", "ordertype": "market", "volume": "0"}, "EGeneral:Invalid"),
        ("addOrder", {"pair": "XBT/NONE", "type": "buy", "ordertype": "market", "volume": "1"}, "Unknown asset"),
        ("cancelOrder", {"txid": ["OAAAAA-AAAAA-AAAAAA"]}, "EOrder:Unknown order"),
        ("addOrder", {"token": "x"}, "ESession:Invalid session"),
        ("cancelOrder", {"txid": 5}, "EGeneral:Invalid arguments:txid"),
    ],
    ids=str,
)
async def test_what_is_rejected(v1: V1, event: str, fields: dict[str, Any], words: str) -> None:
    answer = await v1.asked(event, **{"token": await v1.token(), **fields})
    assert (answer["event"], answer["status"]) == (f"{event}Status", "error")
    assert words in answer["errorMessage"]
    assert not v1.bench.exchange.customer.open_orders()


async def test_all_orders_are_cancelled(v1: V1) -> None:
    token = await v1.token()
    for _ in range(2):
        await v1.bench.post("buy", Decimal("0.01"), v1.bench.out_of_reach("buy"))
    assert (await v1.asked("cancelAll", token=token))["count"] == 2
    assert not v1.bench.exchange.customer.open_orders()
