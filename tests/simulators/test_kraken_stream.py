"""Kraken's WebSocket v2 frame by frame: public channels, the account's own, and what it rejects."""

from collections.abc import AsyncIterator, Sequence
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import ccxt
import pytest

from exchanges.ccxt.client import make_exchange
from market.money import decimal_of
from simulators.matching.listings import Listing
from simulators.matching.order_records import SimulatedFill
from simulators.matching.simulated_exchange import SimulatedExchange
from tests.simulators.listener import NO_REQUESTS, Listener, Message, listening

SYMBOL = "BTC/USD"


@pytest.fixture
async def listener(tmp_path: Path) -> AsyncIterator[Listener]:
    async with listening(tmp_path, "kraken", "channel", "/ws/v2") as listener:
        [status] = (await listener.next("status"))["data"]
        assert (status["system"], status["api_version"]) == ("online", "v2")
        yield listener


@pytest.fixture
async def client(listener: Listener) -> AsyncIterator[Any]:
    client = make_exchange(listener.outside.config("kraken"))
    try:
        yield client
    finally:
        await client.close()


def exchange_of(listener: Listener) -> SimulatedExchange:
    return listener.outside.world.gateways["kraken"].exchange


def listing_of(listener: Listener) -> Listing:
    return exchange_of(listener).listings[SYMBOL]


async def answered(listener: Listener, method: str, **parameters: Any) -> Message:
    """Return the answer to a request, matched by its number."""
    await listener.socket.send_json({"method": method, "params": parameters, "req_id": 7})
    while True:
        message = await listener.next(None)
        if message.get("req_id") == 7:
            return message


async def subscribed(listener: Listener, channel: str, **parameters: Any) -> Message:
    """Return the acknowledgement's result."""
    message = await answered(listener, "subscribe", channel=channel, **parameters)
    assert (message["success"], message["method"]) == (True, "subscribe")
    assert {"time_in", "time_out"} <= set(message)
    result: Message = message["result"]
    return result


async def test_trades_as_everybody_sees_them(listener: Listener) -> None:
    result = await subscribed(listener, "trade", symbol=[SYMBOL], snapshot=True)
    assert result == {"channel": "trade", "symbol": SYMBOL, "snapshot": True}
    assert (await listener.next("trade"))["type"] == "snapshot"
    message = await listener.next("trade")
    tape = {trade.number: trade for trade in exchange_of(listener).tape.newest(SYMBOL, 1_000)}
    assert message["type"] == "update"
    for row in message["data"]:
        trade = tape[row["trade_id"]]
        assert (row["symbol"], row["side"]) == (SYMBOL, trade.side)
        assert (decimal_of(row["price"]), decimal_of(row["qty"])) == (trade.price, trade.amount)


@pytest.mark.parametrize("trigger", ["trades", "bbo"])
async def test_a_ticker_comes_with_trades_or_with_new_best_prices(listener: Listener, trigger: str) -> None:
    await subscribed(listener, "ticker", symbol=[SYMBOL], event_trigger=trigger)
    assert (await listener.next("ticker"))["type"] == "snapshot"
    await subscribed(listener, "trade", symbol=[SYMBOL])
    seen = len(listener.heard)
    while sum(row.get("channel") == "trade" for row in listener.heard[seen:]) < 3:
        await listener.next("ticker", "trade")
    rows = [row["data"][0] for row in listener.heard[seen:] if row.get("channel") == "ticker"]
    for row in rows:
        assert row["low"] <= row["last"] <= row["high"]
        assert row["bid"] < row["ask"]
    if trigger == "bbo":
        best = [tuple(row[name] for name in ("bid", "bid_qty", "ask", "ask_qty")) for row in rows]
        assert all(before != after for before, after in pairwise(best))
        assert len(rows) > 3
    else:
        assert len(rows) == 3


async def test_heartbeats_begin_with_the_first_subscription(listener: Listener) -> None:
    for _ in range(60):
        listener.outside.round()
    await subscribed(listener, "trade", symbol=[SYMBOL])
    assert not [row for row in listener.heard if row.get("channel") == "heartbeat"]
    assert await listener.next("heartbeat") == {"channel": "heartbeat"}


async def test_a_ping_is_answered(listener: Listener) -> None:
    message = await answered(listener, "ping")
    assert (message["method"], message["req_id"]) == ("pong", 7)


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"channel": "nothing", "symbol": [SYMBOL]}, "Subscription name invalid"),
        ({"channel": "book", "symbol": SYMBOL}, "Pair field must be an array"),
        ({"channel": "book", "symbol": ["DOGE/MARS"]}, "Currency pair not supported DOGE/MARS"),
        ({"channel": "book", "symbol": [SYMBOL], "depth": 11}, "Subscription depth not supported"),
        ({"channel": "trade", "symbol": [SYMBOL], "depth": 10}, "Subscription object unsupported field"),
        ({"channel": "executions", "token": "nobody's"}, "ESession:Invalid session"),
        ({"channel": "balances"}, "ESession:Invalid session"),
        ({"channel": "executions", "symbol": [SYMBOL]}, "Subscription object unsupported field"),
    ],
)
async def test_what_it_says_no_to(listener: Listener, parameters: Message, text: str) -> None:
    message = await answered(listener, "subscribe", **parameters)
    assert (message["success"], message["error"]) == (False, text)


async def test_what_is_subscribed_to_comes_once_and_ends_when_asked_to(listener: Listener) -> None:
    asked = {"channel": "book", "symbol": [SYMBOL], "depth": 25}
    assert (await answered(listener, "subscribe", **asked))["success"]
    assert (await answered(listener, "subscribe", **asked))["error"] == "Already subscribed"
    assert (await answered(listener, "unsubscribe", **asked))["success"]
    assert (await answered(listener, "unsubscribe", **asked))["error"] == "Subscription Not Found"
    before = len(listener.heard)
    await subscribed(listener, "trade", symbol=[SYMBOL])
    await listener.next("trade")
    assert not [row for row in listener.heard[before:] if row.get("channel") == "book"]


async def test_the_account_receives_its_orders_and_every_entry(listener: Listener, client: Any) -> None:
    """An order that rests and goes, one that fills in pieces: each message counted, money to the digit."""
    exchange, market = exchange_of(listener), listing_of(listener).market
    price, _ = listener.outside.best(market, "buy")
    standing = await client.create_order(SYMBOL, "limit", "buy", 0.01, float(price - 1_000))
    token = (await client.privatePostGetWebSocketsToken())["result"]["token"]
    result = await subscribed(listener, "executions", token=token, snap_trades=True)
    assert (result["snap_orders"], result["snap_trades"]) == (True, True)
    [row] = (await listener.next("executions"))["data"]
    assert (row["order_id"], row["exec_type"], row["order_qty"]) == (standing["id"], "new", 0.01)
    assert (await listener.next("executions"))["data"] == []
    await subscribed(listener, "balances", token=token)
    opening = {row["asset"]: decimal_of(row["balance"]) for row in (await listener.next("balances"))["data"]}
    assert opening == exchange.customer.balances

    await client.cancel_order(standing["id"])
    _, shown = listener.outside.best(market, "sell")
    placed = await client.create_order(SYMBOL, "market", "buy", float(shown * 2), None, {"clientOrderId": "mine"})
    rows: list[Message] = []
    while not rows or rows[-1]["exec_type"] != "filled":
        [row] = (await listener.next("executions"))["data"]
        rows.append(row)

    cancelled, pending, new, *trades, filled = rows
    assert (cancelled["exec_type"], cancelled["reason"], "symbol" in cancelled) == ("canceled", "User requested", False)
    assert (pending["exec_type"], pending["symbol"], pending["cl_ord_id"]) == ("pending_new", SYMBOL, "mine")
    assert (new["exec_type"], new["order_id"], "symbol" in new) == ("new", placed["id"], False)
    fills = exchange.customer.fills_of(placed["id"])
    assert len(fills) >= 2
    _are_the_fills(trades, fills)
    assert (decimal_of(filled["cum_qty"]), filled["order_status"]) == (shown * 2, "filled")
    counted = [row["sequence"] for row in listener.heard if row.get("channel") == "executions"]
    assert counted == list(range(1, len(counted) + 1))
    await _entries_follow(listener, opening, len(fills))


def _are_the_fills(trades: Sequence[Message], fills: Sequence[SimulatedFill]) -> None:
    for row, fill in zip(trades, fills, strict=True):
        assert (row["exec_type"], row["order_status"]) == ("trade", "partially_filled")
        assert (row["exec_id"], row["trade_id"], row["liquidity_ind"]) == (fill.fill_id, fill.number, "t")
        assert [decimal_of(row[name]) for name in ("last_price", "last_qty", "cost")] == [
            fill.price,
            fill.amount,
            fill.cost,
        ]
        [fee] = row["fees"]
        assert (fee["asset"], decimal_of(fee["qty"])) == (fill.fee_currency, fill.fee)


async def _entries_follow(listener: Listener, opening: dict[str, Decimal], fills: int) -> None:
    """Check that each entry's balance is the one before with its amount and without its fee."""
    entries = [row for message in listener.heard if message.get("channel") == "balances" for row in message["data"]]
    entries = [row for row in entries if "ledger_id" in row]
    assert len(entries) == 2 * fills
    assert len({row["ledger_id"] for row in entries}) == len(entries)
    balances = dict(opening)
    for row in entries:
        balances[row["asset"]] += decimal_of(row["amount"]) - decimal_of(row["fee"])
        assert decimal_of(row["balance"]) == balances[row["asset"]]
    assert balances == exchange_of(listener).customer.balances


async def test_who_wants_no_status_receives_beginnings_and_ends_only(listener: Listener, client: Any) -> None:
    token = (await client.privatePostGetWebSocketsToken())["result"]["token"]
    await subscribed(listener, "executions", token=token, order_status=False, snap_orders=False)
    await client.create_order(SYMBOL, "market", "sell", 0.01)
    kinds = [(await listener.next("executions"))["data"][0]["exec_type"] for _ in range(2)]
    assert kinds == ["new", "filled"]


NONSENSE = (
    *NO_REQUESTS,
    '{"method": "subscribe", "params": {"channel": "book", "symbol": [{}], "depth": []}}',
    '{"method": "subscribe", "params": {"channel": "ticker", "symbol": [1], "event_trigger": {}}}',
    '{"method": "subscribe", "params": {"channel": "executions", "token": []}, "req_id": {}}',
)


async def test_nonsense_ends_no_conversation(listener: Listener) -> None:
    for text in NONSENSE:
        await listener.socket.send_str(text)
    message = await answered(listener, "ping")
    assert message["method"] == "pong"
    assert sum(row.get("success") is False for row in listener.heard) == len(NONSENSE)


async def test_orders_over_the_socket_are_those_of_rest(listener: Listener, client: Any) -> None:
    """ccxt's own calls, and what they get if an order is not taken."""
    customer = exchange_of(listener).customer
    bid, _ = listener.outside.best(listing_of(listener).market, "buy")
    names = []
    for number in range(3):
        order = await client.create_order_ws(
            SYMBOL, "limit", "buy", 0.01, float(bid) - 500, {"clientOrderId": f"mine-{number}"}
        )
        names.append(order["id"])
    assert [order.client_order_id for order in customer.open_orders()] == ["mine-0", "mine-1", "mine-2"]
    await client.cancel_order_ws(names[0])
    with pytest.raises(ccxt.OrderNotFound):
        await client.cancel_order_ws(names[0])
    assert (await client.cancel_all_orders_ws())["result"]["count"] == 2
    assert customer.open_orders() == []
    _, shown = listener.outside.best(listing_of(listener).market, "sell")
    placed = await client.create_order_ws(
        SYMBOL, "limit", "buy", float(shown + 1), float(bid) + 50, {"timeInForce": "IOC"}
    )
    assert customer.order(placed["id"]).filled >= shown
    assert customer.open_orders() == []
    for amount, text in ((900, "EOrder:Insufficient funds"), (0.00001, "EOrder:Order minimum not met")):
        with pytest.raises(ccxt.ExchangeError, match=text):
            await client.create_order_ws(SYMBOL, "limit", "buy", amount, float(bid))


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"post_only": "true"}, "EGeneral:Invalid arguments:post_only"),
        ({"cl_ord_id": None}, "EGeneral:Invalid arguments:cl_ord_id"),
        ({}, "EOrder:Insufficient funds"),
        ({"symbol": "XBT/USD"}, "EQuery:Unknown asset pair"),
        ({"deadline": "soon"}, "EGeneral:Invalid arguments:deadline"),
        ({"token": "nobody's"}, "ESession:Invalid session"),
        ({"post_only": True, "limit_price": 10**6}, "EOrder:Post only order"),
    ],
)
async def test_orders_that_the_socket_does_not_take(
    listener: Listener, client: Any, fields: Message, text: str
) -> None:
    token = (await client.privatePostGetWebSocketsToken())["result"]["token"]
    order = {"symbol": SYMBOL, "side": "buy", "order_type": "limit", "order_qty": 1_000, "limit_price": 30_000}
    message = await answered(listener, "add_order", **{**order, "token": token, **fields})
    assert (message["success"], message["error"], message["method"]) == (False, text, "add_order")
    assert exchange_of(listener).customer.orders == {}
