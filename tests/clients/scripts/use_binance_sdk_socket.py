"""binance-sdk-spot, Binance's own, over the WebSocket API: in a session of an Ed25519 key an order is placed, seen and
cancelled."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from binance_common.configuration import ConfigurationWebSocketAPI
from binance_sdk_spot.spot import Spot

settings = json.loads(Path(sys.argv[1]).read_text())["binance"]
keys = settings["signing_keys"]["ed25519"]
configuration = ConfigurationWebSocketAPI(
    api_key=keys["apiKey"],
    private_key=keys["secret"],
    stream_url=settings["urls"]["api"]["ws"]["ws-api"]["spot"],
)


async def open_orders(calls: Any) -> list[str]:
    return [str(order.order_id) for order in (await calls.open_orders_status(symbol="BTCUSDT")).data().result]


async def main() -> None:
    calls: Any = await Spot(config_ws_api=configuration).websocket_api.create_connection()
    logged_on = (await calls.session_logon()).data().result
    price = int(float((await calls.avg_price(symbol="BTCUSDT")).data().result.price) / 2)
    terms = {"symbol": "BTCUSDT", "side": "BUY", "type": "LIMIT", "time_in_force": "GTC"}
    placed = (await calls.order_place(**terms, quantity=0.01, price=price)).data().result
    before = await open_orders(calls)
    await calls.order_cancel(symbol="BTCUSDT", order_id=placed.order_id)
    after = await open_orders(calls)
    await calls.close_connection(close_session=True)
    is_ours = logged_on.api_key == keys["apiKey"]
    print(json.dumps({"placed": str(placed.order_id), "before": before, "after": after, "is_logged_on": is_ours}))


asyncio.run(main())
