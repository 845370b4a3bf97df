"""bitFlyer's Lightstream frame by frame: public channels as recorded, the account's own after signing in."""

import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from exchanges.ccxt.client import make_exchange
from exchanges.credentials import load_credentials
from market.money import decimal_of
from runtime.clock import wall_now
from simulators.matching.simulated_exchange import SimulatedExchange
from tests.simulators.listener import NO_REQUESTS, Listener, Message, listening
from tests.simulators.wire_recordings import has_shape, recorded

EVENTS = "child_order_events"
NONCE = "sixteen-or-more-characters"


@pytest.fixture
async def listener(tmp_path: Path) -> AsyncIterator[Listener]:
    async with listening(tmp_path, "bitflyer", "jsonrpc") as listener:
        yield listener


def exchange_of(listener: Listener) -> SimulatedExchange:
    return listener.outside.world.gateways["bitflyer"].exchange


async def answered(listener: Listener, method: str, **parameters: Any) -> Message:
    await listener.socket.send_json({"jsonrpc": "2.0", "method": method, "params": parameters, "id": 7})
    while True:
        message = await listener.next("2.0")
        if message.get("id") == 7:
            return message


async def subscribed(listener: Listener, channel: str) -> None:
    assert await answered(listener, "subscribe", channel=channel) == {"jsonrpc": "2.0", "id": 7, "result": True}


async def next_message(listener: Listener, channel: str) -> Any:
    """Return the channel's next message."""
    while True:
        message = await listener.next("2.0")
        if message.get("method") == "channelMessage" and message["params"]["channel"] == channel:
            return message["params"]["message"]


def signature(listener: Listener, moment: int, nonce: str = NONCE) -> dict[str, Any]:
    keys = load_credentials(listener.outside.home, "bitflyer")
    signed = hmac.digest(keys.secret.encode(), f"{moment}{nonce}".encode(), hashlib.sha256).hex()
    return {"api_key": keys.api_key, "timestamp": moment, "nonce": nonce, "signature": signed}


async def test_messages_have_the_shape_of_recorded_ones(listener: Listener) -> None:
    kinds = ("lightning_board_snapshot_", "lightning_board_", "lightning_ticker_", "lightning_executions_")
    for kind in kinds:
        await subscribed(listener, f"{kind}BTC_JPY")
    wanted = set(kinds)
    for message in recorded("BITFLYER.ws.1.0"):
        channel = message["params"]["channel"]
        kind = next(kind for kind in kinds if channel.startswith(kind))
        if kind not in wanted:
            continue
        wanted.remove(kind)
        mine = await next_message(listener, f"{kind}BTC_JPY")
        assert has_shape(mine, message["params"]["message"])
        if not wanted:
            break
    assert not wanted


async def test_numbers_and_times_are_written_as_recorded(listener: Listener) -> None:
    """Prices end in .0, and times have seven digits of a second."""
    await subscribed(listener, "lightning_executions_BTC_JPY")
    text = ""
    while not text:
        listener.outside.round()
        with suppress(TimeoutError):
            text = (await listener.socket.receive(timeout=0.005)).data
    message = json.loads(text, parse_float=str, parse_int=str)["params"]["message"]
    trades = {str(2_500_000_000 + trade.number): trade for trade in exchange_of(listener).tape.newest("BTC/JPY", 99)}
    for row in message:
        trade = trades[row["id"]]
        assert row["price"] == f"{trade.price}.0"
        assert Decimal(row["size"]) == trade.amount
        assert "." in row["size"]
        assert len(row["exec_date"]) == len("2021-12-12T23:05:29.9692063Z")


async def test_the_ticker_is_that_of_the_step(listener: Listener) -> None:
    await subscribed(listener, "lightning_ticker_BTC_JPY")
    ticks = []
    for _ in range(5):
        row = await next_message(listener, "lightning_ticker_BTC_JPY")
        assert row["best_bid"] < row["best_ask"]
        assert row["total_bid_depth"] >= row["best_bid_size"]
        ticks.append(row["tick_id"])
    assert ticks == sorted(set(ticks))


@pytest.mark.parametrize(
    ("method", "parameters", "code"),
    [
        ("subscribe", {"channel": "lightning_board_BTC_MARS"}, -32602),
        ("subscribe", {"channel": "lightning_board_BTC_JPY", "depth": 10}, -32602),
        ("subscribe", {}, -32602),
        ("dance", {}, -32601),
        ("subscribe", {"channel": EVENTS}, -32000),
        ("auth", {"api_key": "key"}, -32602),
    ],
)
async def test_what_it_says_no_to(listener: Listener, method: str, parameters: Message, code: int) -> None:
    assert (await answered(listener, method, **parameters))["error"]["code"] == code


@pytest.mark.parametrize("fault", ["signature", "api_key", "late", "short"])
async def test_who_cannot_sign_in_receives_nothing_of_the_account(listener: Listener, fault: str) -> None:
    moment = wall_now() // 1_000 - (3_600_000 if fault == "late" else 0)
    parameters = signature(listener, moment, "short" if fault == "short" else NONCE)
    if fault in parameters:
        parameters[fault] = "wrong"
    assert "error" in await answered(listener, "auth", **parameters)
    assert "error" in await answered(listener, "subscribe", channel=EVENTS)


async def test_the_account_receives_what_becomes_of_its_orders(listener: Listener) -> None:
    assert (await answered(listener, "auth", **signature(listener, wall_now() // 1_000)))["result"] is True
    await subscribed(listener, EVENTS)
    market = exchange_of(listener).listings["BTC/JPY"].market
    (price, shown), (bid, _) = listener.outside.best(market, "sell"), listener.outside.best(market, "buy")
    client = make_exchange(listener.outside.config("bitflyer"))
    try:
        resting = await client.create_order("BTC/JPY", "limit", "buy", 0.01, int(bid) - 50_000)
        await client.cancel_order(resting["id"], "BTC/JPY")
        taking = await client.create_order(
            "BTC/JPY", "limit", "buy", float(shown + 1), int(price), {"time_in_force": "IOC"}
        )
        killed = await client.create_order(
            "BTC/JPY", "limit", "buy", float(shown + 1), int(price), {"time_in_force": "FOK"}
        )
    finally:
        await client.close()
    rows = [(await next_message(listener, EVENTS))[0] for _ in range(7)]
    assert [(row["event_type"], row["child_order_acceptance_id"]) for row in rows] == [
        ("ORDER", resting["id"]),
        ("CANCEL", resting["id"]),
        ("ORDER", taking["id"]),
        ("EXECUTION", taking["id"]),
        ("EXPIRE", taking["id"]),
        ("ORDER", killed["id"]),
        ("EXPIRE", killed["id"]),
    ]
    [fill] = exchange_of(listener).customer.fills
    execution = rows[3]
    assert (execution["exec_id"], decimal_of(execution["price"])) == (int(fill.fill_id), fill.price)
    assert (decimal_of(execution["size"]), decimal_of(execution["commission"])) == (fill.amount, fill.fee)
    assert decimal_of(execution["outstanding_size"]) == 1
    assert {row["product_code"] for row in rows} == {"BTC_JPY"}


NONSENSE = (
    *NO_REQUESTS,
    '{"method": "auth", "params": {"api_key": [], "timestamp": "x", "nonce": {}, "signature": 1}}',
    '{"method": "auth", "params": {"api_key": [], "timestamp": 1e400, "nonce": {}, "signature": 1}}',
)


async def test_nonsense_ends_no_conversation(listener: Listener) -> None:
    for text in NONSENSE:
        await listener.socket.send_str(text)
    await subscribed(listener, "lightning_board_BTC_JPY")
    assert sum("error" in row for row in listener.heard) == len(NONSENSE)
