"""The simulated OKX's streams: channels, books of several depths, tickers and trades, and the account's events."""

import base64
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

[WIRE] = [wire for wire in WIRE_CLIENTS if wire.exchange == "okx"]
PUBLIC, PRIVATE = "/ws/v5/public", "/ws/v5/private"
BOOKS = {"channel": "books", "instId": "BTC-USDT"}


@dataclass
class Line:
    """One connection, whose messages are asked for one by one."""

    visitor: Visitor
    socket: aiohttp.ClientWebSocketResponse

    async def asked(self, operation: str, *arguments: object) -> dict[str, Any]:
        await self.socket.send_str(json.dumps({"op": operation, "args": arguments}))
        return await self.next()

    async def next(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads((await self.socket.receive(timeout=DEADLINE)).data)
        return message

    async def heard(self) -> list[dict[str, Any]]:
        """Return all messages since the last one, which ends with a ping: it is answered last, and by no JSON."""
        await self.socket.send_str("ping")
        messages: list[dict[str, Any]] = []
        while (text := (await self.socket.receive(timeout=DEADLINE)).data) != "pong":
            messages.append(json.loads(text))
        return messages

    async def signed_for(self, late: int = 0, **spoilt: str) -> dict[str, Any]:
        keys, seconds = self.visitor.keys, str(self.visitor.clock.now() // 1_000_000 - late)
        signature = hmac.digest(keys.secret.encode(), f"{seconds}GET/users/self/verify".encode(), "sha256")
        told = {"apiKey": keys.api_key, "passphrase": keys.password, "timestamp": seconds}
        return await self.asked("login", {**told, "sign": base64.b64encode(signature).decode(), **spoilt})


@asynccontextmanager
async def line(home: Path, path: str) -> AsyncIterator[Line]:
    async with visiting(home, WIRE) as visitor:
        url = f"{visitor.outside.url}/okx{path}"
        async with visitor.session.ws_connect(url) as socket:
            yield Line(visitor, socket)


async def test_a_book_begins_whole_and_each_change_names_the_message_before(tmp_path: Path) -> None:
    async with line(tmp_path, PUBLIC) as one:
        answer = await one.asked("subscribe", BOOKS)
        assert (answer["event"], answer["arg"]) == ("subscribe", BOOKS)
        snapshot = await one.next()
        assert (snapshot["arg"], snapshot["action"]) == (BOOKS, "snapshot")
        [row] = snapshot["data"]
        assert (row["prevSeqId"], row["checksum"]) == (-1, 0)
        bids, asks, first = levels_in(row["bids"]), levels_in(row["asks"]), row["seqId"]
        last = first
        for _ in range(30):
            one.visitor.rounds(1)
            for change in await one.heard():
                [row] = change["data"]
                assert (change["action"], row["prevSeqId"]) == ("update", last)
                last = row["seqId"]
                bids, asks = with_changes(bids, row["bids"]), with_changes(asks, row["asks"])
            assert (bids, asks) == (standing(one, "buy"), standing(one, "sell"))
        assert last > first


def levels_in(rows: list[list[str]]) -> dict[str, str]:
    return {price: amount for price, amount, _, _ in rows}


def with_changes(side: dict[str, str], changes: list[list[str]]) -> dict[str, str]:
    return {price: amount for price, amount in {**side, **levels_in(changes)}.items() if amount != "0"}


def standing(one: Line, side: Side, depth: int = 400) -> dict[str, str]:
    exchange = one.visitor.exchange
    listing, levels = exchange.listings["BTC/USDT"], exchange.books["BTC/USDT"].levels(side, depth)
    return {listing.price_text(ticks): listing.amount_text(lots) for ticks, lots in levels}


@pytest.mark.parametrize(("channel", "depth"), [("books5", 5), ("bbo-tbt", 1)])
async def test_small_books_are_sent_whole(tmp_path: Path, channel: str, depth: int) -> None:
    async with line(tmp_path, PUBLIC) as one:
        await one.asked("subscribe", {"channel": channel, "instId": "BTC-USDT"})
        await one.next()
        one.visitor.rounds(1)
        *_, last = await one.heard()
        [row] = last["data"]
        assert "action" not in last
        assert (levels_in(row["bids"]), levels_in(row["asks"])) == (
            *(standing(one, "buy", depth),),
            standing(one, "sell", depth),
        )


async def test_a_still_minute_is_said_without_a_change(tmp_path: Path) -> None:
    async with line(tmp_path, PUBLIC) as one:
        await one.asked("subscribe", BOOKS)
        number = (await one.next())["data"][0]["seqId"]
        gateway = one.visitor.outside.world.gateways["okx"]
        one.visitor.clock.advance(59)
        gateway.beat()
        assert await one.heard() == []
        one.visitor.clock.advance(1)
        gateway.beat()
        gateway.beat()
        [still] = await one.heard()
        [row] = still["data"]
        assert (row["bids"], row["asks"], row["prevSeqId"], row["seqId"]) == ([], [], number, number)


async def test_tickers_and_trades(tmp_path: Path) -> None:
    channels = [{"channel": name, "instId": "BTC-USDT"} for name in ("tickers", "trades")]
    async with line(tmp_path, PUBLIC) as one:
        await one.asked("subscribe", *channels)
        await one.heard()
        await one.visitor.bought()
        one.visitor.rounds(1)
        *traded, ticker = await one.heard()
        assert [message["arg"] for message in (*traded, ticker)] == [*[channels[1]] * len(traded), channels[0]]
        rows, [figures] = [row for message in traded for row in message["data"]], ticker["data"]
        assert (rows[0]["side"], rows[0]["tradeId"]) == ("buy", one.visitor.exchange.customer.fills[0].fill_id)
        assert float(rows[-1]["px"]) == float(figures["last"])
        assert float(figures["bidPx"]) < float(figures["askPx"])


@pytest.mark.parametrize(
    ("request_text", "code"),
    [
        ("{", "60012"),
        ("[]", "60012"),
        ('{"op":"trade"}', "60012"),
        ('{"op":"subscribe"}', "60018"),
        ('{"op":"subscribe","args":[7]}', "60018"),
        ('{"op":"subscribe","args":[{"channel":"books","instId":"XYZ-USDT"}]}', "60018"),
        ('{"op":"subscribe","args":[{"channel":"orders","instType":"SPOT"}]}', "60018"),
    ],
)
async def test_what_cannot_be_subscribed_to(tmp_path: Path, request_text: str, code: str) -> None:
    async with line(tmp_path, PUBLIC) as one:
        await one.socket.send_str(request_text)
        answer = await one.next()
        assert (answer["event"], answer["code"]) == ("error", code)


async def test_who_leaves_a_channel_hears_no_more_of_it(tmp_path: Path) -> None:
    async with line(tmp_path, PUBLIC) as one:
        await one.asked("subscribe", BOOKS)
        await one.heard()
        assert (await one.asked("unsubscribe", BOOKS))["event"] == "unsubscribe"
        one.visitor.rounds(3)
        assert await one.heard() == []
        await one.asked("subscribe", BOOKS)
        assert (await one.next())["action"] == "snapshot"


@pytest.mark.parametrize(
    ("late", "spoilt", "code"),
    [
        (0, {"apiKey": "nobody"}, "60005"),
        (31, {}, "60006"),
        (0, {"timestamp": "now"}, "60006"),
        (0, {"sign": "x"}, "60007"),
        (0, {"passphrase": "x"}, "60024"),
    ],
)
async def test_who_did_not_sign_hears_nothing(tmp_path: Path, late: int, spoilt: dict[str, str], code: str) -> None:
    async with line(tmp_path, PRIVATE) as one:
        assert (await one.signed_for(late, **spoilt))["code"] == code
        assert (await one.asked("subscribe", {"channel": "account"}))["code"] == "60011"


async def test_the_account_is_heard_by_who_signed_for_it(tmp_path: Path) -> None:
    orders = {"channel": "orders", "instType": "SPOT"}
    async with line(tmp_path, PRIVATE) as one:
        assert (await one.signed_for())["event"] == "login"
        assert (await one.asked("subscribe", {"channel": "positions"}))["code"] == "60018"
        await one.asked("subscribe", orders, {"channel": "account"}, {**orders, "instId": "ETH-USDT"})
        await one.heard()
        await one.visitor.bought()
        heard = await one.heard()
        told = [message["data"][0] for message in heard if message["arg"] == {**orders, "uid": "1"}]
        assert [row["state"] for row in told] == ["live", "filled"]
        [fill] = one.visitor.exchange.customer.fills
        assert [row["tradeId"] for row in told] == ["", fill.fill_id]
        assert (float(told[1]["fillFee"]), told[1]["fillFeeCcy"]) == (-float(fill.fee), fill.fee_currency)
        balances = {message["arg"]["channel"] for message in heard} - {"orders"}
        assert balances == {"account"}
