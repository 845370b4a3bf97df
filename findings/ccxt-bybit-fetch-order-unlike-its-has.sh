#!/usr/bin/env bash
# ccxt 4.5.90, bybit: has["fetchOrder"] is True, and fetch_order of a unified account raises ArgumentsRequired.
#
# With the arguments that the unified method has, an order id and a symbol, no request leaves: ccxt wants the parameter
# `acknowledged`, since only the last 500 orders are found. A bot that chooses its methods by `has` places orders and cannot
# follow one. With the parameter the order is asked for.
# Output seen: "has True", "ArgumentsRequired, 0 requests for the order", "acknowledged: 1 request for the order".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check ccxt==4.5.90
"$folder/env/bin/python" - <<'PYTHON'
import ccxt


class Caught(ccxt.bybit):
    """Answers as a unified account, and counts the requests for the order."""

    asked = 0

    def fetch(self, url, method="GET", headers=None, body=None):
        if "query-api" in url:
            return {"retCode": 0, "result": {"unified": 0, "uta": 1}}
        if "account/info" in url:
            return {"retCode": 0, "result": {"unifiedMarginStatus": 6}}
        self.asked += "orderId=7" in url
        row = {"orderId": "7", "symbol": "BTCUSDT", "side": "Buy", "orderStatus": "Filled", "createdTime": "1"}
        return {"retCode": 0, "result": {"category": "spot", "list": [row]}}


client = Caught({"apiKey": "key", "secret": "secret"})
row = {"id": "BTCUSDT", "symbol": "BTC/USDT", "base": "BTC", "quote": "USDT", "spot": True, "type": "spot"}
client.set_markets([client.safe_market_structure(row)])
print("has", client.has["fetchOrder"])
assert client.has["fetchOrder"] is True
try:
    client.fetch_order("7", "BTC/USDT")
    raise SystemExit("fetch_order needs no parameter any more")
except ccxt.ArgumentsRequired:
    print(f"ArgumentsRequired, {client.asked} requests for the order")
assert client.asked == 0
assert client.fetch_order("7", "BTC/USDT", {"acknowledged": True})["id"] == "7"
print(f"acknowledged: {client.asked} request for the order")
assert client.asked == 1
PYTHON
