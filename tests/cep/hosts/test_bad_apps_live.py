"""Bad apps in Spark, with real processes: each is ended with its sentence, and the app beside them misses nothing."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from cep.functions.operator_terms import OperatorTerms
from cep.hosts.app_messages import app_message
from cep.hosts.hosted_app import AppSource, HostedApp, app_source
from cep.hosts.resident_app import ResidentApp, resident_master
from cep.hosts.resident_task import ResidentTask
from cep.hosts.worker_files import noted_workers
from cep.parts.app_limits import AppLimits
from launch.sessions.live_app import SPARK
from launch.supervisor.spark_command import quiet_session
from session.clock import SystemClock
from streams.errors import StreamUnavailableError
from streams.message_format import row_of
from streams.topic_admin import ensure_topics
from streams.topic_reader import TopicReader
from streams.topic_writer import TopicWriter
from streams.topics import APPS, TICKS
from tests.cep.hosts.quote_app import source
from tests.cep.logs import LogMaker
from tests.services import embedded_kafka

pytestmark = pytest.mark.slow
TIMEOUT_SECONDS = 90.0
HALF = 400
BAD = {
    "define function f[python] return int { bad.in_c }; from quotes[f() > 0] select base insert into O;": (
        "the app was ended: the process of partition 0 took more than 1 s of CPU without a sign (event_seconds)"
    ),
    "define function f[python] return int { bad.in_python }; from quotes[f() > 0] select base insert into O;": (
        "of partition 0: it took more than 0.5 s of CPU with all that comes of it (event.seconds)"
    ),
}
"""A sum is computed in C, which lets no signal through."""
FUNCTIONS = """
def in_c() -> int:
    return sum(range(10**12))

def in_python() -> int:
    while True:
        pass
"""


@pytest.fixture
def own_kafka(tmp_path: Path) -> Iterator[str]:
    with embedded_kafka(tmp_path / "kafka") as process:
        asyncio.run(ensure_topics(process.address, 1))
        yield process.address


async def write(kafka: str, rows: list[bytes]) -> None:
    writer = TopicWriter(kafka)
    await writer.open()
    for row in rows:
        writer.write(TICKS, row, partition=0)
    await writer.flush(TIMEOUT_SECONDS)
    await writer.close()


async def until_ended(apps: list[ResidentApp]) -> None:
    clock = SystemClock()
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while not all(app.ended.is_set() for app in apps):
            await clock.sleep(0.05)


async def until_written(kafka: str, wanted: set[bytes]) -> set[bytes]:
    """All rows of the topic `apps`, read until the wanted ones are among them."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while True:
            # a broker on a busy machine may not answer a new reader at once
            with suppress(StreamUnavailableError):
                return await _read_until(kafka, wanted)


async def _read_until(kafka: str, wanted: set[bytes]) -> set[bytes]:
    written: set[bytes] = set()
    async with TopicReader(kafka, (APPS,), "earliest") as reader:
        async for record in reader.records():
            written.add(record.value)
            if wanted <= written:
                break
    return written


def test_bad_apps_are_ended_and_the_one_beside_them_misses_nothing(own_kafka: str, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(FUNCTIONS)
    terms = OperatorTerms(functions=tmp_path, limits=AppLimits(event_seconds=0.5))
    log = LogMaker(7).write(2 * HALF)
    kernel = HostedApp(source(), 0)
    wanted = {app_message(out) for offset, row in enumerate(log) for out in kernel.take(offset, 0, row_of(row))}
    sources: list[AppSource] = [source(), *(app_source(text, f"bad{at}", terms=terms) for at, text in enumerate(BAD))]
    with quiet_session(tmp_path, resident_master(len(sources)), SPARK) as spark:
        good, *bad = (
            ResidentApp(spark, ResidentTask(one, own_kafka, tmp_path / one.label, {(TICKS, 0): 0})) for one in sources
        )
        try:
            for app in (good, *bad):
                app.start()
            asyncio.run(write(own_kafka, log[:HALF]))
            asyncio.run(until_ended(bad))
            asyncio.run(write(own_kafka, log[HALF:]))
            written = asyncio.run(until_written(own_kafka, wanted))
        finally:
            for app in (good, *bad):
                app.stop()
    assert len(wanted) > 20
    assert written == wanted
    assert good.problems == []
    for app, sentence in zip(bad, BAD.values(), strict=True):
        (problem,) = app.problems
        assert problem.endswith(sentence)
        assert noted_workers(app.folder) == {}
