#!/usr/bin/env bash
# ccxt 4.5.90, coinbase (Advanced Trade): the unified parameter clientOrderId is dropped, and an id of ccxt's own is sent.
#
# ccxt's manual names `clientOrderId` as the parameter of the client's order id, and most exchanges of ccxt send it. For Coinbase the
# order goes out with client_order_id "ccxt-" and a new UUID, different at each try, without an error. A caller that looks an
# order without an answer up by its own id does not find it, and a repeat is a second order. The exchange's own field among the
# parameters is sent as it is.
# Output seen: 'clientOrderId sent as "ccxt-3f0c…"', 'client_order_id sent as "0a1b2c3d-…"'.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check ccxt==4.5.90
"$folder/env/bin/python" - <<'PYTHON'
import json

import ccxt

OURS = "0a1b2c3d-4e5f-5a6b-8c7d-9e0f1a2b3c4d"


class Caught(ccxt.coinbase):
    """Keeps what it would send."""

    def fetch(self, url, method="GET", headers=None, body=None):
        self.sent = json.loads(body)
        return {"success": True, "success_response": {"order_id": "1"}}


def sent_id(name: str) -> str:
    client = Caught({"apiKey": "key", "secret": "c2VjcmV0"})
    row = {"id": "BTC-USD", "symbol": "BTC/USD", "base": "BTC", "quote": "USD", "spot": True, "type": "spot"}
    steps = {"precision": {"amount": 1e-8, "price": 0.01}}
    client.set_markets([client.safe_market_structure(row | steps)])
    client.create_order("BTC/USD", "limit", "buy", 0.001, 64000.5, {"timeInForce": "IOC", name: OURS})
    found = client.sent["client_order_id"]
    print(f'{name} sent as "{found}"')
    return found


dropped, kept = sent_id("clientOrderId"), sent_id("client_order_id")
assert dropped.startswith("ccxt-"), "the id is not ccxt's own any more"
assert OURS not in dropped
assert kept == OURS
PYTHON
