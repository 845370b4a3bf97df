#!/usr/bin/env bash
# ccxt 4.5.90: the default rate limiter makes a request wait that comes after seconds of silence.
#
# A token bucket fills while nobody asks. ccxt's (`leakyBucket`) counts from the moment its queue begins to run, so
# every request but the first waits a whole `rateLimit`: at bitFlyer a second, for an order too. With
# `rateLimiterAlgorithm: 'rollingWindow'` the same request goes out at once.
# Output seen: "leakyBucket: 1.00 s after 3 s of silence", "rollingWindow: 0.00 s after 3 s of silence".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check ccxt==4.5.90
"$folder/env/bin/python" - <<'PYTHON'
import asyncio
import time

import ccxt.async_support as ccxt


async def wait_after_silence(algorithm: str) -> float:
    exchange = ccxt.bitflyer({"rateLimiterAlgorithm": algorithm})
    await exchange.throttle(1)
    await asyncio.sleep(3)
    begin = time.monotonic()
    await exchange.throttle(1)
    waited = time.monotonic() - begin
    await exchange.close()
    print(f"{algorithm}: {waited:.2f} s after 3 s of silence")
    return waited


leaky, rolling = (asyncio.run(wait_after_silence(name)) for name in ("leakyBucket", "rollingWindow"))
assert leaky > 0.8, "idle time counts now"
assert rolling < 0.3
PYTHON
