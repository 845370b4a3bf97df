"""Rows that others send by HTTP: with the key of the path alone, and answered once they are kept."""

import asyncio
import io
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import aiohttp
import pytest

from cep.apps.ends.sink_ends import AnswerTarget
from cep.apps.transports.http_answers import AnswerSender, WaitingRequests
from cep.apps.transports.http_listener import MOST_WAITING_BYTES, HttpListener, TakenRows
from cep.apps.transports.ports import IncomingMessage, NotTakenError, OutgoingRow, RowsRefusedError, TakenMessages
from cep.apps.transports.socket_rows import MOST_BYTES
from tests.cep.apps.transports.ends import sink_of
from tests.cep.apps.transports.kept_rows import KeptRows

KEYS = {"/orders": "key of the orders", "/closed": "key of what is closed"}


@asynccontextmanager
async def listening(kept: KeptRows) -> AsyncIterator[tuple[HttpListener, aiohttp.ClientSession]]:
    listener = HttpListener("127.0.0.1", 0, KEYS)
    await listener.open("/orders", TakenRows(kept))
    async with aiohttp.ClientSession(listener.url) as client:
        yield listener, client
    await listener.close("/orders")


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


async def test_rows_are_answered_once_they_are_kept() -> None:
    kept = KeptRows()
    async with listening(kept) as (_, client):
        headers = {"X-Api-Key": KEYS["/orders"], "X-From": "shop"}
        for given in (bearer(KEYS["/orders"]), headers):
            async with client.post("/orders", data=b'{"n": 1}', headers=given) as answer:
                assert (answer.status, await answer.json()) == (200, {"rows": 1})
    assert kept.bodies == ['{"n": 1}'] * 2
    properties = kept.messages[1].properties
    assert (properties["path"], properties["method"], properties["header.x-from"]) == ("/orders", "POST", "shop")
    # a key is no property, so it gets into no row
    assert not any(KEYS["/orders"] in value for one in kept.messages for value in one.properties.values())


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/orders", {}, 401),
        ("/orders", bearer("another"), 401),
        ("/orders", bearer(KEYS["/closed"]), 401),
        ("/unknown", bearer(""), 401),
        ("/unknown", bearer(KEYS["/orders"]), 401),
        ("/closed", bearer(KEYS["/closed"]), 503),
    ],
)
async def test_nothing_is_taken_without_the_paths_key(path: str, headers: dict[str, str], status: int) -> None:
    kept = KeptRows()
    async with listening(kept) as (_, client), client.post(path, data=b"{}", headers=headers) as answer:
        assert answer.status == status
    assert kept.messages == []


@pytest.mark.parametrize("header", [b"X-Api-Key: \xff\xfe", b"Authorization: Bearer \xe9", b"X-From: \xff"])
async def test_bytes_that_are_no_text_are_no_key_and_no_fault(header: bytes) -> None:
    kept = KeptRows()
    is_key = not header.startswith(b"X-From")
    async with listening(kept) as (listener, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", int(listener.url.rpartition(":")[2]))
        key = b"" if is_key else b"X-Api-Key: " + KEYS["/orders"].encode() + b"\r\n"
        writer.write(b"POST /orders HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n" + key + header + b"\r\n\r\n{}")
        status = await reader.readline()
        writer.close()
        await writer.wait_closed()
    assert int(status.split()[1]) == (401 if is_key else 200)
    # what a row may have of it is a text
    assert [one.properties["header.x-from"] for one in kept.messages] == (
        [] if is_key else ["\N{REPLACEMENT CHARACTER}"]
    )


async def test_what_is_no_row_is_said_and_what_cannot_be_kept_comes_again() -> None:
    kept = KeptRows(fails=1, refused=(b"none",))
    async with listening(kept) as (_, client):
        key = bearer(KEYS["/orders"])
        async with client.post("/orders", data=b"{}", headers=key) as answer:
            assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
        async with client.post("/orders", data=b"none", headers=key) as answer:
            assert (answer.status, await answer.json()) == (400, {"error": "b'none' is no row"})
        async with client.get("/orders", headers=key) as answer:
            assert answer.status == 405
        async with client.post("/orders", data=io.BytesIO(b"x" * (MOST_BYTES + 1)), headers=key) as answer:
            assert answer.status == 413
    assert kept.messages == []


async def test_a_path_whose_app_is_starting_says_so_whatever_it_is_for() -> None:
    async with listening(KeptRows()) as (_, client):
        for method in ("GET", "POST", "DELETE"):
            async with client.request(method, "/closed", headers=bearer(KEYS["/closed"])) as answer:
                assert (answer.status, answer.headers["Retry-After"]) == (503, "1")


async def test_bodies_that_wait_have_an_end_whatever_is_sent() -> None:
    kept, free = KeptRows(), asyncio.Event()

    class Held:
        async def take(self, messages: Sequence[IncomingMessage]) -> TakenMessages:
            await free.wait()
            return await kept.take(messages)

    listener, headers, body = HttpListener("127.0.0.1", 0, KEYS), bearer(KEYS["/orders"]), b"1" * (MOST_BYTES // 2)
    await listener.open("/orders", TakenRows(Held()))
    most = MOST_WAITING_BYTES // len(body)
    async with aiohttp.ClientSession(listener.url, connector=aiohttp.TCPConnector(limit=0)) as client:

        async def post() -> int:
            async with client.post("/orders", data=body, headers=headers) as answer:
                return answer.status

        posts = [asyncio.create_task(post()) for _ in range(most + 3)]
        async with asyncio.timeout(60):
            # those beyond hear it at once
            while sum(one.done() for one in posts) < 3:  # noqa: ASYNC110 - a server
                await asyncio.sleep(0.01)
            free.set()
            statuses = await asyncio.gather(*posts)
        assert await post() == 200
    await listener.close("/orders")
    assert sorted(statuses) == [200] * most + [503] * 3


async def test_a_path_belongs_to_one_app_and_a_port_to_one_process() -> None:
    async with listening(KeptRows()) as (listener, _):
        with pytest.raises(RowsRefusedError, match="another app has the path /orders"):
            await listener.open("/orders", TakenRows(KeptRows()))
        port = int(listener.url.rpartition(":")[2])
        with pytest.raises(NotTakenError, match="nobody can listen at"):
            await HttpListener("127.0.0.1", port, KEYS).open("/orders", TakenRows(KeptRows()))
    # the last path closes the port, and the next opens it again
    assert listener.url == ""
    await listener.open("/orders", TakenRows(KeptRows()))
    assert listener.url
    await listener.close("/orders")


async def test_a_row_of_the_app_is_the_answer() -> None:
    sink = sink_of(
        "type = 'http-service-response', source.id = 'ask', message.id = '{{symbol}}'",
        before="@source(type = 'http-service', source.id = 'ask') define stream Asks (n long);",
    )
    assert isinstance(sink.target, AnswerTarget)
    requests, kept = WaitingRequests(30.0), KeptRows()
    answers, listener = AnswerSender(sink.target, sink.writer, requests), HttpListener("127.0.0.1", 0, KEYS)
    await listener.open("/orders", TakenRows(kept, requests))

    async def answer() -> str:
        await kept.until(1)
        name = kept.messages[0].properties["messageId"]
        row = OutgoingRow("id", 1, {"symbol": name, "n": 7, "place": "eu"})
        await answers.send(answers.destination(row.values), [row])
        with pytest.raises(RowsRefusedError, match="nobody waits for the answer any more"):
            await answers.send(answers.destination(row.values), [row])
        return name

    async with aiohttp.ClientSession(listener.url, headers=bearer(KEYS["/orders"])) as client:
        asked = asyncio.create_task(answer())
        async with client.post("/orders", data=b"{}") as found:
            assert found.status == 200
            assert await found.json() == {"event": {"symbol": await asked, "n": 7, "place": "eu"}}
        requests.seconds = 0.01
        async with client.post("/orders", data=b"{}") as found:
            assert found.status == 504
    await listener.close("/orders")
