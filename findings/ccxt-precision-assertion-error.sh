#!/usr/bin/env bash
# ccxt 4.5.90: amount_to_precision of bitFlyer ends in an AssertionError, which is no error of ccxt's.
#
# bitFlyer publishes no steps, so ccxt has None for them. The unified function that every order is meant to pass through has no
# answer to that: an `assert` in the shared helper fails, so `except ccxt.BaseError` around an order does not catch it.
# Output seen: "AssertionError precision should not be None".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check ccxt==4.5.90
"$folder/env/bin/python" - <<'PYTHON'
import ccxt

exchange = ccxt.bitflyer()
exchange.set_markets(
    [
        exchange.safe_market_structure(
            {"id": "BTC_JPY", "symbol": "BTC/JPY", "base": "BTC", "quote": "JPY", "spot": True, "type": "spot", "active": True}
        )
    ]
)
try:
    amount = exchange.amount_to_precision("BTC/JPY", 0.0123)
except ccxt.BaseError as error:
    raise SystemExit(f"a unified error now: {error!r}") from error
except AssertionError as error:
    print(type(error).__name__, error)
else:
    raise SystemExit(f"an answer now: {amount}")
PYTHON
