#!/usr/bin/env bash
# ccxt 4.5.90: an answer 400 or 404 of bitFlyer or Bitstamp is a NetworkError, which the manual says to retry.
#
# The manual splits errors in two: NetworkError may succeed when it is repeated, ExchangeError will not. Where an exchange's
# own handler knows no better, the base class maps 400, 403 and 404 to ExchangeNotAvailable, a NetworkError. A client
# that retries by class repeats a bad request for ever.
# Output seen: "bitflyer 400 ExchangeNotAvailable", "bitflyer 404 ExchangeNotAvailable".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check ccxt==4.5.90
"$folder/env/bin/python" - <<'PYTHON'
import http.server
import threading

import ccxt


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b'{"error": "bad request"}'
        self.send_response(int(self.path.split("/")[1]))
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
threading.Thread(target=server.serve_forever, daemon=True).start()
for status in (400, 404):
    exchange = ccxt.bitflyer({"enableRateLimit": False})
    exchange.urls["api"] = {"rest": f"http://127.0.0.1:{server.server_port}/{status}"}
    try:
        exchange.fetch2("getticker", "public", "GET", {"product_code": "BTC_JPY"})
    except ccxt.NetworkError as error:
        print("bitflyer", status, type(error).__name__)
    except ccxt.ExchangeError as error:
        raise SystemExit(f"{status} is no longer a NetworkError: {type(error).__name__}") from error
    else:
        raise SystemExit(f"{status} raised nothing")
server.shutdown()
PYTHON
