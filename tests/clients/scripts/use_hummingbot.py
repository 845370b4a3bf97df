"""Hummingbot's connector on Kraken or Binance, as its clock drives it: an order is placed, seen and cancelled; another
buys. Its addresses are constants of its modules and are set here. With the word `unittest` its loggers do without the
application around them."""

import asyncio
import json
import logging
import sys
import time
from collections.abc import Awaitable, Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

from hummingbot.connector.exchange.binance import binance_constants
from hummingbot.connector.exchange.binance.binance_exchange import BinanceExchange
from hummingbot.connector.exchange.kraken import kraken_constants
from hummingbot.connector.exchange.kraken.kraken_exchange import KrakenExchange
from hummingbot.core.clock import Clock, ClockMode
from hummingbot.core.data_type.common import OrderType
from hummingbot.core.event.event_forwarder import EventForwarder
from hummingbot.core.event.events import MarketEvent

EXCHANGE = sys.argv[2]
account: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text())[EXCHANGE]
api = account["urls"]["api"]
PAIR = "BTC-USD" if EXCHANGE == "kraken" else "BTC-USDT"
AMOUNT = Decimal("0.01")
SECONDS = 120


def connector() -> Any:
    if EXCHANGE == "kraken":
        kraken_constants.BASE_URL = api["public"]
        kraken_constants.WS_URL, kraken_constants.WS_AUTH_URL = api["ws"]["public"], api["ws"]["private"]
        keys = {"kraken_api_key": account["apiKey"], "kraken_secret_key": account["secret"]}
        return KrakenExchange(**keys, trading_pairs=[PAIR], kraken_api_tier="Intermediate")
    binance_constants.REST_URL = api["public"].removesuffix("v3")
    binance_constants.WSS_URL, binance_constants.WSS_API_URL = api["ws"]["spot"], api["ws"]["ws-api"]["spot"]
    keys = {"binance_api_key": account["apiKey"], "binance_api_secret": account["secret"]}
    return BinanceExchange(**keys, trading_pairs=[PAIR])


class Trading:
    def __init__(self, market: Any) -> None:
        self._market = market
        self._events: dict[MarketEvent, asyncio.Queue[Any]] = {}
        self._forwarders: list[EventForwarder] = []
        for kind in MarketEvent:
            events = self._events[kind] = asyncio.Queue()
            self._forwarders.append(EventForwarder(events.put_nowait))
            market.add_listener(kind, self._forwarders[-1])

    async def trade(self) -> dict[str, Any]:
        price = Decimal(str(self._market.get_price(PAIR, False)))
        balance = self._market.get_balance("BTC")
        said = await self._place_and_cancel(price / 2)
        return {**said, "balance": str(balance), **await self._buy(price * Decimal("1.01"))}

    async def _place_and_cancel(self, price: Decimal) -> dict[str, Any]:
        own_id = self._market.buy(PAIR, AMOUNT, OrderType.LIMIT, price)
        placed = (await self._events[MarketEvent.BuyOrderCreated].get()).exchange_order_id
        before = self._open_orders()
        self._market.cancel(PAIR, own_id)
        await self._events[MarketEvent.OrderCancelled].get()
        return {"placed": placed, "before": before, "after": self._open_orders()}

    async def _buy(self, price: Decimal) -> dict[str, Any]:
        self._market.buy(PAIR, AMOUNT, OrderType.LIMIT, price)
        await self._events[MarketEvent.BuyOrderCompleted].get()
        fills = self._events[MarketEvent.OrderFilled]
        rows = [fills.get_nowait() for _ in range(fills.qsize())]
        return {
            "fills": [{"id": one.exchange_trade_id, "amount": str(one.amount), "price": str(one.price)} for one in rows]
        }

    def _open_orders(self) -> list[str]:
        return [one.exchange_order_id for one in self._market.in_flight_orders.values() if one.is_open]


async def until_done(market: Any, trade: Callable[[], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
    clock = Clock(ClockMode.REALTIME, 1.0)
    clock.add_iterator(market)
    async with asyncio.timeout(SECONDS):
        with clock:
            while not market.ready:
                await clock.run_til(time.time() + 1)
            ticking = asyncio.ensure_future(clock.run())
            try:
                return await trade()
            finally:
                ticking.cancel()
                await market.stop_network()


async def main() -> None:
    market = connector()
    print(json.dumps(await until_done(market, Trading(market).trade)), flush=True)


logging.basicConfig(level=logging.INFO, stream=sys.stderr)
asyncio.run(main())
