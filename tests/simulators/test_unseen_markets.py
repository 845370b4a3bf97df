"""Markets that nobody looks at are put off; whenever somebody does look, they are as if they had never been put off."""

import re
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from decimal import Decimal
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
import pytest

from session.simulated_market import MarketName
from simulators.market.chosen_market import ChosenMarket
from simulators.matching.candles import MINUTE
from simulators.matching.listings import Listing
from simulators.matching.order_records import OrderRequest, Trigger
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.server import STEP_SECONDS, ExchangesOptions, SimulatedExchanges
from tests.exchanges.served import Served, served
from tests.exchanges.stepped_clock import SteppedClock
from tests.simulators.visitor import Reader

NAMES = ("bitflyer", "kraken")
ROUNDS = 260
"""Rounds in which each market that nobody looks at moves at least twice."""
COINS = ("ETH", "SOL", "XRP", "ADA", "DOGE", "LTC")
Place = tuple[SimulatedExchange, str]
Looks = Callable[[int, list[Place]], Iterable[Place]]
"""(round, all markets) → those that are looked at in it."""


def at_once(_number: int, places: list[Place]) -> Iterable[Place]:
    return places


def never(_number: int, _places: list[Place]) -> Iterable[Place]:
    return ()


def backwards(number: int, places: list[Place]) -> Iterable[Place]:
    return places[::-1] if number == ROUNDS // 2 else ()


def now_and_then(number: int, places: list[Place]) -> Iterable[Place]:
    return Random(number).sample(places, 1) if number % 5 == 0 else ()


def stepped(home: Path, market: MarketName, looks: Looks) -> SimulatedExchanges:
    """Run ROUNDS, in which orders were placed on some markets; each world has the same times."""
    clock = SteppedClock(1_800_000_000_000_000)
    options = ExchangesOptions(0, 3, NAMES, is_limited=False, market=ChosenMarket(market), accounts=2)
    world = SimulatedExchanges.open(home, clock, options)
    places = [(row.exchange, symbol) for row in world.gateways.values() for symbol in row.exchange.listings]
    for number in range(ROUNDS):
        for exchange, symbol in looks(number, places):
            exchange.books[symbol].best("buy")
        if number % 50 == 10:
            bought(*places[number * 7 % len(places)])
        for _ in world.gateways:
            world.step()
        clock.advance(STEP_SECONDS)
    return world


def bought(exchange: SimulatedExchange, symbol: str) -> None:
    """Buy a tenth above the price at which the market began."""
    listing = exchange.listings[symbol]
    price = listing.price(int(listing.start_price * 1.1 / float(listing.market.tick_size)))
    exchange.place(OrderRequest(symbol, "buy", listing.market.minimum_amount * 20, price, immediate=True))


def state(world: SimulatedExchanges) -> list[object]:
    """Return all that there is to see, the last market first."""
    rows: list[object] = []
    for gateway in world.gateways.values():
        exchange = gateway.exchange
        for symbol in reversed(exchange.listings):
            trades, candles = exchange.tape.newest(symbol, 1_000), exchange.tape.candles[symbol].traded(MINUTE)
            book = exchange.books[symbol]
            rows.append((symbol, book.levels("buy", 100), book.levels("sell", 100), trades, candles))
        rows.append((exchange.customer.fills, dict(exchange.balances), exchange.venue.next_number()))
    return rows


@pytest.mark.parametrize("market", ["storm", "busy"])
async def test_a_market_is_the_same_whenever_and_in_whatever_order_it_is_looked_at(
    tmp_path: Path, market: MarketName
) -> None:
    seen = stepped(tmp_path / "at_once", market, at_once)
    expected = state(seen)
    assert len(seen.gateways["kraken"].exchange.customer.fills) > 0
    for looks in (never, backwards, now_and_then):
        assert state(stepped(tmp_path / looks.__name__, market, looks)) == expected


async def test_a_market_is_made_when_somebody_looks_at_it_and_no_other_with_it(tmp_path: Path) -> None:
    clock = SteppedClock()
    world = SimulatedExchanges.open(tmp_path, clock, ExchangesOptions(0, 1, ("kraken",)))
    exchange = world.gateways["kraken"].exchange
    steps = exchange.venue.steps
    unseen = {symbol for symbol, row in exchange.listings.items() if row.market.base in COINS}
    assert {symbol for symbol in unseen if steps.may_put_off(symbol)} == unseen
    assert exchange.books["SOL/USD"].levels("buy", 100)
    assert {symbol for symbol in unseen if steps.may_put_off(symbol)} == unseen - {"SOL/USD"}


async def test_a_market_with_open_orders_is_not_put_off_after_a_restart(tmp_path: Path) -> None:
    clock, options = SteppedClock(), ExchangesOptions(0, 1, ("kraken",))
    exchange = SimulatedExchanges.open(tmp_path, clock, options).gateways["kraken"].exchange
    limit, far = Decimal(2_000), Decimal(4_000)
    exchange.place(OrderRequest("ETH/USD", "buy", Decimal(1), limit, immediate=False))
    exchange.place(OrderRequest("BCH/USD", "buy", Decimal(1), far, immediate=False, trigger=Trigger(far, rises=True)))
    again = SimulatedExchanges.open(tmp_path, clock, options).gateways["kraken"].exchange
    assert not again.venue.steps.may_put_off("ETH/USD")
    assert not again.venue.steps.may_put_off("BCH/USD")
    assert again.venue.steps.may_put_off("SOL/USD")


@dataclass(frozen=True)
class Wire:
    """What shows one market of an exchange; `{}` is its own name of it."""

    exchange: str
    paths: tuple[str, ...]
    subscribe: Callable[[str], dict[str, Any]]
    stream: str = "/ws"


WIRES = (
    Wire(
        "coinbaseexchange",
        tuple(f"/products/{{}}/{name}" for name in ("stats", "book?level=2", "ticker", "trades", "candles")),
        lambda name: {"type": "subscribe", "product_ids": [name], "channels": ["matches", "ticker", "heartbeat"]},
    ),
    Wire(
        "bitstamp",
        (
            *("/api/v2/order_book/{}/", "/api/v2/ticker/{}/", "/api/v2/transactions/{}/"),
            "/api/v2/ohlc/{}/?step=60&limit=10",
        ),
        lambda name: {"event": "bts:subscribe", "data": {"channel": f"diff_order_book_{name}"}},
    ),
    Wire(
        "bitflyer",
        tuple(f"/v1/{name}?product_code={{}}" for name in ("getticker", "getboard", "getexecutions")),
        lambda name: {"id": 1, "method": "subscribe", "params": {"channel": f"lightning_board_{name}"}},
    ),
    Wire(
        "kraken",
        tuple(f"/0/public/{name}?pair={{}}" for name in ("Ticker", "Depth", "Trades", "OHLC")),
        lambda name: {"method": "subscribe", "params": {"channel": "ticker", "symbol": [name], "event_trigger": "bbo"}},
        "/ws/v2",
    ),
    Wire(
        "binance",
        tuple(f"/api/v3/{name}symbol={{}}" for name in ("depth?", "ticker/24hr?", "trades?", "klines?interval=1m&")),
        lambda name: {"method": "SUBSCRIBE", "params": [f"{name.lower()}@depth"], "id": 1},
    ),
    Wire(
        "bybit",
        tuple(
            f"/v5/market/{name}category=spot&symbol={{}}"
            for name in ("orderbook?limit=50&", "tickers?", "recent-trade?", "kline?interval=1&")
        ),
        lambda name: {"op": "subscribe", "args": [f"orderbook.50.{name}"]},
        "/v5/public/spot",
    ),
    Wire(
        "okx",
        tuple(f"/api/v5/market/{name}?instId={{}}" for name in ("books", "ticker", "trades", "candles")),
        lambda name: {"op": "subscribe", "args": [{"channel": "books", "instId": name}]},
        "/ws/v5/public",
    ),
    Wire(
        "coinbase",
        (
            "/api/v3/brokerage/market/product_book?product_id={}",
            "/api/v3/brokerage/market/products/{}",
            "/api/v3/brokerage/market/products/{}/ticker",
        ),
        lambda name: {"type": "subscribe", "channel": "level2", "product_ids": [name]},
    ),
)
_NAMES_LINE = re.compile("connection_id|conn_id|connId")
EACH = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.exchange)


@dataclass
class Outside:
    """Two worlds that are alike; in the first one every market was looked at from the beginning."""

    worlds: list[Served]
    clock: SteppedClock
    http: aiohttp.ClientSession
    wire: Wire

    @classmethod
    async def opened(cls, home: Path, wire: Wire, stack: AsyncExitStack) -> "Outside":
        clock = SteppedClock()
        worlds = [
            await stack.enter_async_context(served(home / name, clock=clock, only=(wire.exchange,)))
            for name in ("seen", "unseen")
        ]
        exchange = worlds[0].world.gateways[wire.exchange].exchange
        for symbol in exchange.listings:
            exchange.books[symbol].best("buy")
        return cls(worlds, clock, await stack.enter_async_context(aiohttp.ClientSession()), wire)

    def listings(self, bases: Iterable[str] = COINS) -> list[Listing]:
        rows = self.worlds[0].world.gateways[self.wire.exchange].exchange.listings.values()
        return [row for row in rows if row.market.base in bases]

    def rounds(self, count: int, seconds: float = STEP_SECONDS) -> None:
        """Run rounds; `seconds`: between two of them."""
        for _ in range(count):
            for outside in self.worlds:
                outside.round()
            self.clock.advance(seconds)

    async def answers(self, listing: Listing, paths: Iterable[str]) -> list[list[object]]:
        """Return the answers of each world."""
        urls = [f"{outside.url}/{self.wire.exchange}" for outside in self.worlds]
        return [[await self._answer(url + path.format(listing.market_id)) for path in paths] for url in urls]

    async def _answer(self, url: str) -> object:
        async with self.http.get(url) as response:
            assert response.status == 200, await response.text()
            return await response.json()


@EACH
async def test_every_answer_is_the_same_whatever_is_asked_first(tmp_path: Path, wire: Wire) -> None:
    async with AsyncExitStack() as stack:
        outside = await Outside.opened(tmp_path, wire, stack)
        firsts = cycle(range(len(wire.paths)))
        for listing in outside.listings():
            first = next(firsts)
            seen, unseen = await outside.answers(listing, wire.paths[first:] + wire.paths[:first])
            assert unseen == seen
            outside.rounds(2)


@pytest.mark.parametrize("wire", WIRES[1:3], ids=lambda wire: wire.exchange)
async def test_what_all_markets_count_goes_on_without_those_that_nobody_looks_at(tmp_path: Path, wire: Wire) -> None:
    async with AsyncExitStack() as stack:
        outside = await Outside.opened(tmp_path, wire, stack)
        # a stamp is the time, or one more than the last one
        outside.rounds(ROUNDS, seconds=0)
        bitcoin, *_ = outside.listings(("BTC",))
        seen, unseen = await outside.answers(bitcoin, wire.paths)
        assert unseen == seen


@EACH
async def test_a_client_that_subscribes_hears_the_same(tmp_path: Path, wire: Wire) -> None:
    """A market that nobody has seen anything of; the same, while the first client listens; and another, later."""
    async with AsyncExitStack() as stack:
        outside = await Outside.opened(tmp_path, wire, stack)
        readers: list[list[Reader]] = [[] for _ in outside.worlds]
        heard: list[list[str | bytes]] = [[] for _ in outside.worlds]
        one, another, *_ = outside.listings()
        for listing in (one, one, another):
            name = listing.market.symbol if wire.exchange == "kraken" else listing.market_id
            for world, own in zip(outside.worlds, readers, strict=True):
                url = f"{world.url}/{wire.exchange}{wire.stream}"
                socket = await stack.enter_async_context(outside.http.ws_connect(url))
                await socket.send_json(wire.subscribe(name))
                own.append(Reader(socket))
            for _ in range(4):
                for own, frames in zip(readers, heard, strict=True):
                    frames += [
                        frame for reader in own for frame in await reader.said() if not _NAMES_LINE.search(str(frame))
                    ]
                outside.rounds(20)
        seen, unseen = heard
        assert unseen == seen
        assert len(seen) > 5
