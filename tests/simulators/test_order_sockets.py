"""Orders over the simulated exchanges' WebSockets: by ccxt's own methods, and what is refused there."""

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import ccxt
import pytest

from exchanges.ccxt.client import make_exchange, simulated_config
from runtime.clock import wall_now
from session.exchange_entries import ExchangeEntry
from tests.exchanges.served import Served, served


@pytest.mark.parametrize(
    ("exchange", "symbol"), [("binance", "BTC/USDT"), ("bybit", "BTC/USDT"), ("kraken", "BTC/USD")]
)
async def test_ccxt_places_and_cancels_an_order_over_the_socket(tmp_path: Path, exchange: str, symbol: str) -> None:
    async with served(tmp_path, only=(exchange,)) as outside:
        entry = ExchangeEntry(exchange, order_transport="socket")
        client = make_exchange(simulated_config(exchange, outside.url, outside.home, is_limited=False, entry=entry))
        customer = outside.world.gateways[exchange].exchange.customer
        try:
            await client.load_markets()
            placed = await client.create_order_ws(symbol, "limit", "buy", 0.01, 20_000)
            assert [order.order_id for order in customer.open_orders()] == [placed["id"]]
            # of Kraken it takes no market
            await client.cancel_order_ws(placed["id"], *([] if exchange == "kraken" else [symbol]))
            assert customer.open_orders() == []
            with pytest.raises(ccxt.BaseError):
                await client.create_order_ws(symbol, "limit", "buy", 10**6, 20_000)
        finally:
            await client.close()


@asynccontextmanager
async def trading_at_bybit(outside: Served) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    async with aiohttp.ClientSession() as session, session.ws_connect(f"{outside.url}/bybit/v5/trade") as socket:
        yield socket


async def said(socket: aiohttp.ClientWebSocketResponse, **message: object) -> Any:
    await socket.send_json(message)
    return await socket.receive_json(timeout=5)


async def test_bybits_refusals(tmp_path: Path) -> None:
    async with served(tmp_path, only=("bybit",)) as outside:
        wire: Any = make_exchange(outside.config("bybit"))
        expires = wall_now() // 1_000 + 5_000
        signature = wire.hmac(f"GET/realtime{expires}".encode(), wire.secret.encode(), hashlib.sha256)
        header = {"X-BAPI-TIMESTAMP": str(wall_now() // 1_000)}
        order = {"category": "spot", "symbol": "BTCUSDT", "side": "Buy", "orderType": "Limit", "qty": "0.01"}
        async with trading_at_bybit(outside) as socket:
            unsigned = await said(socket, reqId="1", op="order.create", header=header, args=[order])
            assert (unsigned["retCode"], unsigned["reqId"]) == (10003, "1")
            assert (await said(socket, op="auth", args=[wire.apiKey, expires, "00"]))["retCode"] == 10004
            signed = await said(socket, op="auth", args=[wire.apiKey, expires, signature])
            assert (signed["retCode"], "reqId" in signed) == (0, False)
            assert (await said(socket, op="auth", args=[wire.apiKey, expires, signature]))["retCode"] == 20001
            assert (await said(socket, op="order.place"))["retCode"] == 10404
            late = {"X-BAPI-TIMESTAMP": str(wall_now() // 1_000 - 6_000)}
            assert (await said(socket, op="order.create", header=late, args=[order]))["retCode"] == 10002
            priced = {**order, "price": "20000", "timeInForce": "GTC"}
            placed = await said(socket, reqId="2", op="order.create", header=header, args=[priced])
            assert (placed["retCode"], placed["header"]["X-Bapi-Limit"]) == (0, "20")
            again = await said(socket, reqId="2", op="order.create", header=header, args=[priced])
            assert again["retCode"] == 20006
            assert (await said(socket, op="ping"))["op"] == "pong"
            assert len(outside.world.gateways["bybit"].exchange.customer.open_orders()) == 1
        await wire.close()
