"""Bitstamp's stream, frame by frame: diffs on top of a REST book, whole books, trades, errors, private channels."""

from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from exchanges.ccxt.client import make_exchange
from exchanges.credentials import load_credentials
from tests.exchanges.served import Served
from tests.simulators.listener import Listener, Message, listening
from tests.simulators.wire_recordings import has_shape, recorded

Book = dict[tuple[str, Decimal], Decimal]
BEHIND = 200
"""Messages that may be on their way at most."""


@pytest.fixture
async def listener(tmp_path: Path) -> AsyncIterator[Listener]:
    async with listening(tmp_path, "bitstamp", "event") as listener:
        yield listener


async def subscribed(listener: Listener, channel: str, **fields: str) -> Message:
    """Return the answer to a subscribe."""
    request = {"event": "bts:subscribe", "data": {"channel": channel, **fields}}
    return await listener.asked(request, "bts:subscription_succeeded", "bts:error")


async def rest_book(listener: Listener) -> Message:
    async with listener.session.get(f"{listener.outside.url}/bitstamp/api/v2/order_book/btceur/") as answer:
        message: Message = await answer.json()
        return message


def applied(book: Book, data: Message) -> Book:
    for side in ("bids", "asks"):
        for price, amount in data[side]:
            book[(side, Decimal(price))] = Decimal(amount)
    return {level: amount for level, amount in book.items() if amount}


def standing(outside: Served) -> Book:
    exchange = outside.world.gateways["bitstamp"].exchange
    listing, book = exchange.listings["BTC/EUR"], exchange.books["BTC/EUR"]
    sides = (("bids", book.levels("buy", 1_000)), ("asks", book.levels("sell", 1_000)))
    return {(side, listing.price(ticks)): listing.amount(lots) for side, levels in sides for ticks, lots in levels}


async def test_a_rest_book_and_the_diffs_after_it_are_the_book(listener: Listener) -> None:
    """Diffs are kept until the book comes; those that are not newer than it are in it."""
    await subscribed(listener, "diff_order_book_btceur")
    early = [(await listener.next("data"))["data"] for _ in range(4)]
    rest = await rest_book(listener)
    assert rest["microtimestamp"] >= early[-1]["microtimestamp"]
    book = applied({}, rest)
    last = int(rest["microtimestamp"])
    for _ in range(40):
        diff = (await listener.next("data"))["data"]
        if int(diff["microtimestamp"]) <= int(rest["microtimestamp"]):
            continue
        assert int(diff["microtimestamp"]) > last
        last = int(diff["microtimestamp"])
        book = applied(book, diff)
    for _ in range(BEHIND):
        if book != standing(listener.outside):
            book = applied(book, (await listener.next("data"))["data"])
    assert book == standing(listener.outside)
    assert int((await rest_book(listener))["microtimestamp"]) >= last


async def test_a_whole_book_comes_with_each_change_and_not_before(listener: Listener) -> None:
    await subscribed(listener, "order_book_btceur")
    assert [message["event"] for message in listener.heard] == ["bts:subscription_succeeded"]
    stamps = []
    for _ in range(5):
        data = (await listener.next("data"))["data"]
        stamps.append(int(data["microtimestamp"]))
        bids = [Decimal(price) for price, _ in data["bids"]]
        asks = [Decimal(price) for price, _ in data["asks"]]
        assert (bids, asks) == (sorted(bids, reverse=True), sorted(asks))
        assert bids[0] < asks[0]
        assert len(bids) <= 100
    assert stamps == sorted(set(stamps))
    # on a slow machine the next books are on their way already
    for _ in range(BEHIND):
        if applied({}, data) != standing(listener.outside):
            data = (await listener.next("data"))["data"]
    assert applied({}, data) == standing(listener.outside)


async def test_trades_are_those_of_the_tape(listener: Listener) -> None:
    await subscribed(listener, "live_trades_btceur")
    exchange = listener.outside.world.gateways["bitstamp"].exchange
    for _ in range(5):
        data = (await listener.next("trade"))["data"]
        tape = {trade.traded_at: trade for trade in exchange.tape.newest("BTC/EUR", 1_000)}
        trade = tape[int(data["microtimestamp"])]
        assert (Decimal(data["amount_str"]), Decimal(data["price_str"])) == (trade.amount, trade.price)
        assert (Decimal(str(data["amount"])), Decimal(str(data["price"]))) == (trade.amount, trade.price)
        assert data["type"] == (0 if trade.side == "buy" else 1)
        assert data["buy_order_id"] != data["sell_order_id"]


async def test_messages_have_the_shape_of_recorded_ones(listener: Listener) -> None:
    real = {message["event"]: message for message in recorded("BITSTAMP.ws.1.0")}
    assert {"data", "trade", "bts:subscription_succeeded"} == set(real)
    for channel in ("diff_order_book_btceur", "live_trades_btceur"):
        assert has_shape(await subscribed(listener, channel), real["bts:subscription_succeeded"])
    for event in ("data", "trade"):
        message = await listener.next(event)
        assert has_shape(message, real[event]), message


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("{", None, "Incorrect JSON format."),
        ("[]", None, "Incorrect JSON format."),
        ("{}", None, "Bad subscription string."),
        ('{"event": "bts:ping"}', None, "Bad subscription string."),
        ('{"event": "bts:subscribe", "data": {}}', None, "Bad subscription string."),
        ('{"event": "bts:subscribe", "data": {"channel": "order_book_BTC/EUR"}}', None, "Invalid channel provided."),
        ('{"event": "bts:subscribe", "data": {"channel": "books_btceur"}}', None, "Invalid channel provided."),
        (
            '{"event": "bts:subscribe", "data": {"channel": "private-my_orders_btceur-1", "auth": "nobody"}}',
            4009,
            "Connection is unauthorized.",
        ),
    ],
)
async def test_what_cannot_be_subscribed_to(listener: Listener, text: str, code: int | None, message: str) -> None:
    await listener.socket.send_str(text)
    answer = await listener.next("bts:error")
    assert answer == {"event": "bts:error", "channel": "", "data": {"code": code, "message": message}}


async def test_a_market_that_does_not_exist_is_subscribed_to_and_says_nothing(listener: Listener) -> None:
    assert (await subscribed(listener, "order_book_fooxyz"))["event"] == "bts:subscription_succeeded"
    await subscribed(listener, "order_book_btceur")
    await listener.next("data")
    assert {message["channel"] for message in listener.heard if message["event"] == "data"} == {"order_book_btceur"}


async def test_heartbeats_are_answered_and_channels_left(listener: Listener) -> None:
    await subscribed(listener, "live_trades_btceur")
    await listener.socket.send_json({"event": "bts:unsubscribe", "data": {"channel": "live_trades_btceur"}})
    await listener.next("bts:unsubscription_succeeded")
    await listener.socket.send_json({"event": "bts:heartbeat"})
    answer = await listener.next("bts:heartbeat")
    assert answer == {"event": "bts:heartbeat", "channel": "", "data": {"status": "success"}}


@pytest.fixture
async def client(listener: Listener) -> AsyncIterator[Any]:
    client = make_exchange(listener.outside.config("bitstamp"))
    try:
        yield client
    finally:
        await client.close()


async def test_a_token_is_good_for_its_own_user_alone(listener: Listener, client: Any) -> None:
    token = await client.privatePostWebsocketsToken()
    user_id = load_credentials(listener.outside.home, "bitstamp").uid
    assert (token["valid_sec"], str(token["user_id"])) == (60, user_id)
    channel = "private-my_orders_btceur"
    assert (await subscribed(listener, f"{channel}-1", auth=token["token"]))["event"] == "bts:error"
    answer = await subscribed(listener, f"{channel}-{user_id}", auth=token["token"])
    assert answer["event"] == "bts:subscription_succeeded"


async def test_an_order_is_reported_step_by_step(listener: Listener, client: Any) -> None:
    token = await client.privatePostWebsocketsToken()
    name = f"btceur-{token['user_id']}"
    for channel in ("private-my_orders", "private-my_trades"):
        await subscribed(listener, f"{channel}_{name}", auth=token["token"])
    exchange = listener.outside.world.gateways["bitstamp"].exchange
    (best, shown), *_ = exchange.books["BTC/EUR"].levels("sell", 1)
    listing = exchange.listings["BTC/EUR"]
    shown_amount = listing.amount(shown)
    order = {"pair": "btceur", "amount": str(shown_amount + Decimal("0.01")), "price": str(listing.price(best))}
    placed = await client.privatePostBuyPair({**order, "client_order_id": "mine"})
    await client.privatePostCancelOrder({"id": placed["id"]})
    await listener.next("order_deleted")
    own = [row for row in listener.heard if row["channel"].startswith("private") and row["event"][:3] != "bts"]
    assert [row["event"] for row in own] == ["order_created", "trade", "order_changed", "order_deleted"]
    created, trade, changed, deleted = (row["data"] for row in own)
    for row, traded in ((created, Decimal(0)), (changed, shown_amount), (deleted, shown_amount)):
        assert (row["id_str"], row["client_order_id"], row["order_type"]) == (placed["id"], "mine", 0)
        assert Decimal(row["amount_traded"]) == traded
        assert Decimal(row["amount_str"]) + traded == Decimal(row["amount_at_create"]) == Decimal(order["amount"])
    assert (trade["order_id"], trade["side"], Decimal(trade["amount"])) == (placed["id"], "buy", shown_amount)
    [fill] = exchange.customer.fills
    assert (str(trade["id"]), Decimal(trade["fee"])) == (fill.fill_id, fill.fee)
