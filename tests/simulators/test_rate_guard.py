"""The simulated exchanges reject clients that ask more than the real ones allow, in their words, and accept those that
waited."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import ccxt
import pytest

from exchanges.ccxt.client import make_exchange, simulated_config
from simulators.web.rate_guard import _BAN_SECONDS, _HARDENED_AFTER
from tests.exchanges.served import Served, served
from tests.exchanges.stepped_clock import SteppedClock

Ask = Callable[[Any], Awaitable[object]]
_SMALL = {"product_code": "BTC_JPY", "child_order_type": "LIMIT", "side": "BUY", "price": 1, "size": 0.001}
_ADD = {"pair": "XBTUSD", "type": "buy", "ordertype": "limit", "price": "1", "volume": "1", "timeinforce": "IOC"}
_SPOT = {"category": "spot", "symbol": "BTCUSDT", "side": "Buy", "orderType": "Limit", "qty": "1", "price": "1"}
_LARGE = {"symbol": "BTCUSDT", "side": "BUY", "type": "LIMIT", "timeInForce": "IOC", "price": "1", "quantity": "1"}


@dataclass(frozen=True)
class Limited:
    """An exchange with its limits and a clock that stands still, and a client that never waits."""

    outside: Served
    clock: SteppedClock
    client: Any


@asynccontextmanager
async def limited(exchange: str, home: Path) -> AsyncIterator[Limited]:
    clock = SteppedClock.for_slow_clients()
    async with served(home, clock=clock, only=(exchange,), is_limited=True) as outside:
        client = make_exchange(simulated_config(exchange, outside.url, home, is_limited=False))
        # as long as Binance's
        client.options["recvWindow"] = 10_000
        try:
            yield Limited(outside, clock, client)
        finally:
            await client.close()


async def taken(ask: Ask, client: Any, most: int) -> tuple[int, ccxt.BaseError | None]:
    """Return how many were answered before the first "too many", and that answer."""
    for number in range(most):
        try:
            await ask(client)
        except ccxt.BaseError as error:
            # a request rejected for itself counts as answered; bitFlyer's "too many" has no class of its own
            if isinstance(error, ccxt.RateLimitExceeded | ccxt.DDoSProtection) or "Over API limit" in str(error):
                return number, error
    return most, None


@pytest.mark.parametrize(
    ("exchange", "ask", "allowed", "words", "seconds"),
    [
        ("coinbaseexchange", lambda one: one.publicGetTime(), 15, "429 .*Public rate limit exceeded", 0.1),
        ("coinbaseexchange", lambda one: one.privateGetAccounts(), 30, "Private rate limit exceeded", 0.07),
        ("coinbaseexchange", lambda one: one.privateGetFills({"order_id": "x"}), 20, "rate limit exceeded", 0.1),
        ("bitstamp", lambda one: one.publicGetTickerPair({"pair": "btceur"}), 400, "400.002", 1),
        ("bitflyer", lambda one: one.publicGetGetticker({"product_code": "BTC_JPY"}), 500, "Over API limit", 300),
        ("bitflyer", lambda one: one.privatePostSendchildorder(_SMALL), 100, "Over API limit", 60),
        ("kraken", lambda one: one.publicGetTime(), 15, "EAPI:Rate limit exceeded", 1),
        ("kraken", lambda one: one.privatePostBalanceEx(), 20, "EAPI:Rate limit exceeded", 2),
        ("kraken", lambda one: one.privatePostTradesHistory(), 10, "EAPI:Rate limit exceeded", 4),
        ("kraken", lambda one: one.privatePostAddOrder(_ADD), 125, "EOrder:Rate limit exceeded", 1),
        ("binance", lambda one: one.privatePostOrder(_LARGE), 100, "429 .*-1015", 10),
        ("binance", lambda one: one.sapiGetCapitalWithdrawHistory({"coin": "BTC"}), 10, "429 .*-1003", 60),
        ("bybit", lambda one: one.privateGetV5AccountFeeRate({"category": "spot"}), 5, "10006", 1),
        ("bybit", lambda one: one.privatePostV5OrderCreate(_SPOT), 20, "10006", 1),
        ("bybit", lambda one: one.publicGetV5MarketTime(), 600, "10018", 600),
        ("coinbase", lambda one: one.v3PublicGetBrokerageTime(), 10, "rate_limit_exceeded", 1),
        ("coinbase", lambda one: one.v3PrivateGetBrokerageKeyPermissions(), 30, "rate_limit_exceeded", 1),
        ("okx", lambda one: one.publicGetPublicTime(), 10, "50011", 2),
        ("okx", lambda one: one.privateGetAccountConfig(), 5, "50011", 2),
        ("okx", lambda one: one.privatePostTradeOrder({"instId": "BTC-USDT"}), 60, "50011", 2),
    ],
)
async def test_so_many_and_no_more(
    exchange: str, ask: Ask, allowed: int, words: str, seconds: float, tmp_path: Path
) -> None:
    async with limited(exchange, tmp_path) as at:
        number, error = await taken(ask, at.client, allowed + 1)
        assert number == allowed
        assert error is not None, "one more is rejected"
        with pytest.raises(type(error), match=words):
            raise error
        at.clock.advance(seconds)
        assert await taken(ask, at.client, 1) == (1, None)


async def test_okx_counts_orders_by_their_instrument(tmp_path: Path) -> None:
    async with limited("okx", tmp_path) as at:

        def cancelling(instrument: str) -> Ask:
            return lambda one: one.privatePostTradeCancelOrder({"instId": instrument, "ordId": "7"})

        assert (await taken(cancelling("BTC-USDT"), at.client, 61))[0] == 60
        assert await taken(cancelling("ETH-USDT"), at.client, 60) == (60, None)


async def test_who_goes_on_after_429_is_banned_by_binance_for_a_while(tmp_path: Path) -> None:
    async with limited("binance", tmp_path) as at, aiohttp.ClientSession() as session:
        url = f"{at.outside.url}/binance/api/v3/depth?symbol=BTCUSDT&limit=5000"
        seen: list[tuple[int, str | None]] = []
        while not seen or seen[-1][0] != 418:
            async with session.get(url) as answer:
                seen.append((answer.status, answer.headers.get("Retry-After")))
            assert len(seen) < 100
        assert [status for status, _ in seen].count(429) == _HARDENED_AFTER
        assert all(0 < int(after or 0) <= 60 for status, after in seen if status == 429)
        assert seen[-1] == (418, str(_BAN_SECONDS))
        at.clock.advance(_BAN_SECONDS)
        async with session.get(url) as answer:
            assert answer.status == 200


async def test_limits_can_be_lifted(tmp_path: Path) -> None:
    async with served(tmp_path, clock=SteppedClock(), only=("kraken", "binance")) as outside:
        for exchange, path in (("kraken", "0/public/Time"), ("binance", "api/v3/depth?symbol=BTCUSDT&limit=5000")):
            async with aiohttp.ClientSession() as session:
                for _ in range(40):
                    async with session.get(f"{outside.url}/{exchange}/{path}") as answer:
                        assert (answer.status, "Rate limit" in await answer.text()) == (200, False)
