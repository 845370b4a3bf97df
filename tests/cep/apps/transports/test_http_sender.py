"""Rows sent to a web server that is slow, refuses, redirects, breaks off, or is not the one it says."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult

from cep.apps.ends.checked_connections import HttpSessions
from cep.apps.ends.sink_ends import HttpTarget
from cep.apps.transports.http_sender import HttpSender, HttpTerms
from cep.apps.transports.ports import NotTakenError, OutgoingRow, RowsRefusedError
from tests.cep.apps.hosts.call_server import ORIGIN, call_server
from tests.cep.apps.transports.ends import sink_of
from tests.tls_server import certificate_server, made_certificates

ROW = OutgoingRow("app:0:1:0", 1_000, {"symbol": "BTC/USD", "n": 7, "place": "eu"})
OTHER = "https://other.example.com"


def fine(path: str, number: int) -> web.Response:
    return web.Response(text="taken")


def sender(
    options: str, addresses: dict[str, str], resolver: AbstractResolver | None = None, **terms: Any
) -> HttpSender:
    sink = sink_of(f"type = 'http', {options}, @map(type = 'json')")
    assert isinstance(sink.target, HttpTarget)
    return HttpSender(sink.target, sink.writer, HttpTerms(addresses, **terms), HttpSessions(resolver))


async def sent(made: HttpSender, row: OutgoingRow = ROW) -> None:
    try:
        async with asyncio.timeout(30):
            await made.send(made.destination(row.values), [row])
    finally:
        await made.close()


async def test_address_method_and_headers_are_those_of_the_row() -> None:
    async with call_server(fine) as server:
        options = (
            f"publisher.url = '{ORIGIN}/{{{{place}}}}/orders?of={{{{symbol}}}}', method = '{{{{method}}}}', "
            "headers = \"'User-Agent:{{symbol}}','X-N:{{n}}'\""
        )
        made = HttpSender(
            (target := sink_of(f"type='http', {options}", "symbol string, n long, place string, method string")).target,  # type: ignore[arg-type]
            target.writer,
            HttpTerms({ORIGIN: server.url}),
            HttpSessions(),
        )
        await sent(made, OutgoingRow("id", 1, {**ROW.values, "method": "put"}))
        assert server.asked == ["PUT /eu/orders?of=BTC%2FUSD"]
        assert server.agents == ["BTC/USD"]
        assert server.bodies == ['{"event":{"symbol":"BTC/USD","n":7,"place":"eu","method":"put"}}']


async def test_the_row_may_name_the_whole_address_of_an_allowed_host() -> None:
    async with call_server(fine) as server:
        made = sender("publisher.url = '{{place}}'", {ORIGIN: server.url})
        row = OutgoingRow("id", 1, {**ROW.values, "place": f"{ORIGIN}/a?b=c"})
        assert made.destination(row.values) == f"{ORIGIN}/a"
        await sent(made, row)
        assert server.asked == ["POST /a?b=c"]
        for strange in (
            "https://evil.example/",
            "http://169.254.169.254/",
            f"{ORIGIN}/../x",
            "no address",
            f"{ORIGIN}@e.x/",
        ):
            with pytest.raises(RowsRefusedError):
                await sent(made, OutgoingRow("id", 1, {**ROW.values, "place": strange}))
        assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("status", "error", "wait"),
    [
        *((status, None, None) for status in (200, 204)),
        *((status, RowsRefusedError, None) for status in (400, 410, 422)),
        *((status, NotTakenError, None) for status in (401, 403, 404, 408)),
        *((status, NotTakenError, 7.0) for status in (429, 500, 503)),
    ],
)
async def test_what_an_answer_means(status: int, error: type[Exception] | None, wait: float | None) -> None:
    headers = {} if wait is None else {"Retry-After": "7"}
    async with call_server(lambda path, number: web.Response(status=status, headers=headers)) as server:
        made = sender(f"publisher.url = '{ORIGIN}/a'", {ORIGIN: server.url})
        if error is None:
            await sent(made)
            return
        with pytest.raises(error, match=f"the answer is {status}") as found:
            await sent(made)
        assert getattr(found.value, "wait_seconds", None) == wait


async def test_redirects_are_followed_as_far_as_the_operator_allows() -> None:
    async with call_server(fine) as other, call_server(lambda path, number: answer(path)) as server:

        def answer(path: str) -> web.Response:
            to = {"/a": "/b", "/b": f"{OTHER}/c", "/loop": "/loop", "/out": "http://169.254.169.254/", "/see": "/b"}
            return web.Response(status=303 if path == "/see" else 307, headers={"Location": to[path]})

        addresses = {ORIGIN: server.url, OTHER: other.url}
        headers = {ORIGIN: {"User-Agent": "secret"}}
        await sent(sender(f"publisher.url = '{ORIGIN}/a'", addresses, headers=headers))
        assert other.asked == ["POST /c"]
        assert len(other.bodies[0]) > 10
        # what the operator gave one host is not shown to the other
        assert server.agents == ["secret", "secret"]
        assert "secret" not in other.agents[0]
        for path, problem in (("loop", "more than 5"), ("out", "not allowed"), ("see", "303, which would make")):
            with pytest.raises(RowsRefusedError, match=problem):
                await sent(sender(f"publisher.url = '{ORIGIN}/{path}'", addresses))
        assert len(other.asked) == 1


class Names(AbstractResolver):
    """Every name leads to the next of these addresses, at each time it is asked for."""

    def __init__(self, *addresses: str) -> None:
        self._addresses = iter(addresses)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [ResolveResult(hostname=host, host=next(self._addresses), port=port, family=family, proto=0, flags=0)]

    async def close(self) -> None: ...


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "169.254.169.254"])
async def test_a_name_that_leads_to_this_machine_is_asked_nothing(address: str) -> None:
    async with call_server(fine) as server:
        port = server.url.rpartition(":")[2]
        addresses = {ORIGIN: f"http://inside.example.com:{port}"}
        with pytest.raises(NotTakenError, match=f"its name leads to {address}") as found:
            await sent(sender(f"publisher.url = '{ORIGIN}/a'", addresses, Names(address)))
        assert found.value.is_of_server
        assert server.asked == []


Respond = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any]


@asynccontextmanager
async def raw_server(respond: Respond) -> AsyncIterator[str]:
    server = await asyncio.start_server(respond, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


@pytest.mark.parametrize(
    "said", [b"garbage\r\n\r\n", b"", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbroken off", b"\x16\x03\x01"]
)
async def test_garbage_and_broken_answers_are_no_acknowledgement(said: bytes) -> None:
    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(said)
        writer.close()

    async with raw_server(respond) as url:
        with pytest.raises(NotTakenError):
            await sent(sender(f"publisher.url = '{ORIGIN}/secret'", {ORIGIN: url}))


async def test_a_slow_server_and_one_that_is_away_are_tried_again() -> None:
    async with call_server(fine) as server:
        server.held["/a"] = asyncio.Event()
        options = f"publisher.url = '{ORIGIN}/a', socket.idle.timeout = '50'"
        with pytest.raises(NotTakenError):
            await sent(sender(options, {ORIGIN: server.url}))
    with pytest.raises(NotTakenError) as found:
        await sent(sender(f"publisher.url = '{ORIGIN}/secret'", {ORIGIN: server.url}))
    assert "secret" not in str(found.value)
    # where nobody is, other destinations need not be tried
    assert found.value.is_of_server


async def test_a_server_of_another_authority_gets_no_row(tmp_path: Path) -> None:
    files = made_certificates(tmp_path, "localhost", "127.0.0.1")
    problem = pytest.raises(NotTakenError, match=r"(?i)certificate")
    with certificate_server(files.server("localhost")) as port, problem:
        await sent(sender(f"publisher.url = '{ORIGIN}/a'", {ORIGIN: f"https://localhost:{port}"}))


def test_a_destination_is_shown_without_its_path() -> None:
    made = sender(f"publisher.url = '{ORIGIN}/services/{{{{place}}}}'", {ORIGIN: ORIGIN})
    destination = made.destination(ROW.values)
    assert destination == f"{ORIGIN}/services/eu"
    assert made.server(destination) == ORIGIN
    assert made.shown(destination).startswith(f"{ORIGIN}/…")
    assert "eu" not in made.shown(destination).removeprefix(ORIGIN)


async def test_the_id_goes_with_the_row() -> None:
    keys: list[str | None] = []

    async def respond(request: web.Request) -> web.Response:
        keys.append(request.headers.get("Idempotency-Key"))
        return web.Response()

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", respond)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made = sender(f"publisher.url = '{ORIGIN}/a'", {ORIGIN: site.name})
    await made.send(made.destination(ROW.values), [ROW])
    await sent(made)
    await runner.cleanup()
    assert keys == ["app:0:1:0", "app:0:1:0"]
