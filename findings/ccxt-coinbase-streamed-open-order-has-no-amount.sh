#!/usr/bin/env bash
# ccxt 4.5.90, coinbase: an open order of watch_orders has the amount that is filled so far, zero at first.
# The channel `user` says what is filled (cumulative_quantity) and what is left (leaves_quantity), no sum. ccxt takes the
# first for `amount` and for `filled`: amount < filled + remaining, and an order that rests unfilled has amount 0.
# Expected output: amount 0.25, filled 0.25, remaining 0.75
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" -q install ccxt==4.5.90
"$folder/venv/bin/python" - <<'PY'
import ccxt.pro

row = {"order_id": "1", "client_order_id": "2", "product_id": "BTC-USD", "order_side": "BUY", "order_type": "LIMIT"}
row |= {"status": "OPEN", "limit_price": "60000", "cumulative_quantity": "0.25", "leaves_quantity": "0.75"}
row |= {"avg_price": "60000", "total_fees": "1", "filled_value": "15000", "creation_time": "2026-11-01T00:00:00Z"}
order = ccxt.pro.coinbase().parse_ws_order(row)
seen = tuple(order[name] for name in ("amount", "filled", "remaining"))
print("amount {}, filled {}, remaining {}".format(*seen))
assert seen == (0.25, 0.25, 0.75), seen
PY
