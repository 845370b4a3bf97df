"""Rows to and from a real broker of MQTT, in both versions, through kills of the broker."""

import asyncio
import importlib.util
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import orjson
import pytest

from cep.apps.ends.sink_ends import MqttTarget
from cep.apps.ends.source_ends import MqttTopics
from cep.apps.transports.message_queue import MOST_BYTES
from cep.apps.transports.mqtt_connection import MqttTerms
from cep.apps.transports.mqtt_ends import MqttReceiver, MqttSender
from cep.apps.transports.ports import IncomingMessage, NotTakenError, OutgoingRow, RowsRefusedError, TakenMessages
from streams.errors import StreamUnavailableError
from tests.cep.apps.transports.ends import sink_of, source_of
from tests.cep.apps.transports.kept_rows import KeptRows
from tests.cep.apps.transports.mqtt_broker import PROGRAM, Broker, broker

pytestmark = [
    pytest.mark.skipif(PROGRAM is None, reason="mosquitto is not installed here"),
    pytest.mark.skipif(importlib.util.find_spec("paho") is None, reason="the extra mqtt is not installed here"),
]
NAME = "mqtt://broker.example.com:1883"
VERSIONS = pytest.mark.parametrize("version", ["3.1.1", "5"])


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Broker]:
    async with broker(tmp_path) as made:
        yield made


def sender(running: Broker, options: str, user: str | None = None) -> MqttSender:
    sink = sink_of(f"type = 'mqtt', url = '{NAME}', {options}, @map(type = 'json')")
    assert isinstance(sink.target, MqttTarget)
    terms = MqttTerms("127.0.0.1", running.port, user, "secret" if user else None)
    return MqttSender(sink.target, sink.writer, terms, "test-sink", ("out/#",))


def receiver(running: Broker, options: str) -> MqttReceiver:
    source = source_of(f"type = 'mqtt', url = '{NAME}', {options}, @map(type = 'json')")
    assert isinstance(source.origin, MqttTopics)
    terms = MqttTerms("127.0.0.1", running.port)
    return MqttReceiver(source.origin, terms, "test-source")


def rows(first: int, count: int) -> list[OutgoingRow]:
    return [OutgoingRow(f"id:{n}", n, {"symbol": "BTC", "n": n, "place": "eu"}) for n in range(first, first + count)]


async def begun(running: Broker, options: str, kept: KeptRows) -> "asyncio.Task[None]":
    """Run a source until it is subscribed: a message to itself has come."""
    task = asyncio.create_task(receiver(running, options).run(kept))
    probe = sender(running, "topic = 'out/probe', quality.of.service = '1'")
    async with asyncio.timeout(30):
        while not kept.messages:
            assert not task.done(), task.exception()
            await probe.send(NAME, rows(0, 1))
            await asyncio.sleep(0.05)
    await probe.close()
    return task


async def ended(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@VERSIONS
@pytest.mark.parametrize("qos", ["0", "1", "2"])
async def test_rows_come_in_their_order_in_every_quality(running: Broker, version: str, qos: str) -> None:
    kept, options = KeptRows(), f"quality.of.service = '{qos}', version = '{version}'"
    task = await begun(running, f"topic = 'out/probe, out/+/rows', {options}", kept)
    sent = sender(running, f"topic = 'out/{{{{place}}}}/rows', {options}")
    probes = len(kept.messages)
    await sent.send(sent.destination({}), rows(1, 50))
    await sent.send(sent.destination({}), rows(51, 50))
    await kept.until(probes + 100)
    found = [one for one in kept.messages if one.properties["topic"] == "out/eu/rows"]
    assert [one.body.decode() for one in found] == [
        f'{{"event":{{"symbol":"BTC","n":{n},"place":"eu"}}}}' for n in range(1, 101)
    ]
    await sent.close()
    await ended(task)


@VERSIONS
async def test_what_was_not_kept_comes_again_and_what_came_meanwhile_waits(running: Broker, version: str) -> None:
    kept, options = KeptRows(), f"topic = 'out/#', quality.of.service = '1', version = '{version}'"
    task = await begun(running, options, kept)
    seen = len(kept.messages)
    kept.fails = 1
    sent = sender(running, "topic = 'out/a', quality.of.service = '1'")
    await sent.send(NAME, rows(1, 1))
    with pytest.raises(StreamUnavailableError):
        async with asyncio.timeout(30):
            await task
    assert len(kept.messages) == seen
    # nobody listens now
    await sent.send(NAME, rows(2, 3))
    task = asyncio.create_task(receiver(running, options).run(kept))
    await kept.until(seen + 4)
    assert [f'"n":{n},' in body for n, body in zip(range(1, 5), kept.bodies[seen:], strict=True)] == [True] * 4
    await sent.close()
    await ended(task)


async def test_a_sink_waits_while_the_broker_is_away_and_goes_on_then(running: Broker) -> None:
    sent = sender(running, "topic = 'out/a', quality.of.service = '2', message.retain = 'true'")
    await sent.send(NAME, rows(1, 2))
    await running.kill()
    async with asyncio.timeout(60):
        with pytest.raises(NotTakenError):
            await sent.send(NAME, rows(3, 2))
        with pytest.raises(NotTakenError, match="cannot be reached"):
            await sent.send(NAME, rows(3, 2))
        await running.start()
        await sent.send(NAME, rows(3, 2))
    kept = KeptRows()
    task = asyncio.create_task(receiver(running, "topic = 'out/a'").run(kept))
    # the last one is retained for whoever comes later
    assert '"n":4' in (await kept.until(1))[0]
    assert kept.messages[0].properties["retained"] == "true"
    await sent.close()
    await ended(task)


@dataclass(slots=True)
class SlowBroker:
    """A broker of MQTT 3.1.1 that takes the connection, and then answers the first so many messages alone. `seen`: the
    numbers of the rows, by connection."""

    answers: int
    seen: list[list[int]] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.seen.append(seen := [])
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                kind, length = (await reader.readexactly(1))[0], 0
                for place in range(4):
                    digit = (await reader.readexactly(1))[0]
                    length |= (digit & 127) << 7 * place
                    if digit < 128:
                        break
                body = await reader.readexactly(length)
                if kind >> 4 == 1:
                    writer.write(b"\x20\x02\x00\x00")
                if kind >> 4 == 3:
                    end = 2 + int.from_bytes(body[:2], "big")
                    seen.append(orjson.loads(body[end + 2 :])["event"]["n"])
                    if len(seen) <= self.answers:
                        writer.write(b"\x40\x02" + body[end : end + 2])
                if kind >> 4 == 14:
                    break
        writer.close()


async def test_a_slow_broker_gets_no_row_twice_on_one_connection() -> None:
    slow = SlowBroker(answers=3)
    async with await asyncio.start_server(slow.serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        sink = sink_of(f"type = 'mqtt', url = '{NAME}', topic = 'out/a', @map(type = 'json')")
        assert isinstance(sink.target, MqttTarget)
        terms = MqttTerms("127.0.0.1", port, answer_seconds=3.0)
        sent = MqttSender(sink.target, sink.writer, terms, "test-sink", ("out/#",))
        waiting = rows(0, 8)
        for taken in (3, 3, 2):
            if len(waiting) > taken:
                with pytest.raises(NotTakenError, match="does not answer") as found:
                    await sent.send(NAME, waiting)
                assert found.value.taken == taken
            else:
                await sent.send(NAME, waiting)
            waiting = waiting[taken:]
        await sent.close()
    assert waiting == []
    assert [one[:3] for one in slow.seen] == [[0, 1, 2], [3, 4, 5], [6, 7]]
    assert all(len(set(one)) == len(one) for one in slow.seen)


async def test_rows_that_are_refused_are_named_and_the_others_sent(running: Broker) -> None:
    kept = KeptRows()
    task = await begun(running, "topic = 'out/#', quality.of.service = '1'", kept)
    seen = len(kept.messages)
    sent = sender(running, "topic = 'out/{{symbol}}', quality.of.service = '1'")
    given = [replace(one, values={**one.values, "symbol": "a+" if one.time in (2, 5) else "a"}) for one in rows(1, 6)]
    with pytest.raises(RowsRefusedError, match="a character that no topic may have") as found:
        await sent.send(NAME, given)
    assert set(found.value.refused) == {"id:2", "id:5"}
    await kept.until(seen + 4)
    assert numbers(kept)[seen:] == [1, 3, 4, 6]
    await sent.close()
    await ended(task)


@VERSIONS
async def test_no_more_is_read_than_fits_while_nobody_keeps_it(running: Broker, version: str) -> None:
    """Messages of 600 kB, of which 26 fit: the broker has the others."""
    kept = HeldRows(KeptRows())
    receiving = receiver(running, f"topic = 'out/big', quality.of.service = '1', version = '{version}'")
    task = asyncio.create_task(receiving.run(kept))
    sent = sender(running, "topic = 'out/big', quality.of.service = '1', message.retain = 'true'")
    pad = "x" * 600_000
    numbered = [OutgoingRow(f"id:{n}", n, {"symbol": pad, "n": n, "place": "eu"}) for n in range(60)]
    async with asyncio.timeout(60):
        while not kept.asked:
            # it may not be subscribed yet
            await sent.send(NAME, numbered[:1])
            await asyncio.sleep(0.05)
        for one in numbered[1:]:
            await sent.send(NAME, [one])
        assert kept.asked == 1
        kept.free.set()
        while numbers(kept.rows)[-1:] != [59]:  # noqa: ASYNC110 - the other task
            await asyncio.sleep(0.05)
    assert list(dict.fromkeys(numbers(kept.rows))) == list(range(60))
    # a batch has what fits
    assert max(kept.sizes) <= MOST_BYTES
    await sent.close()
    await ended(task)


def numbers(kept: KeptRows) -> list[int]:
    return [orjson.loads(one)["event"]["n"] for one in kept.bodies]


@dataclass(slots=True)
class HeldRows:
    """Takes nothing before it is `free`. `sizes`: bytes of each batch."""

    rows: KeptRows
    free: asyncio.Event = field(default_factory=asyncio.Event)
    asked: int = 0
    sizes: list[int] = field(default_factory=list)

    async def take(self, messages: Sequence[IncomingMessage]) -> TakenMessages:
        self.asked += 1
        await self.free.wait()
        self.sizes.append(sum(len(one.body) for one in messages))
        return await self.rows.take(messages)


async def test_a_lost_connection_ends_the_source(running: Broker) -> None:
    kept = KeptRows()
    task = await begun(running, "topic = 'out/probe'", kept)
    await running.kill()
    with pytest.raises(NotTakenError):
        async with asyncio.timeout(60):
            await task


async def test_a_login_that_is_refused_is_no_fault_of_the_rows(tmp_path: Path) -> None:
    async with broker(tmp_path, "allow_anonymous false") as running:
        sent = sender(running, "topic = 'out/a', version = '5'", "user")
        with pytest.raises(NotTakenError, match="refuses the client") as found:
            await sent.send(NAME, rows(1, 1))
        assert "secret" not in str(found.value)
        with pytest.raises(RowsRefusedError, match="refuses the client"):
            await receiver(running, "topic = 'out/a'").run(KeptRows())


@pytest.mark.parametrize(
    ("topic", "symbol"),
    [("out/{{symbol}}", one) for one in ("a/#", "+", None)] + [("{{symbol}}/a", one) for one in ("x", "$SYS", "outer")],
)
async def test_a_row_reaches_no_topic_that_is_not_allowed(running: Broker, topic: str, symbol: str | None) -> None:
    sent = sender(running, f"topic = '{topic}'")
    with pytest.raises(RowsRefusedError):
        await sent.send(NAME, [OutgoingRow("id", 1, {"symbol": symbol, "n": 1, "place": "eu"})])
    await sent.close()
