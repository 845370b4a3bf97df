#!/usr/bin/env bash
# ccxt 4.5.90, ccxt.pro binance: the `recvWindow` of a call holds over REST and is replaced by 10 s over the WebSocket API.
# Binance drops a request that comes later than that after its time: who asks for 3 s, so that no order is placed late,
# gets 3 s from create_order and 10 s from create_order_ws, which signs by sign_params.
# Expected output: asked for 3000: REST 3000, socket 10000
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" -q install ccxt==4.5.90
"$folder/venv/bin/python" - <<'PY'
import asyncio
from urllib.parse import parse_qs

import ccxt.pro


async def main() -> None:
    exchange = ccxt.pro.binance({"apiKey": "key", "secret": "secret"})
    rest = parse_qs(exchange.sign("order", ["private"], "POST", {"symbol": "BTCUSDT", "recvWindow": 3000})["body"])
    socket = exchange.sign_params({"symbol": "BTCUSDT", "recvWindow": 3000})
    await exchange.close()
    seen = [int(rest["recvWindow"][0]), int(socket["recvWindow"])]
    print(f"asked for 3000: REST {seen[0]}, socket {seen[1]}")
    assert seen == [3000, 10000], seen


asyncio.run(main())
PY
