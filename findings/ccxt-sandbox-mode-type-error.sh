#!/usr/bin/env bash
# ccxt 4.5.90: set_sandbox_mode(True) ends in a bare TypeError at an exchange without a sandbox.
#
# The unified errors (NotSupported, which is meant for it) are not used, so `except ccxt.BaseError` does not catch it,
# and `has['sandbox']`, which says True for binance, says None for them. Output seen for kraken, bitstamp, bitflyer:
# "TypeError: 'NoneType' object is not iterable".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check ccxt==4.5.90
"$folder/env/bin/python" - <<'PYTHON'
import ccxt

for name in ("kraken", "bitstamp", "bitflyer"):
    exchange = getattr(ccxt, name)()
    assert exchange.has["sandbox"] is None, "`has` says now that there is none"
    try:
        exchange.set_sandbox_mode(True)
    except ccxt.BaseError as error:
        raise SystemExit(f"{name}: a unified error now: {error!r}") from error
    except TypeError as error:
        print(name, f"TypeError: {error}")
    else:
        raise SystemExit(f"{name}: no error now")
PYTHON
