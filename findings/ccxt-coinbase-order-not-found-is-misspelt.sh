#!/usr/bin/env bash
# ccxt 4.5.90, coinbase, Python: asking for an order that does not exist raises ExchangeError, never OrderNotFound.
# Coinbase answers with "order with this orderID was not found" in `error_details` and `message`. ccxt looks into `error`
# and `error_description` alone, and even there for another text: its Python is made from TypeScript, in which `this`
# becomes `self`, also inside this message. A caller that takes OrderNotFound for "it never arrived" waits for ever.
# Expected output: as Coinbase says it -> ExchangeError, where ccxt looks -> ExchangeError, misspelt -> OrderNotFound
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" -q install ccxt==4.5.90
"$folder/venv/bin/python" - <<'PY'
import json

import ccxt

TEXT = "order with this orderID was not found"


def raised(row):
    try:
        ccxt.coinbase().handle_errors(404, "Not Found", "", "GET", {}, json.dumps(row), row, {}, "")
    except ccxt.BaseError as error:
        return type(error).__name__
    return "nothing"


rows = {
    "as Coinbase says it": {"error": "unknown", "error_details": TEXT, "message": TEXT},
    "where ccxt looks": {"error": "unknown", "error_description": TEXT},
    "misspelt": {"error": "unknown", "error_description": TEXT.replace("this", "self")},
}
seen = {name: raised(row) for name, row in rows.items()}
print(", ".join(f"{name} -> {error}" for name, error in seen.items()))
assert list(seen.values()) == ["ExchangeError", "ExchangeError", "OrderNotFound"], seen
PY
