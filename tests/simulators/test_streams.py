"""Books built from the raw streams, which ccxt does not listen to or does not check, equal the exchange's books."""

import json
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from market.instruments.markets import Market
from market.instruments.orders import Side
from tests.exchanges.served import TRADED, Served, served
from tests.simulators.kraken_checksum import checksum

Levels = dict[Decimal, Decimal]
DEADLINE = 20


@pytest.fixture
async def outside(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as running:
        yield running


def standing(outside: Served, market: Market, side: Side, depth: int = 10) -> Levels:
    exchange = outside.world.gateways[market.exchange].exchange
    listing = exchange.listings[market.symbol]
    levels = exchange.books[market.symbol].levels(side, depth)
    return {listing.price(ticks): listing.amount(lots) for ticks, lots in levels}


async def test_an_unsigned_level2_subscribe_is_rejected(outside: Served) -> None:
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{outside.url}/coinbaseexchange/ws") as socket,
    ):
        await socket.send_json({"type": "subscribe", "product_ids": ["BTC-USD"], "channels": ["level2"]})
        answer = await socket.receive_json(timeout=DEADLINE)
    assert (answer["type"], answer["message"]) == ("error", "Failed to subscribe")


async def test_kraken_updates_carry_the_checksum_of_the_book(outside: Served) -> None:
    request = {"method": "subscribe", "params": {"channel": "book", "symbol": ["BTC/USD"], "depth": 10}, "req_id": 1}
    sides: dict[str, dict[str, str]] = {"asks": {}, "bids": {}}
    checked = 0
    async with aiohttp.ClientSession() as session, session.ws_connect(f"{outside.url}/kraken/ws/v2") as socket:
        await socket.send_json(request)
        while checked < 60:
            message = await socket.receive_json(timeout=DEADLINE)
            if message.get("channel") != "book":
                continue
            [row] = message["data"]
            for name, sign in (("asks", 1), ("bids", -1)):
                for level in row[name]:
                    sides[name][f"{level['price']:.1f}"] = f"{level['qty']:.8f}"
                ordered = sorted(sides[name], key=float, reverse=sign < 0)
                kept = [price for price in ordered if float(sides[name][price])][:10]
                sides[name] = {price: sides[name][price] for price in kept}
            assert row["checksum"] == checksum(sides["asks"].items(), sides["bids"].items())
            assert float(next(iter(sides["bids"]))) < float(next(iter(sides["asks"])))
            checked += 1
            outside.round()


async def test_bitflyer_board_rebuilds_from_snapshot_and_changes(outside: Served) -> None:
    market = next(market for market in TRADED if market.exchange == "bitflyer")
    channels = ("lightning_board_snapshot_BTC_JPY", "lightning_board_BTC_JPY")
    book: dict[str, Levels] = {"bids": {}, "asks": {}}
    async with aiohttp.ClientSession() as session, session.ws_connect(f"{outside.url}/bitflyer/ws") as socket:
        for number, channel in enumerate(channels):
            await socket.send_json({"method": "subscribe", "params": {"channel": channel}, "id": number})
        changes = 0
        while changes < 40:
            answer = json.loads((await socket.receive(timeout=DEADLINE)).data, parse_float=Decimal)
            if "params" in answer:
                is_snapshot = answer["params"]["channel"] == channels[0]
                _apply(book, answer["params"]["message"], is_snapshot)
                changes += not is_snapshot
                assert book["bids"] == standing(outside, market, "buy", 100)
                assert book["asks"] == standing(outside, market, "sell", 100)
            # One step, one message: from the second acknowledgement on, each message asks for the next step.
            if answer.get("id") == 1 or changes:
                outside.round()


def _apply(book: dict[str, Levels], message: dict[str, Any], is_snapshot: bool) -> None:
    for name, levels in book.items():
        if is_snapshot:
            levels.clear()
        levels.update({Decimal(row["price"]): Decimal(row["size"]) for row in message[name]})
        for price in [price for price, size in levels.items() if not size]:
            del levels[price]
