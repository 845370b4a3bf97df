"""The resident host on a standalone cluster: a partition at each of two Spark workers, of which one is killed, gives
what one kernel gives."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from cep.apps.hosts.app_messages import app_message
from cep.apps.resident.apps import MOST_FAILURES
from cep.apps.resident.task import ResidentTask
from cep.apps.resident.worker_files import noted_workers
from launch.sessions.live_apps import SPARK
from launch.supervisor.spark_command import quiet_session
from runtime.clock import SystemClock
from streams.message_format import row_of
from streams.topics import APPS, TICKS
from tests.backtest.test_cluster import SMALL, WORKERS, executors_are, master
from tests.cep.apps.equality.app_logs import PARTITIONS, all_sources, input_rows
from tests.cep.apps.equality.host_runs import (
    FIRST,
    all_rows,
    collected,
    differing,
    logged,
    patient_kafka,
    placed,
    with_input_log,
    write_logs,
)
from tests.cep.apps.hosts.test_hosts_agree import rows_by_partition, running
from tests.cep.logs import LogMaker

pytestmark = pytest.mark.soak
__all__ = ["master"]
NAMES = ("exchanges", "stale-feed", "regional-average", "unusual-price", "joined", "booked")
ROWS, INPUT_ROWS = 3_000, 800
TIMEOUT_SECONDS = 600.0
CLUSTER = {**SMALL, **SPARK, "spark.task.maxFailures": str(MOST_FAILURES)}


@pytest.fixture
def own_kafka(tmp_path: Path) -> Iterator[str]:
    with patient_kafka(tmp_path / "kafka") as address:
        yield address


async def executors_of(folder: Path) -> dict[int, int]:
    """Partition → the executor's process, once all partitions run."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while True:
            with suppress(psutil.NoSuchProcess):
                workers = noted_workers(folder)
                if len(workers) == PARTITIONS:
                    return {partition: _java_above(one) for partition, one in workers.items()}
            await SystemClock().sleep(0.1)


def _java_above(process: psutil.Process) -> int:
    return next(one.pid for one in process.parents() if one.name() == "java")


async def kill_executor(folder: Path) -> None:
    """Kill the executor of partition 0, with all its processes; Spark starts another one."""
    before = await executors_of(folder)
    assert len(set(before.values())) == WORKERS
    psutil.Process(before[0]).send_signal(signal.SIGKILL)
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while True:
            after = await executors_of(folder)
            if after[0] != before[0]:
                return
            await SystemClock().sleep(0.1)


async def test_two_workers_give_what_one_kernel_gives(master: str, own_kafka: str, tmp_path: Path) -> None:
    known = all_sources()
    sources = tuple(known[name] for name in NAMES)
    maker = LogMaker(37)
    maker.write(ROWS)
    logs = {TICKS: list(rows_by_partition(maker.end()))}
    for source in sources:
        if source.is_merged:
            await with_input_log(own_kafka, source.topic)
            logs[source.topic] = list(input_rows(source, 7, INPUT_ROWS))
    task = ResidentTask(placed(sources, tmp_path / "apps"), own_kafka)
    with quiet_session(tmp_path, master, CLUSTER) as spark:
        await executors_are(spark, WORKERS)
        with running(spark, task):
            await write_logs(own_kafka, {topic: rows[: len(rows) // 2] for topic, rows in logs.items()})
            await kill_executor(task.folder)
            await write_logs(own_kafka, {topic: rows[len(rows) // 2 :] for topic, rows in logs.items()})
            of_apps = await logged(own_kafka, sources)
            wanted = {app_message(row) for one in of_apps for row in one.rows}
            found = await collected(own_kafka, wanted, FIRST)
    assert differing(found, wanted) == {}
    assert {row_of(one)["app"] for one in wanted} == set(NAMES) - {"unusual-price"}
    partitions = {one.partition for one in await all_rows(own_kafka, APPS)}
    assert partitions == set(range(PARTITIONS))
