#!/usr/bin/env bash
# ccxt 4.5.90, ccxt.pro bybit: with an RSA key, which Bybit's self-generated keys are, REST calls are signed by RSA, and
# the log-on of private WebSockets (orders and fills) by HMAC with the PEM text as its secret. Bybit refuses that log-on:
# who tries a key by a REST call and then opens the socket is told that a good key is wrong.
# Expected output: REST: RSA, 344 characters of base64; socket: HMAC, 64 characters of hex
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" -q install ccxt==4.5.90
"$folder/venv/bin/python" - <<'PY'
import asyncio
import hashlib
import hmac
import json

import ccxt.pro
from aiohttp import web
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

PEM = (
    rsa.generate_private_key(public_exponent=65537, key_size=2048)
    .private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    .decode()
)


async def main() -> None:
    heard: asyncio.Queue[list[str]] = asyncio.Queue()

    async def stream(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        async for message in socket:
            heard.put_nowait(json.loads(message.data)["args"])
        return socket

    application = web.Application()
    application.router.add_get("/private", stream)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]
    exchange = ccxt.pro.bybit({"apiKey": "key", "secret": PEM})
    rest = exchange.sign("v5/order/create", ["private"], "POST", {"symbol": "BTCUSDT"})["headers"]["X-BAPI-SIGN"]
    logging_on = asyncio.ensure_future(exchange.authenticate(f"ws://127.0.0.1:{port}/private"))
    key, expires, signature = await asyncio.wait_for(heard.get(), 20)
    logging_on.cancel()
    await asyncio.gather(logging_on, return_exceptions=True)
    await exchange.close()
    await runner.cleanup()
    by_hmac = hmac.new(PEM.encode(), f"GET/realtime{expires}".encode(), hashlib.sha256).hexdigest()
    assert (key, signature) == ("key", by_hmac), signature
    assert len(rest) == 344, rest
    print(f"REST: RSA, {len(rest)} characters of base64; socket: HMAC, {len(signature)} characters of hex")


asyncio.run(main())
PY
