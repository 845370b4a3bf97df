"""What ccxt.pro streams, market and account, is what the simulated exchange has and did."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from market.money import decimal_of
from tests.simulators.contract.abilities import FEES_AS_STREAMED, IMMEDIATE, TICKER, having
from tests.simulators.contract.bench import AMOUNT, DEADLINE, Bench, Levels, Row, assert_trades_equal

Watch = Callable[[str | None], Awaitable[list[Row]]]


@having("watchOrderBook")
async def test_the_book_is_the_one_that_stands(bench: Bench) -> None:
    seen: dict[str, Any] = {}

    async def watch(times: int) -> None:
        for _ in range(times):
            seen.update(await bench.client.watch_order_book(bench.symbol))

    await bench.stepped_until(lambda: watch(25))

    # The world stands still now: what is under way arrives, then both books are the same.
    async with asyncio.timeout(DEADLINE):
        while not _equal(seen, bench):
            waiting = asyncio.ensure_future(watch(1))
            await asyncio.wait([waiting], timeout=0.05)
            if not waiting.done():
                waiting.cancel()
                bench.outside.round()
    rest = await bench.client.fetch_order_book(bench.symbol)
    assert [row[:2] for row in rest["bids"][:10]] == [row[:2] for row in seen["bids"][:10]]
    assert [row[:2] for row in rest["asks"][:10]] == [row[:2] for row in seen["asks"][:10]]


def _equal(seen: dict[str, Any], bench: Bench) -> bool:
    return _levels(seen["bids"]) == bench.standing("buy") and _levels(seen["asks"]) == bench.standing("sell")


def _levels(rows: list[list[float]]) -> Levels:
    return {decimal_of(row[0]): decimal_of(row[1]) for row in rows[:10]}


@having("watchTrades")
async def test_trades_are_those_of_the_tape(bench: Bench) -> None:
    rows: dict[str, Row] = {}

    async def watch() -> None:
        while len(rows) < 3:
            rows.update({str(row["id"]): row for row in await bench.client.watch_trades(bench.symbol)})

    await bench.stepped_until(watch)
    tape = {(trade.side, trade.price, trade.amount) for trade in bench.exchange.tape.newest(bench.symbol, 1_000)}
    for row in rows.values():
        assert row["symbol"] == bench.symbol
        assert (row["side"], decimal_of(row["price"]), decimal_of(row["amount"])) in tape


@having("watchTicker")
async def test_the_ticker_follows_the_book(bench: Bench) -> None:
    """Its best prices and last trade stood at some step; once the world stands still, they are the newest."""
    bench.tick_until(lambda: bool(bench.exchange.tape.newest(bench.symbol, 1)))
    stood = {(bench.best("buy")[0], bench.best("sell")[0])}

    async def watch() -> None:
        for _ in range(3):
            ticker = await bench.client.watch_ticker(bench.symbol, TICKER.get(bench.market.exchange, {}))
            assert (decimal_of(ticker["bid"]), decimal_of(ticker["ask"])) in stood
            assert decimal_of(ticker["last"]) in {
                trade.price for trade in bench.exchange.tape.newest(bench.symbol, 1_000)
            }

    waiting = asyncio.ensure_future(watch())
    async with asyncio.timeout(DEADLINE):
        while not waiting.done():
            bench.outside.round()
            stood.add((bench.best("buy")[0], bench.best("sell")[0]))
            await asyncio.wait([waiting], timeout=0.005)
    await waiting


@having("watchOrders")
async def test_orders_are_reported_from_opening_to_end(bench: Bench) -> None:
    await _listened(bench, bench.client.watch_orders)
    price = bench.out_of_reach("buy")
    order_id = await bench.post("buy", AMOUNT, price)
    row = await _received(bench.client.watch_orders, bench.symbol, lambda row: row["id"] == order_id)
    # ccxt reads no status out of Bitstamp's stream while an order is open
    assert row["status"] in (("open", None) if bench.market.exchange == "bitstamp" else ("open",))
    assert (row["side"], decimal_of(row["price"]), decimal_of(row["amount"])) == ("buy", price, AMOUNT)
    await bench.cancel(order_id)
    # Only the first message of an order on Kraken names its market: ccxt files the later ones under none
    symbol = None if bench.market.exchange == "kraken" else bench.symbol
    await _received(bench.client.watch_orders, symbol, lambda row: (row["id"], row["status"]) == (order_id, "canceled"))
    price, _ = bench.best("sell")
    order_id = await bench.post("buy", AMOUNT, price)
    row = await _received(
        bench.client.watch_orders, symbol, lambda row: (row["id"], row["status"]) == (order_id, "closed")
    )
    assert decimal_of(row["filled"]) == AMOUNT


@having("watchMyTrades")
async def test_the_accounts_trades_are_reported_as_they_are_booked(bench: Bench) -> None:
    rows: dict[str, Row] = {}
    price, shown = bench.best("sell")

    async def watch() -> None:
        while True:
            rows.update({str(row["id"]): row for row in await bench.client.watch_my_trades(bench.symbol)})

    watching = asyncio.ensure_future(watch())
    try:
        async with asyncio.timeout(DEADLINE):
            # Until the stream is there, small trades are sent to nobody.
            while not rows:
                await bench.post("buy", AMOUNT / 10, price, IMMEDIATE[bench.market.exchange])
                await _unless_ended(watching, 0.1)
            unreported = len(bench.fills()) - len(rows)
            order_id = await bench.post("buy", shown, None)
            while {fill.fill_id for fill in bench.fills()[unreported:]} - set(rows):
                await _unless_ended(watching, 0.01)
    finally:
        watching.cancel()
    booked = [fill for fill in bench.fills() if fill.order_id == order_id]
    assert len(booked) >= 2
    own = [row for row in rows.values() if row["order"] == order_id]
    if bench.market.exchange in FEES_AS_STREAMED:
        own = [{**row, "fee": {**row["fee"], "cost": -row["fee"]["cost"]}} for row in own]
    assert_trades_equal(own, booked)


async def _unless_ended(watching: asyncio.Future[None], seconds: float) -> None:
    """Wait for news; a stream that ended says why."""
    await asyncio.wait([watching], timeout=seconds)
    if watching.done():
        watching.result()


async def _listened(bench: Bench, watch: Watch) -> None:
    """Listen, and place orders until one is received: before the stream is there, they are sent to nobody."""
    waiting = asyncio.ensure_future(watch(bench.symbol))
    async with asyncio.timeout(DEADLINE):
        while not waiting.done():
            order_id = await bench.post("sell", AMOUNT, bench.out_of_reach("sell"))
            await asyncio.wait([waiting], timeout=0.1)
            await bench.cancel(order_id)
    await waiting


async def _received(watch: Watch, symbol: str | None, fits: Callable[[Row], bool]) -> Row:
    """Return the next row that fits; None listens to all markets."""
    async with asyncio.timeout(DEADLINE):
        while True:
            for row in await watch(symbol):
                if fits(row):
                    return row
