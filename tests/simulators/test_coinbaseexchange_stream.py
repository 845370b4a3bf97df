"""Coinbase Exchange's stream, frame by frame: shapes, sequence, books, and messages only for the account."""

import base64
import hashlib
import hmac
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path

import pytest

from exchanges.credentials import Credentials, load_credentials
from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from tests.exchanges.served import Served
from tests.simulators.listener import Listener, Message, listening
from tests.simulators.wire_recordings import has_shape, recorded

PRODUCT = "BTC-USD"
BEHIND = 200
"""Messages that may be on their way at most."""
Book = dict[tuple[str, Decimal], Decimal]


@pytest.fixture
async def listener(tmp_path: Path) -> AsyncIterator[Listener]:
    async with listening(tmp_path, "coinbaseexchange", "type") as listener:
        yield listener


async def subscribed(listener: Listener, *channels: str, **fields: object) -> Message:
    """Return the answer to a subscribe."""
    request = {"type": "subscribe", "product_ids": [PRODUCT], "channels": list(channels)} | fields
    return await listener.asked(request, "subscriptions", "error")


def signed(outside: Served, **wrong: str) -> dict[str, str]:
    keys: Credentials = load_credentials(outside.home, "coinbaseexchange")
    timestamp = str(wall_now() // MICROSECONDS)
    digest = hmac.digest(base64.b64decode(keys.secret), f"{timestamp}GET/users/self/verify".encode(), hashlib.sha256)
    fields = {"key": keys.api_key, "passphrase": keys.password, "timestamp": timestamp}
    return fields | {"signature": base64.b64encode(digest).decode()} | wrong


def levels(message: Message) -> Book:
    sides = (("buy", "bids"), ("sell", "asks"))
    return {(side, Decimal(price)): Decimal(size) for side, name in sides for price, size in message[name]}


def standing(outside: Served) -> Book:
    exchange = outside.world.gateways["coinbaseexchange"].exchange
    listing, book = exchange.listings["BTC/USD"], exchange.books["BTC/USD"]
    return {
        (side, listing.price(ticks)): listing.amount(lots)
        for side in ("buy", "sell")
        for ticks, lots in book.levels("buy" if side == "buy" else "sell", 1_000)
    }


def applied(book: Book, update: Message) -> Book:
    for side, price, size in update["changes"]:
        book[(side, Decimal(price))] = Decimal(size)
    return {level: size for level, size in book.items() if size}


async def caught_up(listener: Listener, book: Book) -> Book:
    """Return the book with what is on its way: on a slow machine the world has stepped on already."""
    for _ in range(BEHIND):
        if book != standing(listener.outside):
            book = applied(book, await listener.next("l2update"))
    return book


async def test_snapshot_and_updates_are_the_book(listener: Listener) -> None:
    await subscribed(listener, "level2", **signed(listener.outside))
    book = levels(await listener.next("snapshot"))
    for _ in range(30):
        update = await listener.next("l2update")
        assert update["product_id"] == PRODUCT
        book = applied(book, update)
        assert max(price for side, price in book if side == "buy") < min(p for side, p in book if side == "sell")
    assert await caught_up(listener, book) == standing(listener.outside)


async def test_the_batched_book_needs_no_signature(listener: Listener) -> None:
    await subscribed(listener, "level2_batch")
    book = await caught_up(listener, levels(await listener.next("snapshot")))
    assert book == standing(listener.outside)


async def test_matches_are_numbered_upwards_and_in_one_sequence_with_heartbeats(listener: Listener) -> None:
    exchange = listener.outside.world.gateways["coinbaseexchange"].exchange
    while not exchange.tape.newest("BTC/USD", 1):
        listener.outside.round()
    before = exchange.tape.newest("BTC/USD", 1)[0]
    await subscribed(listener, "matches", "heartbeat")
    last = await listener.next("last_match")
    assert last["trade_id"] == before.number
    numbers, sequences = [last["trade_id"]], [last["sequence"]]
    heartbeats = 0
    while len(numbers) < 12 or heartbeats < 2:
        message = await listener.next("match", "heartbeat")
        if message["type"] == "match":
            numbers.append(message["trade_id"])
            assert message["sequence"] > sequences[-1]
        else:
            heartbeats += 1
            assert message["last_trade_id"] == numbers[-1]
            assert message["sequence"] >= sequences[-1]
        sequences.append(message["sequence"])
    assert numbers == sorted(set(numbers))
    tape = {trade.number: trade for trade in exchange.tape.newest("BTC/USD", 1_000)}
    for match in (message for message in listener.heard if message["type"] == "match"):
        trade = tape[match["trade_id"]]
        assert (Decimal(match["price"]), Decimal(match["size"])) == (trade.price, trade.amount)
        assert match["side"] == ("sell" if trade.side == "buy" else "buy")


async def test_the_ticker_says_the_day_of_the_last_match(listener: Listener) -> None:
    await subscribed(listener, "ticker", "matches")
    prices: list[Decimal] = []
    volume = Decimal(0)
    while len(prices) < 6:
        message = await listener.next("match", "last_match", "ticker")
        if message["type"] != "ticker":
            last = message
            prices.append(Decimal(message["price"]))
            volume += Decimal(message["size"])
            continue
        assert (message["trade_id"], message["sequence"]) == (last["trade_id"], last["sequence"])
        assert (message["price"], message["last_size"]) == (last["price"], last["size"])
        # the match names the maker's side, the ticker the taker's
        assert {message["side"], last["side"]} == {"buy", "sell"}
        assert Decimal(message["low_24h"]) <= min(prices) <= max(prices) <= Decimal(message["high_24h"])
        assert Decimal(message["volume_24h"]) >= volume
        assert Decimal(message["best_bid"]) < Decimal(message["best_ask"])


async def test_messages_have_the_shape_of_recorded_ones(listener: Listener) -> None:
    real = {message["type"]: message for message in recorded("COINBASE.ws.28.0")}
    assert {"snapshot", "l2update", "ticker", "match", "last_match", "subscriptions"} <= set(real)
    listener.outside.world.gateways["coinbaseexchange"].exchange.venue.take("BTC/USD", "buy", 1_000)
    await subscribed(listener, "level2", "ticker", "matches", **signed(listener.outside))
    wanted = set(real)
    while wanted:
        message = listener.heard[-1]
        if message["type"] in wanted:
            assert has_shape(message, real[message["type"]]), message
            wanted.remove(message["type"])
        await listener.next("snapshot", "l2update", "ticker", "match", "last_match")


@pytest.mark.parametrize(
    ("fields", "message", "reason"),
    [
        ({"channels": ["level2"]}, "Failed to subscribe", "now require authentication"),
        ({"channels": ["user"]}, "Failed to subscribe", "now require authentication"),
        (
            {"channels": ["matches"], "product_ids": ["BTC-XYZ"]},
            "Failed to subscribe",
            "BTC-XYZ is not a valid product",
        ),
        ({"channels": ["trades"]}, "Failed to subscribe", "trades is not a valid channel"),
        ({"channels": []}, "Failed to subscribe", "No product_ids or channels provided"),
        ({"channels": ["matches"], "product_ids": []}, "Failed to subscribe", "No product_ids or channels provided"),
        ({"channels": "matches"}, "Failed to subscribe", "channels is not a list"),
        ({"type": "hello"}, "Failed to subscribe", "Type has to be either subscribe or unsubscribe"),
    ],
)
async def test_what_cannot_be_subscribed_to(
    listener: Listener, fields: dict[str, object], message: str, reason: str
) -> None:
    answer = await subscribed(listener, "matches", **fields)
    assert (answer["type"], answer["message"]) == ("error", message)
    assert reason in answer["reason"]
    assert (await subscribed(listener, "matches"))["type"] == "subscriptions"


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"key": "nobody"}, "Invalid API Key"),
        ({"passphrase": "wrong"}, "Invalid Passphrase"),
        ({"signature": "d3Jvbmc="}, "invalid signature"),
        ({"timestamp": "1"}, "request timestamp expired"),
        ({"timestamp": "\u00b2"}, "request timestamp expired"),
        ({"timestamp": "1" * 5_000}, "request timestamp expired"),
    ],
)
async def test_a_wrong_signature_is_rejected(listener: Listener, wrong: dict[str, str], reason: str) -> None:
    answer = await subscribed(listener, "level2", **signed(listener.outside, **wrong))
    assert (answer["message"], answer["reason"]) == ("Authentication Failed", reason)


@pytest.mark.parametrize("text", ["{", "[]", '"subscribe"'])
async def test_text_that_is_no_object_is_answered(listener: Listener, text: str) -> None:
    await listener.socket.send_str(text)
    assert (await listener.next("error"))["message"] == "Malformed JSON"


async def test_products_can_be_named_by_channel_and_channels_left_again(listener: Listener) -> None:
    channels = [{"name": "matches", "product_ids": [PRODUCT]}, "heartbeat"]
    answer = await subscribed(listener, channels=channels)
    assert answer["channels"] == [
        {"name": "heartbeat", "product_ids": [PRODUCT]},
        {"name": "matches", "product_ids": [PRODUCT]},
    ]
    await listener.socket.send_json({"type": "unsubscribe", "channels": ["matches"]})
    answer = await listener.next("subscriptions")
    assert answer["channels"] == [{"name": "heartbeat", "product_ids": [PRODUCT]}]
    await listener.next("heartbeat")
    assert listener.heard[-1]["type"] == "heartbeat"
