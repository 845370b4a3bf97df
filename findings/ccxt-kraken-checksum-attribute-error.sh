#!/usr/bin/env bash
# ccxt 4.5.90: Kraken's checksum of the book, an option of ccxt's own, cannot be switched on.
#
# The option `watchOrderBook.checksum` compares each book with Kraken's CRC32. The code behind it splits a price at its decimal point
# as text, and the book holds numbers. So a healthy snapshot raises AttributeError within ccxt. It happens in the callback
# that reads the socket, so whoever waits for the book is not told.
# Output seen: "AttributeError: 'float' object has no attribute 'split'".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check ccxt==4.5.90
"$folder/env/bin/python" - <<'PYTHON'
import asyncio

import ccxt.pro


class Reader:
    """Takes what the handler would hand on to who waits."""

    def __init__(self) -> None:
        self.subscriptions: dict[str, object] = {}

    def resolve(self, result: object, message_hash: str) -> None:
        print("a book is handed on", message_hash)

    def reject(self, error: Exception, message_hash: str) -> None:
        raise error


async def snapshot(checksum: bool) -> str:
    exchange = ccxt.pro.kraken({"options": {"watchOrderBook": {"checksum": checksum}}})
    levels = {
        "bids": [{"price": 45283.5, "qty": 0.1}, {"price": 45283.4, "qty": 1.54582015}],
        "asks": [{"price": 45285.2, "qty": 0.001}, {"price": 45286.4, "qty": 1.54571953}],
    }
    message = {
        "channel": "book",
        "type": "snapshot",
        "data": [{"symbol": "BTC/USD", **levels, "checksum": 2114181697}],
    }
    try:
        exchange.handle_order_book(Reader(), message)
    except ccxt.BaseError as error:
        return f"a unified error: {error!r}"
    except AttributeError as error:
        return f"AttributeError: {error}"
    finally:
        await exchange.close()
    return "no error"


assert asyncio.run(snapshot(checksum=False)) == "no error"
seen = asyncio.run(snapshot(checksum=True))
print(seen)
assert seen.startswith("AttributeError"), "it is compared now"
PYTHON
