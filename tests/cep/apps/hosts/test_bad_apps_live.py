"""Bad apps in Spark, in one process with good ones: each is ended with its sentence, and the others miss nothing."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.hosts.app_messages import app_message
from cep.apps.hosts.hosted_app import AppSource, HostedApp, app_source
from cep.apps.parts.app_limits import AppLimits
from cep.apps.resident.apps import ResidentApps, resident_master
from cep.apps.resident.kernel import PlacedApp
from cep.apps.resident.task import ResidentTask
from cep.apps.resident.worker_files import noted_workers
from launch.sessions.live_apps import SPARK
from launch.supervisor.spark_command import quiet_session
from runtime.clock import SystemClock
from streams.errors import StreamUnavailableError
from streams.message_format import row_of
from streams.topic_admin import ensure_topics
from streams.topic_reader import TopicReader
from streams.topics import APPS, TICKS
from tests.cep.apps.hosts.quote_app import other_source
from tests.cep.logs import LogMaker, write_ticks
from tests.services import embedded_kafka

pytestmark = pytest.mark.slow
TIMEOUT_SECONDS = 240.0
GOOD = 5
HALF = 1_200
"""What an app keeps is counted at the thousandth row."""
OWN = "define function f[python] return int {{ bad.{} }}; from quotes[f() > 0] select base insert into O;"
BAD = {
    OWN.format("in_c"): (
        "the app was ended: the process of partition 0 took more than 1 s of CPU without a sign (event_seconds)"
    ),
    OWN.format("in_python"): "of partition 0: it took more than 0.5 s of CPU with all that comes of it (event.seconds)",
    OWN.format("deadly"): "of partition 0",
    "@App:limits(window.rows = '50') from ticks#window.time(1 year) select base insert into O;": (
        "rows, and 50 are allowed (window.rows)"
    ),
    "@App:limits(keys = '50') from quotes select sequence, count() as n group by sequence insert into O;": (
        "keys, and 50 are allowed (keys)"
    ),
    "from quotes select base insert into A; from A select base insert into A;": (
        "the stream 'A' feeds itself without end (A -> A)"
    ),
}
"""A sum is computed in C, which lets no signal through."""
FUNCTIONS = """
import os

def in_c() -> int:
    return sum(range(10**12))

def in_python() -> int:
    while True:
        pass

def deadly() -> int:
    os._exit(1)
"""


@pytest.fixture
def own_kafka(tmp_path: Path) -> Iterator[str]:
    with embedded_kafka(tmp_path / "kafka") as process:
        asyncio.run(ensure_topics(process.address, 1))
        yield process.address


async def until_ended(apps: ResidentApps, count: int) -> None:
    clock = SystemClock()
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while len(apps.problems) < count:
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


def expected(log: list[bytes], source: AppSource) -> set[bytes]:
    """By the app alone, which was never cut."""
    kernel = HostedApp(source, 0)
    return {app_message(out) for offset, row in enumerate(log) for out in kernel.take(offset, 0, row_of(row))}


def test_bad_apps_are_ended_and_those_in_the_same_process_miss_nothing(own_kafka: str, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(FUNCTIONS)
    terms = OperatorTerms(functions=tmp_path, limits=AppLimits(event_seconds=0.5))
    log = LogMaker(7).write(HALF + 400)
    good = [other_source(number) for number in range(GOOD)]
    wanted = {message for one in good for message in expected(log, one)}
    bad = [app_source(text, f"bad{at}", terms=terms) for at, text in enumerate(BAD)]
    placed = tuple(PlacedApp(one, tmp_path / one.label, {(TICKS, 0): 0}) for one in (*bad, *good))
    task, told = ResidentTask(placed, own_kafka), list[str]()
    with quiet_session(tmp_path, resident_master(1), SPARK) as spark:
        apps = ResidentApps(spark, task, lambda source, _: told.append(source.label))
        try:
            apps.start()
            asyncio.run(write_ticks(own_kafka, log[:HALF]))
            asyncio.run(until_ended(apps, len(bad)))
            assert not apps.ended.is_set()
            asyncio.run(write_ticks(own_kafka, log[HALF:]))
            written = asyncio.run(until_written(own_kafka, wanted))
        finally:
            apps.stop()
    labels = {one.label for one in good}
    assert len(wanted) > 20 * GOOD
    assert {one for one in written if row_of(one)["id"].split(":")[0] in labels} == wanted
    assert apps.problems.keys() == {one.label for one in bad}
    assert sorted(told) == sorted(apps.problems)
    for source, sentence in zip(bad, BAD.values(), strict=True):
        assert apps.problems[source.label].endswith(sentence)
    assert noted_workers(task.folder) == {}
