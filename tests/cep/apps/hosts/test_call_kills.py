"""An app with requests on a real Kafka: whoever asks and logs, and the task that runs the app, are killed in the middle
and started again. Each request has one answer in the log, and the app's rows are those of the log."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import orjson
import pytest

from cep.apps.hosts.app_messages import app_message
from cep.apps.hosts.call_source import CallSource
from cep.apps.hosts.hosted_app import AppSource, HostedApp
from cep.apps.hosts.http_caller import HttpCaller
from cep.apps.hosts.input_log import CALLS, InputPlace
from cep.apps.hosts.input_merger import InputMerger, InputSource
from cep.apps.resident.kernel import PlacedApp
from cep.apps.resident.task import ResidentTask
from runtime.clock import wall_now
from streams.message_format import row_of
from streams.topic_admin import ensure_input_log, ensure_topics
from streams.topic_reader import TopicReader
from streams.topic_writer import TopicWriter
from streams.topics import APPS, TICKS
from tests.cep.apps.hosts.call_server import ORIGIN, call_server
from tests.cep.apps.hosts.test_app_calls import POLLING, priced
from tests.services import embedded_kafka

pytestmark = pytest.mark.slow
SOURCE = AppSource("polling", POLLING.replace("max.pool.active.connections='1'", "max.pool.active.connections='3'"))
REQUESTS = 120
KILLS = (20, 55, 90)
"""After so many answers that the app has seen."""
TIMEOUT_SECONDS = 240.0


@pytest.fixture
def kafka_with_topics(tmp_path: Path) -> Iterator[str]:
    with embedded_kafka(tmp_path / "kafka") as process:
        asyncio.run(ensure_topics(process.address, 1))
        asyncio.run(ensure_input_log(process.address, SOURCE.topic, 1))
        yield process.address


def ask_until_killed(kafka: str, url: str) -> None:
    async def calls(partition: int, place: InputPlace) -> InputSource:
        reader = TopicReader(kafka, (APPS,), {(APPS, partition): place.next.get(APPS, 0)})
        opened = CallSource(SOURCE.outside, SOURCE.label, partition, reader, HttpCaller({ORIGIN: url}), place)
        await opened.open()
        return opened

    asyncio.run(InputMerger(SOURCE, "s", kafka, 1, {(TICKS, 0): 0}, {CALLS: calls}).run())


def compute_until_killed(kafka: str, folder: Path) -> None:
    list(ResidentTask((PlacedApp(SOURCE, folder, {(SOURCE.topic, 0): 0}),), kafka).run((0,)))


@contextmanager
def running(kafka: str, url: str, folder: Path) -> Iterator[None]:
    """Both, killed at the end."""
    spawn = get_context("spawn")
    processes = [
        spawn.Process(target=ask_until_killed, args=(kafka, url)),
        spawn.Process(target=compute_until_killed, args=(kafka, folder)),
    ]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.join()


async def write_clock(kafka: str) -> None:
    """Write a clock with one second for each request."""
    # ahead, so that no request grows old on a busy machine
    writer, began = TopicWriter(kafka), wall_now() + 3_600_000_000
    for number in range(REQUESTS + 1):
        row = {"kind": "probe", "received_time": began + number * 1_000_000}
        writer.write(TICKS, orjson.dumps(row), partition=0)
    await writer.close(TIMEOUT_SECONDS)


async def test_killed_again_and_again_each_request_has_one_answer(kafka_with_topics: str, tmp_path: Path) -> None:
    kafka, folder = kafka_with_topics, tmp_path / "snapshots"
    await write_clock(kafka)
    seen: dict[str, bytes] = {}
    reader = TopicReader(kafka, (APPS,), "earliest")
    async with asyncio.timeout(TIMEOUT_SECONDS), call_server(priced) as server, reader:
        rows = reader.records()
        for means in (*KILLS, REQUESTS):
            with running(kafka, server.url, folder):
                while sum(b'"Means"' in value for value in seen.values()) < means:
                    record = await anext(rows)
                    row_id = str(orjson.loads(record.value)["id"])
                    assert seen.setdefault(row_id, record.value) == record.value
        asked = len(server.asked)
    async with TopicReader(kafka, (SOURCE.topic,), "earliest") as whole:
        log = [record async for record in whole.records_to_end()]
    answers = [row for row in (row_of(record.value) for record in log) if row["topic"] == "calls:price"]
    numbers = [row["offset"] for row in answers]
    assert len(numbers) == REQUESTS
    assert numbers == sorted(set(numbers))
    assert all(len(row["rows"]) == 1 for row in answers)
    assert asked >= REQUESTS
    app = HostedApp(SOURCE, 0)
    again = [out for record in log for out in app.take(record.offset, record.time, row_of(record.value))]
    assert {row.id: app_message(row) for row in again} == seen
