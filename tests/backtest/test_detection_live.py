"""The same log as a tick set in batch, and through Kafka in real-time mode: the same messages, in the same order."""

import json
import shutil
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from backtest.detect.batch_session import backtest_session
from backtest.detect.detected_messages import detected
from launch.setup.data_dir import home_folder
from session.session import Session
from streams.broker.embedded_broker import wait_ready
from streams.message_format import marker_row, row_of
from streams.topic_admin import ensure_topics
from streams.topic_reader import TopicReader
from streams.topic_writer import TopicWriter
from streams.topics import OPPORTUNITIES, TICKS, bases_by_partition, partition_of
from tests.backtest.detected_sets import CUTS, messages_found, messages_of_set, messages_wanted, without_offsets
from tests.backtest.detection_recordings import RECORDINGS, settings_for
from tests.backtest.test_batch_detection import log_set
from tests.cep.detection.oracle import Row, expected_output
from tests.cep.detection.test_job import rows_of, running_cep, until
from tests.cep.logs import LogMaker, session
from tests.services import kafka_process

BROKER_SECONDS = 60.0
ROWS_AT_ONCE = 10_000
"""Far below what a writer buffers."""


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[str]:
    """Return a broker of one test's own: the topics' names are fixed."""
    if shutil.which("java") is None:
        pytest.skip("no java on the PATH")
    if not (home_folder() / "jars" / "spark").is_dir():
        pytest.skip("Spark's Kafka connector is not there: run `make setup`")
    (tmp_path / "jars").symlink_to(home_folder() / "jars")
    with kafka_process(tmp_path / "kafka") as process:
        await wait_ready(process.address, BROKER_SECONDS)
        yield process.address


@pytest.mark.whole
@pytest.mark.parametrize("partitions", [pytest.param(1, marks=pytest.mark.soak), 3])
async def test_a_made_up_log(broker: str, tmp_path: Path, partitions: int) -> None:
    messages = LogMaker(51).write(2_000)
    made = session(tmp_path, broker)
    here = replace(made, services=replace(made.services, partitions=partitions))
    with backtest_session(tmp_path, "local[1]") as spark:
        batch = messages_found(detected(spark, log_set(tmp_path / "set", CUTS[1], messages), None))
    assert sum(map(len, batch.values())) > 500
    assert without_offsets(await found_live(here, messages)) == without_offsets(batch)


@pytest.mark.soak
@pytest.mark.parametrize("partitions", [1, 3])
@pytest.mark.parametrize("name", RECORDINGS)
async def test_a_recording(broker: str, tmp_path: Path, name: str, partitions: int) -> None:
    tick_set = RECORDINGS[name](tmp_path / name)
    own, manifest = settings_for(tick_set), tick_set.manifest
    made = session(tmp_path, broker)
    here = replace(
        made,
        services=replace(made.services, partitions=partitions),
        markets=manifest.markets,
        settlement_currency=manifest.settlement_currency,
    )
    with backtest_session(tmp_path, "local[1]") as spark:
        batch = messages_found(detected(spark, tick_set, own))
    assert sum(map(len, batch.values())) > 100
    assert without_offsets(await found_live(here, messages_of_set(tick_set, own))) == without_offsets(batch)


async def found_live(here: Session, messages: list[bytes]) -> dict[str, list[Row]]:
    """Return what the real-time job makes of the log, which a plain loop over the topic itself must make of it as
    well."""
    await ensure_topics(here.services.kafka, here.services.partitions)
    async with running_cep(here):
        now = row_of(messages[-1])["received_time"]
        ends = [marker_row("end", base, f"end-{base}", now) for base in here.bases]
        await write(here, [*messages, *ends])
        rows = await until(
            lambda: rows_of(here.services.kafka, OPPORTUNITIES),
            lambda rows: {row["base"] for row in rows if row["kind"] == "end"} == set(here.bases),
        )
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row["kind"] == "opportunity":
            found.setdefault(row["base"], []).append(row)
    assert found == await wanted_from_topic(here)
    return found


async def wanted_from_topic(here: Session) -> dict[str, list[Row]]:
    logs: dict[int, list[bytes]] = {}
    async with TopicReader(here.services.kafka, (TICKS,), "earliest") as reader:
        async for record in reader.records_to_end():
            logs.setdefault(record.partition, []).append(record.value)
    wanted: dict[str, list[Row]] = {}
    for log in logs.values():
        wanted |= messages_wanted(list(expected_output(log, here)), here.settlement_currency)
    return wanted


async def write(here: Session, messages: list[bytes]) -> None:
    """Write rows as `tick_writer` lays them out: those for several bases once per partition, with the bases that live
    there."""
    writer = TopicWriter(here.services.kafka)
    living = bases_by_partition(here.bases, here.services.partitions)
    for number, message in enumerate(messages):
        if number % ROWS_AT_ONCE == 0:
            await writer.flush()
        row = row_of(message)
        if "bases" not in row:
            writer.write(TICKS, message, row["base"], partition_of(row["base"], here.services.partitions))
            continue
        for partition, bases in living.items():
            writer.write(TICKS, json.dumps(row | {"bases": bases}).encode(), "all", partition)
    await writer.flush()
    await writer.close()
