"""The structured host in Spark, on a real Kafka: the rows and ids of the other hosts, ended and gone on."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cep.apps.errors import AppFailedError
from cep.apps.hosts.app_messages import app_message
from cep.apps.hosts.hosted_app import AppSource, HostedApp, app_source
from cep.apps.resident.apps import resident_master
from cep.apps.resident.kernel import PlacedApp
from cep.apps.structured.app import StructuredApp, StructuredTask
from launch.sessions.live_apps import Hosting
from launch.setup.data_dir import home_folder
from launch.supervisor.spark_command import quiet_session
from streams.message_format import row_of
from streams.topic_admin import ensure_input_log, ensure_topics
from streams.topics import TICKS
from tests.cep.apps.equality.app_logs import PARTITIONS, hosted_text, input_rows
from tests.cep.apps.equality.host_runs import FIRST, collected, differing, logged, placed, structured, write_logs
from tests.cep.apps.equality.made_up_apps import BY_BASE, BY_EXCHANGE
from tests.cep.apps.hosts.test_hosts_agree import rows_by_partition
from tests.cep.logs import LogMaker
from tests.services import embedded_kafka

pytestmark = pytest.mark.slow
FAILING = """@App:name('failing') @App:host('structured')
partition with (exchange of ticks) begin
    from ticks[kind == 'quote'] select exchange, count() as n insert into #Counts;
    from #Counts select exchange, n insert into Counts;
    from #Counts[n == 40L] select cast(exchange, 'int') + 1 as n insert into Bad;
end;
"""
"""Its fortieth quote of an exchange cannot be computed."""
TIMEOUT_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Place:
    spark: SparkSession
    kafka: str
    folder: Path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("structured")
    (folder / "jars").symlink_to(home_folder() / "jars")
    settings = Hosting(placed((by_key(FAILING),), folder), "").settings
    with embedded_kafka(folder / "kafka") as kafka:
        asyncio.run(ensure_topics(kafka.address, PARTITIONS))
        with quiet_session(folder, resident_master(2 * PARTITIONS), settings) as spark:
            yield Place(spark, kafka.address, folder)


def by_key(text: str) -> AppSource:
    return app_source(hosted_text(text), "a")


def of_apps(messages: set[bytes], *sources: AppSource) -> set[bytes]:
    names = {one.name for one in sources}
    return {one for one in messages if row_of(one)["app"] in names}


def test_ended_and_gone_on_it_gives_what_one_kernel_gives(place: Place) -> None:
    sources = (by_key(BY_BASE), by_key(BY_EXCHANGE))
    merged = sources[0]
    asyncio.run(ensure_input_log(place.kafka, merged.topic, PARTITIONS))
    maker = LogMaker(3)
    maker.write(800)
    logs = {TICKS: list(rows_by_partition(maker.end())), merged.topic: list(input_rows(merged, 3, 300))}
    for part in (slice(300), slice(300, None)):
        with structured(place.spark, place.kafka, sources, place.folder / "apps"):
            asyncio.run(write_logs(place.kafka, {topic: rows[part] for topic, rows in logs.items()}))
            logged_apps = asyncio.run(logged(place.kafka, sources))
            wanted = {app_message(row) for one in logged_apps for row in one.rows}
            found = asyncio.run(collected(place.kafka, wanted, FIRST))
        assert differing(of_apps(found, *sources), wanted) == {}
    assert len(wanted) > 300
    kept = list((place.folder / "apps").rglob("*"))
    assert any(path.name == "metadata" for path in kept)
    assert [path for path in kept if path.stat().st_mode & 0o077] == []


def test_one_that_fails_gives_what_was_before_and_stays_ended(place: Place) -> None:
    source = by_key(FAILING)
    log = LogMaker(7).write(400)
    asyncio.run(ensure_input_log(place.kafka, "app-failing", 1))
    app, wanted, problem = HostedApp(source, 0), set[bytes](), ""
    try:
        for offset, row in enumerate(log):
            wanted |= {app_message(out) for out in app.take(offset, 0, row_of(row))}
    except AppFailedError as error:
        problem = str(error)
    asyncio.run(write_logs(place.kafka, {"app-failing": [(0, row) for row in log]}))
    assert "cannot be computed" in problem
    # a log of its own, under the name of the topic that it reads
    task = StructuredTask(PlacedApp(source, place.folder / "failing", {("app-failing", 0): 0}), place.kafka)
    for _ in range(2):
        host = StructuredApp(place.spark, task)
        host.start()
        assert host.ended.wait(TIMEOUT_SECONDS)
        host.stop()
        # begun again it says so with the next row
        asyncio.run(write_logs(place.kafka, {"app-failing": [(0, log[0])]}))
        assert host.problems == {source.label: problem}
        found = asyncio.run(collected(place.kafka, wanted, FIRST))
        assert differing(of_apps(found, source), wanted) == {}
    assert len(wanted) > 50
