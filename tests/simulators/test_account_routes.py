"""Two accounts of one exchange over the wire: the key of a request, or of a connection, says whose it is."""

import asyncio
from asyncio import timeout
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import aiohttp
import ccxt
import pytest

from exchanges.catalogue import own_facts
from exchanges.ccxt.client import make_exchange
from exchanges.credentials import Credentials, load_credentials
from market.instruments.markets import Market
from market.money import floor_to_step
from runtime.clock import wall_now
from simulators.web.account_keys import account_names
from simulators.web.signatures import hex_signature
from tests.exchanges.served import TRADED, Served, served

DEADLINE = 30
AMOUNT = 0.1
WITH_STREAMS = [market for market in TRADED if market.exchange != "bitflyer"]
"""Exchanges that ccxt.pro knows."""
ONE_ADDRESS = [market for market in WITH_STREAMS if market.exchange != "binance"]
"""Exchanges whose public and private channels have one address, so ccxt.pro has one connection for both."""
BITFLYER = next(market for market in TRADED if market.exchange == "bitflyer")


@dataclass(frozen=True)
class Two:
    """The first account's client and the second's, whose nonces count another unit of time."""

    outside: Served
    market: Market
    first: Any
    second: Any

    async def resting(self, client: Any) -> str:
        """Return the id of a new order that does not fill."""
        price = floor_to_step(self.outside.best(self.market, "buy")[0] / 2, self.market.tick_size)
        order = await client.create_order(self.market.symbol, "limit", "buy", AMOUNT, float(price))
        return str(order["id"])

    async def open_ids(self, client: Any) -> list[str]:
        return [str(order["id"]) for order in await client.fetch_open_orders(self.market.symbol)]


@asynccontextmanager
async def two_accounts(home: Path, market: Market, *, is_limited: bool = False) -> AsyncIterator[Two]:
    name = market.exchange
    async with served(home, only=(name,), is_limited=is_limited, accounts=2) as outside:
        config = replace(outside.config(name), is_limited=False)
        other = load_credentials(home, account_names(name, 2)[1])
        clients = [make_exchange(config), make_exchange(replace(config, credentials=other))]
        for client in clients:
            client.options |= own_facts(name).order_quirks.options
        if name == "kraken":
            clients[0].nonce, clients[1].nonce = _milliseconds, wall_now
        try:
            yield Two(outside, market, *clients)
        finally:
            for client in clients:
                await client.close()


async def test_an_account_may_have_a_name_of_its_own(tmp_path: Path) -> None:
    async with served(tmp_path, only=("kraken",), named_accounts={"kraken": ("kraken2",)}) as outside:
        config = replace(outside.config("kraken"), credentials=load_credentials(tmp_path, "kraken2"))
        client = make_exchange(config)
        try:
            assert (await client.fetch_balance())["USD"]["total"] > 0
        finally:
            await client.close()
    assert (tmp_path / "exchanges" / "kraken2.jsonl").exists()


@pytest.mark.parametrize("market", TRADED, ids=lambda market: market.exchange)
async def test_orders_are_seen_and_cancelled_by_their_own_account_only(tmp_path: Path, market: Market) -> None:
    async with two_accounts(tmp_path, market) as two:
        await two.first.load_markets()
        await two.second.load_markets()
        own, others = await two.resting(two.first), await two.resting(two.second)
        assert await two.open_ids(two.first) == [own]
        assert await two.open_ids(two.second) == [others]
        # bitFlyer answers as if it had cancelled, whatever the order
        with suppress(ccxt.ExchangeError):
            await two.second.cancel_order(own, market.symbol)
        await cancel_all(two.second, market)
        assert await two.open_ids(two.second) == []
        assert await two.open_ids(two.first) == [own]


async def test_nonces_of_different_units_do_not_lock_each_other_out(tmp_path: Path) -> None:
    """In one account the smaller unit's nonces would make all of the larger's too small."""
    market = next(market for market in TRADED if market.exchange == "kraken")
    async with two_accounts(tmp_path, market) as two:
        for client in (two.second, two.first, two.second, two.first):
            assert (await client.fetch_balance())["total"]["BTC"] > 0
        two.first.apiKey, two.first.secret = two.second.apiKey, two.second.secret
        with pytest.raises(ccxt.InvalidNonce):
            await two.first.fetch_balance()


@pytest.mark.parametrize("market", TRADED, ids=lambda market: market.exchange)
async def test_balances_are_an_accounts_own(tmp_path: Path, market: Market) -> None:
    async with two_accounts(tmp_path, market) as two:
        await two.first.load_markets()
        price = floor_to_step(two.outside.best(market, "sell")[0] * Decimal("1.05"), market.tick_size)
        await two.first.create_order(market.symbol, "limit", "buy", AMOUNT, float(price))
        first, second = await two.first.fetch_balance(), await two.second.fetch_balance()
        assert first["total"][market.base] > second["total"][market.base]
        assert await two.second.fetch_my_trades(market.symbol) == []


async def test_a_limit_that_one_has_used_up_is_left_to_the_other(tmp_path: Path) -> None:
    market = next(market for market in TRADED if market.exchange == "kraken")
    async with two_accounts(tmp_path, market, is_limited=True) as two:
        with pytest.raises(ccxt.DDoSProtection, match="Rate limit exceeded"):
            await asked_often(two.first)
        assert (await two.second.privatePostBalance())["error"] == []


async def cancel_all(client: Any, market: Market) -> None:
    if market.exchange == "bitflyer":
        # ccxt has no name of its own for it
        await client.privatePostCancelallchildorders({"product_code": "BTC_JPY"})
    elif market.exchange in ("okx", "coinbase"):
        # OKX cancels all of makers under its protection alone, and Coinbase Advanced those that are named
        for order in await client.fetch_open_orders(market.symbol):
            await client.cancel_order(order["id"], market.symbol)
    else:
        await client.cancel_all_orders(market.symbol)


def _milliseconds() -> int:
    return wall_now() // 1_000


async def asked_often(client: Any) -> None:
    for _ in range(30):
        await client.privatePostBalance()


@pytest.mark.parametrize("market", WITH_STREAMS, ids=lambda market: market.exchange)
async def test_a_stream_tells_of_its_own_accounts_orders_only(tmp_path: Path, market: Market) -> None:
    async with two_accounts(tmp_path, market) as two, timeout(DEADLINE):
        await two.second.load_markets()
        await two.first.load_markets()
        watching = asyncio.create_task(two.second.watch_orders(market.symbol))
        subscribers = two.outside.world.accounts_of(market.exchange)[1].subscribers
        # a client may log in before it subscribes: until then its orders are told to nobody
        while not subscribers.symbols(str) - {"signed for"}:
            assert not watching.done(), watching
            await asyncio.wait([watching], timeout=0.01)
        await two.resting(two.first)
        own = await two.resting(two.second)
        assert {str(order["id"]) for order in await watching} == {own}


@pytest.mark.parametrize("market", ONE_ADDRESS, ids=lambda market: market.exchange)
async def test_public_channels_go_on_when_their_connection_shows_a_key(tmp_path: Path, market: Market) -> None:
    async with two_accounts(tmp_path, market) as two, timeout(DEADLINE):
        await two.second.load_markets()
        book = await read_book(two)
        watching = asyncio.create_task(two.second.watch_orders(market.symbol))
        subscribers = two.outside.world.accounts_of(market.exchange)[1].subscribers
        while not subscribers.count:
            await asyncio.wait([watching], timeout=0.01)
        again = await read_book(two)
        assert again["bids"] != book["bids"] or again["asks"] != book["asks"]
        watching.cancel()


async def read_book(two: Two) -> Any:
    """Return what ccxt.pro makes of the next messages of the book."""
    reading = asyncio.create_task(two.second.watch_order_book(two.market.symbol))
    while not reading.done():
        two.outside.round()
        await asyncio.wait([reading], timeout=0.01)
    return {side: list(reading.result()[side]) for side in ("bids", "asks")}


async def test_bitflyers_channel_of_orders_is_the_signed_in_accounts(tmp_path: Path) -> None:
    async with two_accounts(tmp_path, BITFLYER) as two, aiohttp.ClientSession() as session:
        url = f"{two.outside.url}/bitflyer/ws"
        keys = load_credentials(two.outside.home, account_names("bitflyer", 2)[1])
        async with session.ws_connect(url) as socket, timeout(DEADLINE):
            for request in (sign_in(keys), {"method": "subscribe", "params": {"channel": "child_order_events"}}):
                await socket.send_json({"jsonrpc": "2.0", "id": 1, **request})
                assert (await socket.receive_json())["result"] is True
            await two.first.load_markets()
            await two.second.load_markets()
            await two.resting(two.first)
            own = await two.resting(two.second)
            [event] = (await socket.receive_json())["params"]["message"]
            assert event["child_order_acceptance_id"] == own


def sign_in(keys: Credentials) -> dict[str, object]:
    now, nonce = wall_now() // 1_000, "0123456789abcdef"
    signature = hex_signature(keys, f"{now}{nonce}").decode()
    return {
        "method": "auth",
        "params": {"api_key": keys.api_key, "timestamp": now, "nonce": nonce, "signature": signature},
    }


async def test_a_connection_stays_with_the_account_that_it_named_first(tmp_path: Path) -> None:
    async with two_accounts(tmp_path, BITFLYER) as two, aiohttp.ClientSession() as session:
        first, second = (load_credentials(two.outside.home, name) for name in account_names("bitflyer", 2))
        async with session.ws_connect(f"{two.outside.url}/bitflyer/ws") as socket, timeout(DEADLINE):
            answers = []
            for keys in (first, second, first):
                await socket.send_json({"jsonrpc": "2.0", "id": 1, **sign_in(keys)})
                answers.append("result" in await socket.receive_json())
            assert answers == [True, False, True]


@pytest.mark.parametrize("market", TRADED, ids=lambda market: market.exchange)
async def test_a_key_of_no_account_is_rejected(tmp_path: Path, market: Market) -> None:
    async with two_accounts(tmp_path, market) as two:
        two.second.apiKey = "nobody"
        with pytest.raises(ccxt.ExchangeError):
            await two.second.fetch_balance()
