"""krakenex: an order is placed, seen and cancelled."""

import json
import sys
from pathlib import Path
from typing import Any

import krakenex

settings = json.loads(Path(sys.argv[1]).read_text())["kraken"]
client = krakenex.API(settings["apiKey"], settings["secret"])
client.uri = settings["urls"]["api"]["public"]


def result(answer: dict[str, Any]) -> Any:
    assert not answer["error"], answer
    return answer["result"]


def open_orders() -> list[str]:
    return list(result(client.query_private("OpenOrders"))["open"])


[book] = result(client.query_public("Depth", {"pair": "XBTUSD", "count": 1})).values()
order = {"pair": "XBTUSD", "type": "buy", "ordertype": "limit", "volume": "0.01"}
price = int(float(book["bids"][0][0]) / 2)
[placed] = result(client.query_private("AddOrder", {**order, "price": str(price)}))["txid"]
before = open_orders()
result(client.query_private("CancelOrder", {"txid": placed}))
print(json.dumps({"placed": placed, "before": before, "after": open_orders()}))
