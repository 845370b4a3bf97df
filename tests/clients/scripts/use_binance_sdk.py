"""binance-sdk-spot, Binance's own: an order is placed, seen and cancelled, and what it asks beside is answered."""

import json
import sys
from pathlib import Path
from typing import Any

from binance_common.configuration import ConfigurationRestAPI
from binance_sdk_spot.spot import Spot

settings = json.loads(Path(sys.argv[1]).read_text())["binance"]
url = settings["urls"]["api"]["public"].removesuffix("/api/v3")
keys = {"api_key": settings["apiKey"], "api_secret": settings["secret"]}
api = Spot(config_rest_api=ConfigurationRestAPI(**keys, base_path=url)).rest_api


def open_orders() -> list[str]:
    return [str(order.order_id) for order in api.get_open_orders(symbol="BTCUSDT").data()]


average: Any = api.avg_price(symbol="BTCUSDT").data()
counts: Any = api.rate_limit_order().data()
price = int(float(average.price) / 2)
order: Any = api.new_order(
    symbol="BTCUSDT", side="BUY", type="LIMIT", time_in_force="GTC", quantity=0.01, price=price
).data()
before = open_orders()
api.delete_order(symbol="BTCUSDT", order_id=order.order_id)
print(json.dumps({"placed": str(order.order_id), "before": before, "after": open_orders(), "limits": len(counts)}))
