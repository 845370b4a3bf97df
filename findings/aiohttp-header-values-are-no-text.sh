#!/usr/bin/env bash
# aiohttp 3.14.5: a header's value in a request may be a str that has no UTF-8, so that `value.encode()` raises.
#
# RFC 9110 (5.5) lets a field's value have bytes from 0x80 on. aiohttp's server gives them as lone surrogates (PEP 383), and not
# as Latin-1 (http.server, WSGI) or as bytes (ASGI). Whoever compares a key by `hmac.compare_digest(value.encode(), …)`, or
# writes the value as JSON, answers such a request with 500, where 401 or 200 was meant. `value.encode(errors="surrogateescape")`
# gives the bytes back.
# Output seen: "X-Key: ff e9 -> '\udcff\udce9', encode() raises UnicodeEncodeError, the answer is 500".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check aiohttp==3.14.5
"$folder/venv/bin/python" - <<'PYTHON'
import asyncio
import logging

from aiohttp import web

logging.disable(logging.CRITICAL)
seen: list[str] = []


async def respond(request: web.Request) -> web.Response:
    seen.append(request.headers["X-Key"])
    return web.Response(text=str(len(request.headers["X-Key"].encode())))


async def status_for(value: bytes) -> int:
    application = web.Application()
    application.router.add_get("/", respond)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    reader, writer = await asyncio.open_connection("127.0.0.1", runner.addresses[0][1])
    writer.write(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nX-Key: " + value + b"\r\n\r\n")
    line = await reader.readline()
    writer.close()
    await runner.cleanup()
    return int(line.split()[1])


assert asyncio.run(status_for(b"a key")) == 200
status = asyncio.run(status_for(b"\xff\xe9"))
assert seen[1] == "\udcff\udce9", ascii(seen[1])
assert seen[1].encode(errors="surrogateescape") == b"\xff\xe9"
assert status == 500, status
print(f"X-Key: ff e9 -> {ascii(seen[1])}, encode() raises UnicodeEncodeError, the answer is {status}")
PYTHON
