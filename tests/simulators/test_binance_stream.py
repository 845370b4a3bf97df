"""Binance's streams frame by frame: answers to subscribing, update ids without a gap, the account's own events."""

import hashlib
import hmac
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path

import pytest

from exchanges.credentials import load_credentials
from market.money import decimal_of
from runtime.clock import wall_now
from simulators.binance.stream import PendingDepth
from simulators.matching.order_records import OrderRequest
from simulators.matching.simulated_exchange import SimulatedExchange
from tests.simulators.listener import Listener, Message, listening
from tests.simulators.wire_recordings import answer, has_shape, recorded

Levels = dict[Decimal, Decimal]


class Ear(Listener):
    """Binance's messages share no field: answers have an id, events an `e`, wrapped ones their stream."""

    @property
    def exchange(self) -> SimulatedExchange:
        return self.outside.world.gateways["binance"].exchange

    async def answer_to(self, question: object) -> Message:
        """Return the answer, without messages that came before it."""
        await self.socket.send_json(question)
        return await self.having("id")

    async def having(self, field: str, value: object = None) -> Message:
        """Return the next message that has a field, of that value if one is given."""
        while True:
            message = await self.received()
            if field in message and value in (None, message[field]):
                return message

    async def depth(self) -> Message:
        address = f"{self.outside.url}/binance/api/v3/depth?symbol=BTCUSDT&limit=1000"
        async with self.session.get(address) as response:
            snapshot: Message = await response.json()
            return snapshot

    def standing(self) -> tuple[Levels, Levels]:
        listing, book = self.exchange.listings["BTC/USDT"], self.exchange.books["BTC/USDT"]
        bids, asks = (
            {listing.price(ticks): listing.amount(lots) for ticks, lots in book.levels(side, 1_000)}
            for side in ("buy", "sell")
        )
        return bids, asks


@asynccontextmanager
async def hearing(home: Path, path: str = "/ws") -> AsyncIterator[Ear]:
    async with listening(home, "binance", "e", path) as listener:
        yield Ear(listener.session, listener.socket, listener.outside, "e")


@pytest.fixture
async def ear(tmp_path: Path) -> AsyncIterator[Ear]:
    async with hearing(tmp_path) as ear:
        yield ear


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ({"method": "SUBSCRIBE", "params": ["btcusdt@trade"], "id": 1}, {"result": None, "id": 1}),
        # a market that there is not is taken in silence
        ({"method": "SUBSCRIBE", "params": ["nobody@trade"], "id": 2}, {"result": None, "id": 2}),
        ({"method": "LIST_SUBSCRIPTIONS", "id": "three"}, {"result": [], "id": "three"}),
        ({"method": "UNSUBSCRIBE", "params": ["btcusdt@trade"], "id": 4}, {"result": None, "id": 4}),
        (
            {"method": "SUBSCRIBE", "params": ["btcusdt@everything"], "id": 5},
            {"error": {"code": 2, "msg": "Invalid request: invalid stream"}, "id": 5},
        ),
        (
            {"method": "SUBSCRIBE", "params": "btcusdt@trade", "id": 6},
            {"error": {"code": 2, "msg": "Invalid request: invalid stream"}, "id": 6},
        ),
        (
            {"method": "LOGIN", "id": 7},
            {
                "error": {
                    "code": 2,
                    "msg": "Invalid request: unknown variant `LOGIN`, expected one of "
                    "`SUBSCRIBE`, `UNSUBSCRIBE`, `LIST_SUBSCRIPTIONS`",
                },
                "id": 7,
            },
        ),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_answers(ear: Ear, question: Message, said: Message) -> None:
    assert await ear.answer_to(question) == said


async def test_what_is_no_json_is_said_so(ear: Ear) -> None:
    await ear.socket.send_str("{")
    assert (await ear.having("error"))["error"]["code"] == 3


async def test_what_was_subscribed_is_listed_until_it_is_not(ear: Ear) -> None:
    streams = ["btcusdt@depth@100ms", "btcusdt@trade"]
    await ear.answer_to({"method": "SUBSCRIBE", "params": streams, "id": 1})
    assert (await ear.answer_to({"method": "LIST_SUBSCRIPTIONS", "id": 2}))["result"] == streams
    await ear.answer_to({"method": "UNSUBSCRIBE", "params": streams[:1], "id": 3})
    assert (await ear.answer_to({"method": "LIST_SUBSCRIPTIONS", "id": 4}))["result"] == streams[1:]


async def test_the_last_change_of_a_market_that_becomes_quiet_leaves_with_the_next_beat(ear: Ear) -> None:
    world = ear.outside.world
    await ear.answer_to({"method": "SUBSCRIBE", "params": ["btcusdt@depth@100ms"], "id": 1})
    # a round of all exchanges each; not all of these changes can fill whole messages
    for rounds in (1, 1, 2):
        for _ in range(rounds * len(world.gateways)):
            world.step()
        world.gateways["binance"].beat()
        last = (await ear.depth())["lastUpdateId"]
        update = await ear.having("e", "depthUpdate")
        while update["u"] < last:
            update = await ear.having("e", "depthUpdate")
        assert update["u"] == last


@pytest.mark.parametrize("stream", ["depth@100ms", "depth"])
async def test_update_ids_leave_no_gap_and_the_book_is_rebuilt(ear: Ear, stream: str) -> None:
    """As the exchange's own docs require: buffer, fetch, drop what is old, then U is always the last u + 1."""
    await ear.answer_to({"method": "SUBSCRIBE", "params": [f"btcusdt@{stream}"], "id": 1})
    first = await ear.having("e", "depthUpdate")
    snapshot = await ear.depth()
    last = snapshot["lastUpdateId"]
    assert first["u"] <= last
    bids, asks = ({decimal_of(price): decimal_of(size) for price, size in snapshot[side]} for side in ("bids", "asks"))
    for count in range(12):
        update = await ear.having("e", "depthUpdate")
        assert update["U"] <= last + 1 <= update["u"] if count == 0 else update["U"] == last + 1
        assert update["u"] >= update["U"]
        last = update["u"]
        for levels, name in ((bids, "b"), (asks, "a")):
            levels.update({decimal_of(price): decimal_of(size) for price, size in update[name]})
        bids, asks = ({price: size for price, size in levels.items() if size} for levels in (bids, asks))
        assert max(bids) < min(asks)
    assert (bids, asks) == ear.standing()


async def test_what_a_customer_changes_before_a_step_is_no_gap(ear: Ear) -> None:
    """The snapshot has it already, and the next update has it again."""
    await ear.answer_to({"method": "SUBSCRIBE", "params": ["btcusdt@depth@100ms"], "id": 1})
    await ear.having("e", "depthUpdate")
    price = Decimal(40_000)
    request = OrderRequest("BTC/USDT", "buy", Decimal("0.5"), price, immediate=False)
    ear.exchange.place(request)
    snapshot = await ear.depth()
    assert ["40000.00000000", "0.50000000"] in snapshot["bids"]
    update = await ear.having("e", "depthUpdate")
    while ["40000.00000000", "0.50000000"] not in update["b"]:
        update = await ear.having("e", "depthUpdate")
    assert update["u"] > snapshot["lastUpdateId"]


def test_levels_that_change_twice_are_reported_once() -> None:
    pending = PendingDepth()
    pending.add(7, [("buy", 100, 5), ("sell", 101, 6)])
    pending.add(9, [("buy", 100, 0)])
    assert pending.drain() == (7, [("buy", 100, 0), ("sell", 101, 6)])
    pending.add(10, [("buy", 99, 1)])
    assert pending.drain() == (10, [("buy", 99, 1)])
    assert pending.drain()[1] == []


async def test_messages_have_the_shape_of_recorded_ones(tmp_path: Path) -> None:
    kinds = {"depthUpdate": "depth@100ms", "aggTrade": "aggTrade"}
    real = {row["data"]["e"]: row for row in recorded("BINANCE.ws.1.0") if row.get("data", {}).get("e") in kinds}
    streams = "/".join(f"btcusdt@{stream}" for stream in kinds.values())
    async with hearing(tmp_path, f"/stream?streams={streams}") as ear:
        for event, message in real.items():
            said = await ear.having("stream", f"btcusdt@{kinds[event]}")
            assert has_shape(said, message)
    assert set(real) == set(kinds)


async def test_tickers_have_the_shape_of_recorded_ones(tmp_path: Path) -> None:
    recording = answer("xchange-stream-binance/testTickerEvent.json")
    async with hearing(tmp_path, "/stream?streams=btcusdt@ticker") as ear:
        said = await ear.having("stream", "btcusdt@ticker")
        while said["data"]["n"] == 0:
            said = await ear.having("stream", "btcusdt@ticker")
    assert has_shape(said, recording)


async def test_an_address_may_name_the_stream(tmp_path: Path) -> None:
    async with hearing(tmp_path, "/ws/btcusdt@bookTicker") as ear:
        said = [await ear.having("B") for _ in range(5)]
    assert {tuple(row) for row in said} == {("u", "s", "b", "B", "a", "A")}
    ids = [row["u"] for row in said]
    assert ids == sorted(set(ids))
    assert all(decimal_of(row["b"]) < decimal_of(row["a"]) for row in said)


async def test_the_mini_ticker_has_no_best_prices(ear: Ear) -> None:
    await ear.answer_to({"method": "SUBSCRIBE", "params": ["btcusdt@miniTicker"], "id": 1})
    assert set(await ear.having("e", "24hrMiniTicker")) == {"e", "E", "s", "c", "o", "h", "l", "v", "q"}


async def test_trades_say_who_made(ear: Ear) -> None:
    await ear.answer_to({"method": "SUBSCRIBE", "params": ["btcusdt@trade", "btcusdt@aggTrade"], "id": 1})
    said = [await ear.having("e", "trade") for _ in range(3)]
    tape = {trade.number: trade for trade in ear.exchange.tape.newest("BTC/USDT", 1_000)}
    for row in said:
        trade = tape[row["t"]]
        assert (decimal_of(row["p"]), decimal_of(row["q"])) == (trade.price, trade.amount)
        assert row["m"] == (trade.side == "sell")


def signed(ear: Ear, secret: str | None = None, **fields: object) -> Message:
    """Return a subscribe to the account's stream."""
    keys = load_credentials(ear.outside.home, "binance")
    parameters = {"apiKey": keys.api_key, "timestamp": wall_now() // 1_000, **fields}
    text = "&".join(f"{name}={parameters[name]}" for name in sorted(parameters))
    parameters["signature"] = hmac.digest((secret or keys.secret).encode(), text.encode(), hashlib.sha256).hex()
    return {"id": "s", "method": "userDataStream.subscribe.signature", "params": parameters}


@pytest.fixture
async def caller(tmp_path: Path) -> AsyncIterator[Ear]:
    async with hearing(tmp_path, "/ws-api/v3") as caller:
        yield caller


async def test_the_accounts_stream_reports_each_step_and_what_it_leaves(caller: Ear) -> None:
    said = await caller.answer_to(signed(caller))
    assert (said["status"], said["result"]) == (200, {"subscriptionId": 0})
    exchange = caller.exchange
    listing, book = exchange.listings["BTC/USDT"], exchange.books["BTC/USDT"]
    (first, first_lots), (second, _) = book.levels("sell", 2)
    amount = listing.amount(first_lots + 1_000)
    request = OrderRequest("BTC/USDT", "buy", amount, listing.price(second), immediate=False, client_order_id="mine")
    order = exchange.place(request)
    events = [(await caller.having("subscriptionId", 0))["event"] for _ in range(6)]
    reports = [event for event in events if event["e"] == "executionReport"]
    assert [(row["x"], row["X"]) for row in reports] == [
        ("NEW", "NEW"),
        ("TRADE", "PARTIALLY_FILLED"),
        ("TRADE", "FILLED"),
    ]
    assert {(row["i"], row["c"]) for row in reports} == {(int(order.order_id), "mine")}
    fills = exchange.customer.fills_of(order.order_id)
    for row, fill in zip(reports[1:], fills, strict=True):
        assert (decimal_of(row["l"]), decimal_of(row["L"])) == (fill.amount, fill.price)
        assert (decimal_of(row["n"]), row["N"], row["t"]) == (fill.fee, "BTC", fill.number)
    assert decimal_of(reports[1]["Z"]) == fills[0].cost == listing.cost(first, first_lots)
    assert decimal_of(reports[2]["Z"]) == fills[0].cost + fills[1].cost
    position = [event for event in events if event["e"] == "outboundAccountPosition"][-1]
    left = {row["a"]: decimal_of(row["f"]) + decimal_of(row["l"]) for row in position["B"]}
    assert left == {name: exchange.customer.balances[name] for name in ("BTC", "USDT")}


async def test_the_end_of_an_order_says_who_ended_it(caller: Ear) -> None:
    await caller.answer_to(signed(caller))
    price = Decimal(40_000)
    for immediate, state in ((True, "EXPIRED"), (False, "CANCELED")):
        order = caller.exchange.place(OrderRequest("BTC/USDT", "buy", Decimal("0.01"), price, immediate=immediate))
        if not immediate:
            caller.exchange.cancel(order.order_id)
        events = [(await caller.having("subscriptionId", 0))["event"] for _ in range(4)]
        reports = [(row["x"], row["X"]) for row in events if row["e"] == "executionReport"]
        assert reports == [("NEW", "NEW"), (state, state)]


async def test_nobody_else_receives_messages_of_the_account(caller: Ear) -> None:
    for question, status, code in (
        (signed(caller, secret="not the secret"), 400, -1022),
        (signed(caller, apiKey="somebody"), 401, -2015),
        (signed(caller, timestamp=1), 400, -1021),
        ({"id": 1, "method": "order.place"}, 401, -2014),
        ({"id": 1, "method": "order.list.place"}, 400, -32601),
    ):
        said = await caller.answer_to(question)
        assert (said["status"], said["error"]["code"]) == (status, code)
    caller.exchange.place(OrderRequest("BTC/USDT", "buy", Decimal("0.01"), Decimal(40_000), immediate=True))
    assert "subscriptionId" not in await caller.answer_to({"id": 2, "method": "ping"})
    assert "serverTime" in (await caller.answer_to({"id": 3, "method": "time"}))["result"]


async def test_one_subscription_a_connection(caller: Ear) -> None:
    await caller.answer_to(signed(caller))
    assert (await caller.answer_to(signed(caller)))["error"]["code"] == -2035
    await caller.answer_to({"id": 1, "method": "userDataStream.unsubscribe"})
    assert (await caller.answer_to(signed(caller)))["status"] == 200
