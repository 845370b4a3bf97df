"""pybotters, on Binance or bitFlyer: an order is placed, seen and cancelled."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pybotters
from pybotters.auth import Auth, Hosts, Item

EXCHANGE = sys.argv[2]
settings = json.loads(Path(sys.argv[1]).read_text())[EXCHANGE]
url = settings["urls"]["api"]["rest" if EXCHANGE == "bitflyer" else "public"].removesuffix("/api/v3")
Hosts.items[urlsplit(url).hostname] = Item(EXCHANGE, getattr(Auth, EXCHANGE))


async def answer(sent: Any) -> Any:
    response = await sent
    text = await response.text()
    assert response.status == 200, text
    return json.loads(text) if text else None


async def on_binance(client: pybotters.Client) -> tuple[str, list[str], list[str]]:
    async def open_orders() -> list[str]:
        rows = await answer(client.get("/api/v3/openOrders", params={"symbol": "BTCUSDT"}))
        return [str(row["orderId"]) for row in rows]

    book = await answer(client.get("/api/v3/depth", params={"symbol": "BTCUSDT", "limit": "5"}, auth=None))
    price = int(float(book["bids"][0][0]) / 2)
    order = {"symbol": "BTCUSDT", "side": "BUY", "type": "LIMIT", "timeInForce": "GTC", "quantity": "0.01"}
    placed = str((await answer(client.post("/api/v3/order", data={**order, "price": str(price)})))["orderId"])
    before = await open_orders()
    await answer(client.delete("/api/v3/order", params={"symbol": "BTCUSDT", "orderId": placed}))
    return placed, before, await open_orders()


async def on_bitflyer(client: pybotters.Client) -> tuple[str, list[str], list[str]]:
    wanted = {"product_code": "BTC_JPY", "child_order_state": "ACTIVE"}

    async def open_orders() -> list[str]:
        rows = await answer(client.get("/v1/me/getchildorders", params=wanted))
        return [row["child_order_acceptance_id"] for row in rows]

    book = await answer(client.get("/v1/getboard", params={"product_code": "BTC_JPY"}, auth=None))
    order = {"product_code": "BTC_JPY", "child_order_type": "LIMIT", "side": "BUY", "size": 0.01}
    order["price"] = int(book["bids"][0]["price"] / 2)
    placed = (await answer(client.post("/v1/me/sendchildorder", data=order)))["child_order_acceptance_id"]
    before = await open_orders()
    cancel = {"product_code": "BTC_JPY", "child_order_acceptance_id": placed}
    await answer(client.post("/v1/me/cancelchildorder", data=cancel))
    return placed, before, await open_orders()


async def main() -> None:
    async with pybotters.Client(apis={EXCHANGE: [settings["apiKey"], settings["secret"]]}, base_url=url) as client:
        placed, before, after = await {"binance": on_binance, "bitflyer": on_bitflyer}[EXCHANGE](client)
    print(json.dumps({"placed": placed, "before": before, "after": after}))


asyncio.run(main())
