"""coinbase-advanced-py, Coinbase's own: an order is placed, seen and cancelled, and a book comes over the stream."""

import json
import sys
from pathlib import Path
from queue import Queue
from typing import Any

from coinbase.rest import RESTClient
from coinbase.websocket import WSClient

settings = json.loads(Path(sys.argv[1]).read_text())["coinbase"]
keys = {"api_key": settings["apiKey"], "api_secret": settings["secret"]}
addresses = settings["urls"]["api"]
client = RESTClient(**keys, base_url=addresses["rest"].removeprefix("https://"), timeout=20)


def open_orders() -> list[str]:
    return [order["order_id"] for order in client.list_orders(order_status=["OPEN"], product_ids=["BTC-USD"])["orders"]]


def first_of(channel: str) -> dict[str, Any]:
    """Return the first message of a channel."""
    while (message := json.loads(heard.get(timeout=20)))["channel"] != channel:
        pass
    found: dict[str, Any] = message
    return found


heard: Queue[str] = Queue()
stream = WSClient(**keys, base_url=addresses["ws"], on_message=heard.put, retry=False)
stream.open()
stream.subscribe(["BTC-USD"], ["heartbeats", "level2"])
[snapshot] = first_of("l2_data")["events"]
stream.subscribe(["BTC-USD"], ["user"])
first_of("user")
price = max(float(row["price_level"]) for row in snapshot["updates"] if row["side"] == "bid")
order = client.limit_order_gtc_buy("", "BTC-USD", base_size="0.01", limit_price=str(int(price / 2)))
placed = order["success_response"]["order_id"]
[told] = first_of("user")["events"][0]["orders"]
before = open_orders()
[cancelled] = client.cancel_orders([placed])["results"]
after = open_orders()
rights = client.get_api_key_permissions()
balances = client.get_accounts(limit=250)["accounts"]
fees = client.get_transaction_summary(product_type="SPOT")["fee_tier"]
stream.close()
print(
    json.dumps(
        {
            **{"placed": placed, "before": before, "after": after, "told": told["status"]},
            **{"can_transfer": rights["can_transfer"], "accounts": len(balances), "taker": fees["taker_fee_rate"]},
        }
    )
)
