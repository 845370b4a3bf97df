"""python-kraken-sdk: an order is placed, seen and cancelled, by an account of its own: its nonces are nanoseconds."""

import json
import sys
from pathlib import Path

from kraken.spot import Market, Trade, User

settings = json.loads(Path(sys.argv[1]).read_text())["kraken"]["other_accounts"][0]
url = settings["urls"]["api"]["public"]
keys = {"key": settings["apiKey"], "secret": settings["secret"], "url": url}
trade, user = Trade(**keys), User(**keys)

[book] = Market(url=url).get_order_book(pair="XBTUSD", count=1).values()
price = int(float(book["bids"][0][0]) / 2)
order = trade.create_order(ordertype="limit", side="buy", pair="XBTUSD", volume="0.01", price=str(price))
[placed] = order["txid"]
before = list(user.get_open_orders()["open"])
trade.cancel_order(txid=placed)
print(json.dumps({"placed": placed, "before": before, "after": list(user.get_open_orders()["open"])}))
