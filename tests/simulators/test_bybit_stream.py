"""The simulated Bybit's streams: topics, books of several depths, tickers and trades, and the account's events."""

import hmac
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from market.instruments.orders import Side
from tests.simulators.visitor import DEADLINE, Visitor, visiting
from tests.simulators.wire_clients import WIRE_CLIENTS

[WIRE] = [wire for wire in WIRE_CLIENTS if wire.exchange == "bybit"]


@dataclass
class Line:
    """One connection, whose messages are asked for one by one."""

    visitor: Visitor
    socket: aiohttp.ClientWebSocketResponse

    async def asked(self, **request: object) -> dict[str, Any]:
        await self.socket.send_str(json.dumps(request))
        return await self.next()

    async def next(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads((await self.socket.receive(timeout=DEADLINE)).data)
        return message

    async def heard(self) -> list[dict[str, Any]]:
        """Return all messages since the last one, which ends with a ping: it is answered last."""
        message, messages = await self.asked(op="ping"), []
        while message.get("ret_msg") != "pong":
            messages.append(message)
            message = await self.next()
        return messages

    async def signed_for(self, late_ms: int = 1_000) -> dict[str, Any]:
        expires = self.visitor.clock.now() // 1_000 + late_ms
        keys = self.visitor.keys
        signature = hmac.digest(keys.secret.encode(), f"GET/realtime{expires}".encode(), "sha256").hex()
        return await self.asked(op="auth", args=[keys.api_key, expires, signature])


@asynccontextmanager
async def line(home: Path, path: str) -> AsyncIterator[Line]:
    async with visiting(home, WIRE) as visitor:
        url = f"{visitor.outside.url}/bybit{path}"
        async with visitor.session.ws_connect(url) as socket:
            yield Line(visitor, socket)


async def test_a_topic_begins_with_the_whole_book_and_goes_on_by_changes(tmp_path: Path) -> None:
    async with line(tmp_path, "/v5/public/spot") as one:
        answer = await one.asked(op="subscribe", args=["orderbook.50.BTCUSDT"], req_id="7")
        assert (answer["success"], answer["ret_msg"], answer["req_id"], answer["op"]) == (
            *(True, "subscribe", "7"),
            "subscribe",
        )
        snapshot = await one.next()
        assert (snapshot["topic"], snapshot["type"]) == ("orderbook.50.BTCUSDT", "snapshot")
        bids, asks = (dict(snapshot["data"][name]) for name in ("b", "a"))
        last = snapshot["data"]["u"]
        for _ in range(30):
            one.visitor.rounds(1)
            for change in await one.heard():
                assert (change["type"], change["data"]["u"]) == ("delta", last + 1)
                last = change["data"]["u"]
                bids, asks = with_changes(bids, change["data"]["b"]), with_changes(asks, change["data"]["a"])
            assert (bids, asks) == (standing(one, "buy"), standing(one, "sell"))
        assert last > snapshot["data"]["u"]


def with_changes(side: dict[str, str], changes: list[tuple[str, str]]) -> dict[str, str]:
    return {price: amount for price, amount in {**side, **dict(changes)}.items() if amount != "0"}


def standing(one: Line, side: Side) -> dict[str, str]:
    exchange = one.visitor.exchange
    listing, levels = exchange.listings["BTC/USDT"], exchange.books["BTC/USDT"].levels(side, 50)
    return {listing.price_text(ticks): listing.amount_text(lots) for ticks, lots in levels}


async def test_a_book_of_one_level_is_sent_whole(tmp_path: Path) -> None:
    async with line(tmp_path, "/v5/public/spot") as one:
        await one.asked(op="subscribe", args=["orderbook.1.BTCUSDT"])
        first = await one.next()
        while (second := await stepped(one))["data"] == first["data"]:
            pass
        assert {first["type"], second["type"]} == {"snapshot"}
        assert len(second["data"]["b"]) == len(second["data"]["a"]) == 1


async def stepped(one: Line) -> dict[str, Any]:
    one.visitor.rounds(5)
    return await one.next()


async def test_trades_and_the_ticker_come_with_the_trades(tmp_path: Path) -> None:
    async with line(tmp_path, "/v5/public/spot") as one:
        await one.asked(op="subscribe", args=["publicTrade.BTCUSDT", "tickers.BTCUSDT"])
        assert (await one.next())["topic"] == "tickers.BTCUSDT"
        assert (await one.visitor.bought()).body["retCode"] == 0
        one.visitor.rounds(1)
        trades, ticker = await one.next(), await one.next()
        fill = one.visitor.exchange.customer.fills[0]
        assert trades["topic"] == "publicTrade.BTCUSDT"
        assert (trades["data"][0]["i"], trades["data"][0]["S"]) == (fill.fill_id, "Buy")
        assert (ticker["topic"], ticker["type"]) == ("tickers.BTCUSDT", "snapshot")
        assert float(ticker["data"]["lastPrice"]) == float(trades["data"][-1]["p"])
        assert "bid1Price" not in ticker["data"]


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ({"op": "subscribe", "args": ["orderbook.50.XYZUSDT"]}, "Invalid symbol"),
        ({"op": "subscribe", "args": ["orderbook.7.BTCUSDT"]}, "handler not found"),
        ({"op": "subscribe", "args": [f"orderbook.{depth}.BTCUSDT" for depth in (1, 50, 200) * 4]}, "over the limit"),
        ({"op": "subscribe", "args": []}, "args is invalid"),
        ({"op": "subscribe", "args": [1]}, "args is invalid"),
        ({"op": "order"}, "invalid op"),
    ],
)
async def test_what_cannot_be_subscribed_to(tmp_path: Path, request_: dict[str, object], said: str) -> None:
    async with line(tmp_path, "/v5/public/spot") as one:
        answer = await one.asked(**request_)
        assert (answer["success"], said in answer["ret_msg"]) == (False, True), answer


async def test_who_leaves_a_topic_hears_no_more_of_it(tmp_path: Path) -> None:
    async with line(tmp_path, "/v5/public/spot") as one:
        await one.asked(op="subscribe", args=["orderbook.50.BTCUSDT"])
        await one.next()
        assert (await one.asked(op="unsubscribe", args=["orderbook.50.BTCUSDT"]))["success"]
        one.visitor.rounds(20)
        assert await one.heard() == []


async def test_the_account_is_heard_by_who_signed_for_it(tmp_path: Path) -> None:
    async with line(tmp_path, "/v5/private") as one:
        refused = await one.asked(op="subscribe", args=["order"])
        assert (refused["success"], "not authorized" in refused["ret_msg"]) == (False, True)
        assert not (await one.signed_for(late_ms=0))["success"]
        assert (await one.signed_for())["success"]
        assert (await one.asked(op="ping"))["op"] == "pong"
        assert (await one.asked(op="subscribe", args=["order", "execution", "wallet"]))["success"]
        await one.visitor.bought(amount="0.01")
        opened, wallet, fill = await one.next(), await one.next(), await one.next()
        assert (opened["topic"], opened["data"][0]["orderStatus"]) == ("order", "New")
        assert (wallet["topic"], wallet["data"][0]["accountType"]) == ("wallet", "UNIFIED")
        [row] = fill["data"]
        assert (fill["topic"], row["category"], row["execQty"]) == ("execution", "spot", "0.01")
        ended = await one.next()
        assert (ended["data"][0]["orderStatus"], ended["data"][0]["cumExecQty"]) == ("Filled", "0.01")
        assert ended["data"][0]["cumExecValue"] == row["execValue"]
