"""python-binance: an order is placed, seen and cancelled."""

import json
import sys
from pathlib import Path

from binance.client import Client

settings = json.loads(Path(sys.argv[1]).read_text())["binance"]
Client.API_URL = settings["urls"]["api"]["public"].removesuffix("/v3")
client = Client(settings["apiKey"], settings["secret"])


def open_orders() -> list[str]:
    return [str(order["orderId"]) for order in client.get_open_orders(symbol="BTCUSDT")]


price = int(float(client.get_order_book(symbol="BTCUSDT", limit=5)["bids"][0][0]) / 2)
placed = client.order_limit_buy(symbol="BTCUSDT", quantity="0.01", price=str(price))
before = open_orders()
client.cancel_order(symbol="BTCUSDT", orderId=placed["orderId"])
print(json.dumps({"placed": str(placed["orderId"]), "before": before, "after": open_orders()}))
