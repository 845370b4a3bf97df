"""Rows to and from a real broker of MQTT, in both versions, through kills of the broker."""

import asyncio
import importlib.util
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cep.apps.ends.sink_ends import MqttTarget
from cep.apps.ends.source_ends import MqttTopics
from cep.apps.hosts.counted_warnings import CountedWarnings
from cep.apps.transports.mqtt_connection import MqttTerms
from cep.apps.transports.mqtt_ends import MqttReceiver, MqttSender
from cep.apps.transports.ports import NotTakenError, OutgoingRow, RowsRefusedError
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
    return MqttReceiver(source.origin, terms, "test-source", CountedWarnings({}))


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
