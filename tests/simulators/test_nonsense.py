"""Whatever is sent, a simulated exchange answers in its own words, and nobody's money is made or lost."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from urllib.parse import quote, urlsplit

import aiohttp
import pytest
from yarl import URL

from exchanges.ports.orders import iso_of
from simulators.matching.simulated_exchange import SimulatedExchange
from tests.simulators.nonsense import ORDERS, frame_made, request_made
from tests.simulators.visitor import DEADLINE, Visitor, visiting
from tests.simulators.wire_clients import WIRE_CLIENTS, Call, WireClient, bitstamp_headers

REQUESTS = 250
BITFLYER_ORDER = {"product_code": "BTC_JPY", "child_order_type": "LIMIT", "side": "BUY", "size": 0.01}
FRAMES = 250
PRIVATE = {
    "coinbaseexchange": "/accounts",
    "bitstamp": "/api/v2/account_balances/",
    "bitflyer": "/v1/me/getbalance",
    "kraken": "/0/private/Balance",
    "binance": "/api/v3/account",
    "bybit": "/v5/account/wallet-balance",
    "okx": "/api/v5/account/balance",
    "coinbase": "/api/v3/brokerage/accounts",
}
OTHER_SOCKETS = {"binance": "/ws-api/v3", "bybit": "/v5/private", "okx": "/ws/v5/private"}
SOCKETS = [(wire, wire.stream) for wire in WIRE_CLIENTS] + [
    (wire, OTHER_SOCKETS[wire.exchange]) for wire in WIRE_CLIENTS if wire.exchange in OTHER_SOCKETS
]
SOCKET_PATHS = ("/ws", "/stream", "/v5/public", "/v5/private")


@pytest.fixture(params=WIRE_CLIENTS, ids=lambda wire: wire.exchange)
async def visitor(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Visitor]:
    wire: WireClient = request.param
    async with visiting(tmp_path, wire) as visitor:
        yield visitor


def routes_of(visitor: Visitor) -> list[tuple[str, str]]:
    """Return method and path template of all routes but the sockets."""
    application = visitor.outside.world.gateways[visitor.wire.exchange].application()
    rows = [(route.method, route.resource.canonical) for route in application.router.routes() if route.resource]
    return [
        (method, path)
        for method, path in rows
        if method in ("GET", "POST", "DELETE") and not path.startswith(SOCKET_PATHS)
    ]


async def signed_status(visitor: Visitor, call: Call) -> tuple[int, bytes]:
    """Send the call letter by letter as it was signed; return status and body."""
    now, keys = visitor.clock.now(), visitor.keys
    signed = visitor.wire.sign(call, keys, now)
    if visitor.wire.exchange == "bitstamp":
        signed = Call(call.method, call.path, call.body, bitstamp_headers(visitor.outside.url, call, keys, now))
    url = URL(f"{visitor.outside.url}/{visitor.wire.exchange}{signed.path}", encoded=True)
    async with visitor.session.request(
        signed.method,
        url,
        data=signed.body.encode() or None,
        headers=signed.headers,
        skip_auto_headers=["Content-Type"],
    ) as response:
        return response.status, await response.read()


def check_books(exchange: SimulatedExchange, before: dict[str, object]) -> None:
    customer = exchange.customer
    assert {currency: exchange.venue.total_of(currency) for currency in before} == before
    held = customer.held()
    assert all(0 <= held[currency] <= customer.balances[currency] for currency in held)
    for symbol, book in exchange.books.items():
        bid, ask = book.best("buy"), book.best("sell")
        assert bid is None or ask is None or 0 < bid < ask, symbol


async def test_every_request_is_answered_and_money_stays(visitor: Visitor) -> None:
    random, exchange = Random(visitor.wire.exchange), visitor.exchange
    before: dict[str, object] = {name: exchange.venue.total_of(name) for name in exchange.customer.balances}
    routes = routes_of(visitor)
    orders = [row for row in routes if row[0] == "POST" and row[1].startswith(ORDERS[visitor.wire.exchange][0])]
    for number in range(REQUESTS):
        method, template = random.choice(orders if number % 3 == 0 else routes)
        call = request_made(random, visitor.wire.exchange, method, template)
        status, body = await signed_status(visitor, call)
        assert status < 500, (call, body)
        if number % 10 == 0:
            # this test is not about a minute's allowance of requests
            visitor.clock.advance(20)
            visitor.rounds(1)
    check_books(exchange, before)
    assert exchange.customer.fills, "some of it should have been orders that fill"


LONG = "9" * 5_000
NUMBERS = [
    ("bitstamp", Call("POST", "/api/v2/user_transactions/", "offset=" + "9" * 20), 200),
    ("bitstamp", Call("POST", "/api/v2/user_transactions/", "since_timestamp=" + "9" * 20), 200),
    ("bitstamp", Call("POST", "/api/v2/buy/btceur/", "amount=0.0_1&price=5_0000"), 400),
    ("kraken", Call("POST", "/0/private/TradesHistory", "ofs=" + "9" * 20), 200),
    ("binance", Call("GET", "/api/v3/allOrders?symbol=BTCUSDT&orderId=" + quote("\u00b2")), 400),
    ("binance", Call("GET", "/api/v3/allOrders?symbol=BTCUSDT&limit=" + quote("\u00b2")), 400),
    ("binance", Call("GET", f"/api/v3/allOrders?symbol=BTCUSDT&limit={LONG}"), 400),
    # written out, this price fills the memory
    ("bitflyer", Call("POST", "/v1/me/sendchildorder", json.dumps({**BITFLYER_ORDER, "price": "1e-999999999"})), 400),
    ("bitflyer", Call("POST", "/v1/me/sendchildorder", json.dumps({**BITFLYER_ORDER, "price": "9000_000"})), 400),
    ("bitflyer", Call("POST", "/v1/me/sendchildorder", json.dumps({**BITFLYER_ORDER, "size": "\u0661"})), 400),
    ("coinbaseexchange", Call("GET", "/orders?status=all&start_date=0001-01-01T00:00:00%2B23:59"), 200),
]


@pytest.mark.parametrize(("exchange", "call", "status"), NUMBERS)
async def test_numbers_that_are_hardly_numbers(exchange: str, call: Call, status: int, tmp_path: Path) -> None:
    [wire] = [wire for wire in WIRE_CLIENTS if wire.exchange == exchange]
    async with visiting(tmp_path, wire) as visitor:
        answered, body = await signed_status(visitor, call)
        assert (answered, not visitor.exchange.customer.orders) == (status, True), body


@pytest.mark.parametrize(("wire", "path"), SOCKETS, ids=[f"{wire.exchange}{path}" for wire, path in SOCKETS])
async def test_no_frame_ends_a_conversation(wire: WireClient, path: str, tmp_path: Path) -> None:
    random = Random(wire.exchange)
    async with visiting(tmp_path, wire) as visitor:
        url = f"{visitor.outside.url}/{wire.exchange}{path}"
        async with visitor.session.ws_connect(url, autoping=False) as socket:
            private: dict[str, object] = {}
            if wire.exchange == "kraken":
                answer = await visitor.signed(Call("POST", "/0/private/GetWebSocketsToken"))
                private = {"token": answer.body["result"]["token"]}
            for _ in range(FRAMES):
                frame = frame_made(random, wire.exchange, private)
                await socket.send_str(frame)
                # not every frame is answered, and a ping always is
                await socket.ping()
                while (message := await socket.receive(timeout=DEADLINE)).type is not aiohttp.WSMsgType.PONG:
                    assert message.type is aiohttp.WSMsgType.TEXT, (frame, message)


BODY = {
    "coinbaseexchange": ("POST", "/orders"),
    "bitstamp": ("POST", "/api/v2/account_balances/"),
    "bitflyer": ("POST", "/v1/me/sendchildorder"),
    "kraken": ("POST", "/0/private/Balance"),
    "binance": ("POST", "/api/v3/order"),
    "bybit": ("POST", "/v5/order/create"),
    "okx": ("POST", "/api/v5/trade/order"),
    "coinbase": ("POST", "/api/v3/brokerage/orders"),
}
SIGNATURES = {
    "coinbaseexchange": (b"CB-ACCESS-KEY: %s", b"CB-ACCESS-SIGN: %s", b"CB-ACCESS-TIMESTAMP: %s"),
    "bitstamp": (b"X-Auth: BITSTAMP %s", b"X-Auth-Signature: %s", b"X-Auth-Timestamp: %s", b"X-Auth-Nonce: \xff"),
    "bitflyer": (b"ACCESS-KEY: %s", b"ACCESS-SIGN: %s", b"ACCESS-TIMESTAMP: %s"),
    "kraken": (b"API-Key: %s", b"API-Sign: %s"),
    "binance": (b"X-MBX-APIKEY: %s",),
    "bybit": (b"X-BAPI-API-KEY: %s", b"X-BAPI-SIGN: %s", b"X-BAPI-TIMESTAMP: %s", b"X-BAPI-RECV-WINDOW: \xff"),
    "okx": (b"OK-ACCESS-KEY: %s", b"OK-ACCESS-SIGN: %s", b"OK-ACCESS-TIMESTAMP: %s", b"OK-ACCESS-PASSPHRASE: \xff"),
    "coinbase": (b"Authorization: Bearer %s",),
}


def nonsense_headers(visitor: Visitor) -> tuple[bytes, ...]:
    """Return the right key and a good time, and a signature that is no text."""
    key, now = visitor.keys.api_key.encode(), visitor.clock.now()
    seconds = now // 1_000_000
    stamps = {"bitstamp": str(now // 1_000), "bybit": str(now // 1_000), "okx": iso_of(now)}
    stamp = stamps.get(visitor.wire.exchange, str(seconds)).encode()
    first, *others = SIGNATURES[visitor.wire.exchange]
    values = [stamp if b"TIMESTAMP" in other.upper() else b"\xff\xfe" for other in others]
    more = [other % value if b"%s" in other else other for other, value in zip(others, values, strict=True)]
    return (first % key, *more, b"CB-ACCESS-PASSPHRASE: \xff", b"X-Auth-Version: v2")


@pytest.mark.parametrize("body", [b"", b"\xff\xfe\x00", b"nonce=1&x=%ff\xff"])
@pytest.mark.parametrize("kind", [b"application/json", b"text/plain; charset=\xff", b"text/plain; charset=nonesuch"])
async def test_bytes_that_are_no_text_are_rejected(visitor: Visitor, body: bytes, kind: bytes) -> None:
    method, path = BODY[visitor.wire.exchange]
    headers = (b"Content-Type: " + kind, b"Content-Length: %d" % len(body), *nonsense_headers(visitor))
    for where in (path, f"{path}?x=%ff%00&signature=%ff&timestamp={visitor.clock.now() // 1_000}"):
        assert (await raw_answer(visitor, method, where, *headers, body=body))[0] < 500


async def test_a_private_path_is_private_however_it_is_written(visitor: Visitor) -> None:
    path, prefix = PRIVATE[visitor.wire.exchange], f"/{visitor.wire.exchange}"
    method = "POST" if visitor.wire.exchange in ("bitstamp", "kraken") else "GET"
    letter = f"%{ord(path[2]):02x}"
    for target in (
        f"{prefix}{path}",
        f"{prefix}/{path[1]}{letter}{path[3:]}",
        f"{visitor.outside.url}{prefix}{path}",
        f"{prefix}/ws/..{path}",
        f"{prefix}/0/public/../..{path}",
        f"%2f{prefix[1:]}{path}",
    ):
        status, answer = await raw_answer(visitor, method, target, b"Content-Length: 0", is_complete=True)
        assert status < 500, target
        assert not any(f'"{currency}' in answer for currency in ("BTC", "XXBT", "btc")), target


@pytest.mark.parametrize("host", [b"[", b"[::1", b"a b", b"\xff", b":", b"x:99999999"])
async def test_a_host_that_is_none_is_survived(visitor: Visitor, host: bytes) -> None:
    method, path = BODY[visitor.wire.exchange]
    headers = (b"Content-Length: 0", *nonsense_headers(visitor))
    assert (await raw_answer(visitor, method, path, *headers, host=host))[0] < 500


async def test_a_token_that_is_no_text_opens_nothing(tmp_path: Path) -> None:
    async with visiting(tmp_path, WIRE_CLIENTS[0]) as visitor:
        header = b"Authorization: Bearer \xff"
        status, answer = await raw_answer(visitor, "GET", "/admin/faults", header, is_complete=True)
        assert (status, "Authorization: Bearer" in answer) == (401, True)


async def raw_answer(
    visitor: Visitor,
    method: str,
    target: str,
    *headers: bytes,
    host: bytes = b"127.0.0.1",
    body: bytes = b"",
    is_complete: bool = False,
) -> tuple[int, str]:
    """Return status and body of a request sent byte by byte; `is_complete`: the target stands as it is."""
    address = urlsplit(visitor.outside.url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    target = target if is_complete else f"/{visitor.wire.exchange}{target}"
    lines = (f"{method} {target} HTTP/1.1".encode(), b"Host: " + host, b"Connection: close", *headers)
    writer.write(b"\r\n".join(lines) + b"\r\n\r\n" + body)
    answer = await asyncio.wait_for(reader.read(), DEADLINE)
    writer.close()
    await writer.wait_closed()
    head, _, text = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), text.decode(errors="replace")
