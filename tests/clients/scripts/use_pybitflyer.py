"""pybitflyer: an order is placed, seen and cancelled."""

import json
import sys
from pathlib import Path

import pybitflyer

settings = json.loads(Path(sys.argv[1]).read_text())["bitflyer"]
client = pybitflyer.API(settings["apiKey"], settings["secret"])
client.api_url = settings["urls"]["api"]["rest"]


def active() -> list[str]:
    rows = client.getchildorders(product_code="BTC_JPY", child_order_state="ACTIVE")
    return [row["child_order_acceptance_id"] for row in rows]


price = int(client.board(product_code="BTC_JPY")["bids"][0]["price"] / 2)
order = {"product_code": "BTC_JPY", "child_order_type": "LIMIT", "side": "BUY", "size": 0.01}
answer = client.sendchildorder(**order, price=price)
placed = answer["child_order_acceptance_id"]
before = active()
client.cancelchildorder(product_code="BTC_JPY", child_order_acceptance_id=placed)
print(json.dumps({"placed": placed, "before": before, "after": active()}))
