"""Rows that others listen to: in their order, from where each one was, and nobody waits for a slow listener."""

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.apps.ends.sink_ends import EventsTarget
from cep.apps.transports.event_feed import HEARTBEAT, MISSED, MOST_KEPT, MOST_KEPT_BYTES, EventFeed, EventSender
from cep.apps.transports.event_lines import EventLines, ServerEvent
from cep.apps.transports.http_listener import FeedServer, HttpListener
from cep.apps.transports.ports import OutgoingRow, RowsRefusedError
from tests.cep.apps.transports.ends import sink_of
from tests.ui.waiting import until

KEYS = {"/prices": "key of the prices"}
KEY = {"X-Api-Key": KEYS["/prices"]}
LIMIT_SECONDS = 30.0


@asynccontextmanager
async def served(feed: EventFeed) -> AsyncIterator[aiohttp.ClientSession]:
    listener = HttpListener("127.0.0.1", 0, KEYS)
    server = FeedServer(listener, "/prices", feed)
    serving = asyncio.create_task(server.run())
    async with asyncio.timeout(LIMIT_SECONDS):
        while not listener.url:  # noqa: ASYNC110 - the other task
            await asyncio.sleep(0)
        async with aiohttp.ClientSession(listener.url, headers=KEY) as client:
            yield client
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)
    await server.close()


async def heard(answer: aiohttp.ClientResponse, count: int) -> list[ServerEvent]:
    """Read so many events."""
    lines, found = EventLines(), list[ServerEvent]()
    while len(found) < count:
        event = lines.take((await answer.content.readline()).decode().rstrip("\n"))
        found += [] if event is None else [event]
    return found


def publish(feed: EventFeed, *numbers: int) -> None:
    for number in numbers:
        feed.publish(f"id:{number}", b'{"n": %d}' % number)


async def test_all_who_listen_hear_each_row_in_its_order() -> None:
    feed = EventFeed()
    publish(feed, 0)
    async with served(feed) as client, client.get("/prices") as one, client.get("/prices") as other:
        assert (one.status, one.content_type) == (200, "text/event-stream")
        assert await one.content.readline() == await other.content.readline() == HEARTBEAT[:-1]
        publish(feed, 1, 2, 3)
        for answer in (one, other):
            # from now on, and not what was before
            assert [(event.id, event.data) for event in await heard(answer, 3)] == [
                (f"id:{n}", f'{{"n": {n}}}') for n in (1, 2, 3)
            ]
        assert feed.listeners == 2


async def test_who_was_away_goes_on_behind_the_last_row_that_he_had() -> None:
    feed = EventFeed()
    publish(feed, *range(10))
    async with served(feed) as client:
        async with client.get("/prices", headers={"Last-Event-ID": "id:6"}) as answer:
            assert [event.id for event in await heard(answer, 3)] == ["id:7", "id:8", "id:9"]
        async with client.get("/prices", headers={"Last-Event-ID": "of another run"}) as answer:
            assert [event.id for event in await heard(answer, 10)] == [f"id:{n}" for n in range(10)]


async def test_nobody_listens_without_the_key_or_sends_rows() -> None:
    async with served(EventFeed()) as client:
        async with client.get("/prices", headers={"X-Api-Key": "another"}) as answer:
            assert answer.status == 401
        async with client.post("/prices", data=b"{}") as answer:
            assert (answer.status, answer.headers["Allow"]) == (405, "GET")


async def test_a_quiet_feed_says_that_it_is_there() -> None:
    feed = EventFeed(heartbeat_seconds=0.0)
    async with aclosing(feed.events("")) as found:
        assert [await anext(found), await anext(found)] == [HEARTBEAT, HEARTBEAT]
        publish(feed, 1)
        assert b"id: id:1\n" in await anext(found)


async def test_who_listens_hears_the_end_of_an_app_though_others_go_on() -> None:
    feed, listener = EventFeed(), HttpListener("127.0.0.1", 0, {**KEYS, "/other": "another key"})
    await listener.open("/other", EventFeed())
    async with asyncio.timeout(LIMIT_SECONDS), aiohttp.ClientSession(headers=KEY) as client:
        for number in range(2):
            await listener.open("/prices", feed)
            async with client.get(f"{listener.url}/prices") as answer:
                await answer.content.readline()
                publish(feed, number)
                await listener.close("/prices")
                assert f"id: id:{number}\n" in await answer.text()
    await listener.close("/other")


async def test_an_app_that_could_not_have_a_path_leaves_it_to_the_one_that_has() -> None:
    feed, listener = EventFeed(), HttpListener("127.0.0.1", 0, KEYS)
    await listener.open("/prices", feed)
    refused = FeedServer(listener, "/prices", EventFeed())
    with pytest.raises(RowsRefusedError, match="another app has the path"):
        await refused.run()
    await refused.close()
    assert listener.opened("/prices") is feed
    await listener.close("/prices")


UPGRADE = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"


@pytest.mark.parametrize("headers", ["", f"{UPGRADE}Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"])
async def test_who_takes_nothing_any_more_gives_his_place_to_another(headers: str) -> None:
    feed, stalled = EventFeed(bool(headers), stalled_seconds=0.05), socket.socket()
    # the kernel takes no more for him than that
    stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    async with served(feed) as client:
        stalled.connect(("127.0.0.1", int(str(client._base_url).rpartition(":")[2])))
        request = f"GET /prices HTTP/1.1\r\nHost: h\r\nX-Api-Key: {KEYS['/prices']}\r\n{headers}\r\n"
        stalled.sendall(request.encode())
        await until(lambda: feed.listeners == 1)
        feed.publish("id:0", b"x" * (4 * MOST_KEPT_BYTES))
        await until(lambda: feed.listeners == 0)
    stalled.close()


async def test_a_slow_listener_is_cut_off_and_holds_up_nobody() -> None:
    feed = EventFeed()
    publish(feed, 0, 1)
    async with aclosing(feed.events("id:0")) as slow:
        assert b"id: id:1\n" in await anext(slow)
        publish(feed, *range(2, MOST_KEPT + 3))
        assert [event async for event in slow] == []
    async with aclosing(feed.events("id:0")) as late:
        assert await anext(late) == MISSED
        assert b"id: id:3\n" in await anext(late)


async def test_rows_are_kept_up_to_so_many_bytes_and_a_longer_one_alone() -> None:
    feed, long = EventFeed(), b"x" * (MOST_KEPT_BYTES // 4)
    for number in range(10):
        feed.publish(f"id:{number}", long)
    async with aclosing(feed.events("id:0")) as found:
        assert await anext(found) == MISSED
        assert (await anext(found)).count(b"\ndata: ") == 3
    feed.publish("id:10", b"x" * (2 * MOST_KEPT_BYTES))
    async with aclosing(feed.events("id:9")) as found:
        await anext(found)
        assert (await anext(found)).startswith(b"id: id:10\n")


async def test_a_sink_gives_its_rows_to_whoever_listens() -> None:
    sink = sink_of("type = 'sse', path = '/prices', @map(type = 'json')")
    assert isinstance(sink.target, EventsTarget)
    feed = EventFeed()
    sent = EventSender(sink.target, sink.writer, feed)
    rows = [OutgoingRow(f"id:{n}", n, {"symbol": "a\r\nb\rc", "n": n, "place": "eu"}) for n in range(3)]
    async with served(feed) as client, client.get("/prices") as answer:
        await answer.content.readline()
        await sent.send(sent.destination({}), rows)
        assert [event.data for event in await heard(answer, 3)] == [
            sink.writer.write(row.values).decode() for row in rows
        ]


async def test_a_row_that_its_format_cannot_hold_is_named_and_holds_up_none_behind_it() -> None:
    sink = sink_of("type = 'sse', path = '/prices', @map(type = 'json')")
    assert isinstance(sink.target, EventsTarget)

    class Writer:
        media_type = "text/plain"

        def write(self, values: Mapping[str, Any]) -> bytes:
            if values["n"] == 1:
                raise ValueError("1 is none")
            return b"%d" % values["n"]

        def join(self, messages: Sequence[bytes]) -> bytes:
            return b"".join(messages)

    feed = EventFeed()
    rows = [OutgoingRow(f"id:{n}", n, {"n": n}) for n in range(3)]
    with pytest.raises(RowsRefusedError, match="1 is none") as refused:
        await EventSender(sink.target, Writer(), feed).send("/prices", rows)
    assert list(refused.value.refused) == ["id:1"]
    async with aclosing(feed.events("another")) as found:
        assert await anext(found) == MISSED
        assert await anext(found) == b"id: id:0\ndata: 0\n\nid: id:2\ndata: 2\n\n"


async def test_each_row_is_a_message_to_all_who_listen_by_websocket() -> None:
    feed, listener = EventFeed(is_socket=True), HttpListener("127.0.0.1", 0, {**KEYS, "/other": "another key"})
    await listener.open("/other", EventFeed())
    await listener.open("/prices", feed)
    async with asyncio.timeout(LIMIT_SECONDS), aiohttp.ClientSession(headers=KEY) as client:
        url = f"{listener.url}/prices"
        async with client.get(url) as answer:
            assert (answer.status, answer.headers["Upgrade"]) == (426, "websocket")
        with pytest.raises(aiohttp.WSServerHandshakeError, match="401"):
            await client.ws_connect(url, headers={"X-Api-Key": "another"})
        one, other = await client.ws_connect(url), await client.ws_connect(url)
        await until(lambda: feed.listeners == 2)
        # what is said to it is nobody's business
        await one.send_str("hello")
        publish(feed, 1)
        feed.publish("id:2", b"\xff")
        for listening in (one, other):
            assert await listening.receive_str() == '{"n": 1}'
            assert await listening.receive_bytes() == b"\xff"
        await other.close()
        await until(lambda: feed.listeners == 1)
        closing = asyncio.create_task(listener.close("/prices"))
        assert (await one.receive()).data == aiohttp.WSCloseCode.GOING_AWAY
        await closing
        await until(lambda: feed.listeners == 0)
    await listener.close("/other")


@given(st.lists(st.text(), max_size=5))
def test_a_message_is_read_as_it_was_written_but_for_the_ends_of_its_lines(texts: list[str]) -> None:
    feed, lines = EventFeed(), EventLines()
    for number, text in enumerate(texts):
        feed.publish(str(number), text.encode(errors="replace"))

    async def first() -> bytes:
        async with aclosing(feed.events("unknown")) as found:
            await anext(found)
            return await anext(found)

    events = [lines.take(line) for line in asyncio.run(first()).decode().split("\n")] if texts else []
    expected = [text.encode(errors="replace").decode().replace("\r\n", "\n").replace("\r", "\n") for text in texts]
    assert [event.data for event in events if event is not None] == expected
