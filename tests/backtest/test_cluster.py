"""A backtest on a cluster: a master and two workers as processes, and the same result as in one process."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pyspark
import pytest
from pyspark.sql import SparkSession

from backtest.detect.batch_detection import detection_summary
from backtest.detect.batch_session import backtest_session
from backtest.detect.detected_messages import detected
from backtest.detect.spark_workers import SparkWorkers
from runtime.clock import SystemClock, wall_now
from streams.broker.embedded_broker import free_ports
from tests.backtest.detected_sets import CUTS, messages_found
from tests.backtest.test_batch_detection import log_set, summary_of, wanted_of
from tests.cep.logs import LogMaker

pytestmark = pytest.mark.soak

SECONDS = 120
SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
WORKERS = 2
SMALL = {"spark.executor.memory": "512m", "spark.executor.extraJavaOptions": "-XX:+UseSerialGC"}


@pytest.fixture
async def master(tmp_path: Path) -> "Iterator[str]":  # type: ignore[misc]  # the plugin takes an asynchronous generator
    """Return the address of a standalone cluster on loopback, its workers registered."""
    if shutil.which("java") is None:
        pytest.skip("no java on the PATH")
    port, web_port = free_ports(2)
    address = f"spark://127.0.0.1:{port}"
    deploy, here = "org.apache.spark.deploy", ("--host", "127.0.0.1")
    with process(tmp_path, f"{deploy}.master.Master", *here, "--port", str(port), "--webui-port", str(web_port)):
        await workers_are(web_port, 0)
        with (
            process(tmp_path, f"{deploy}.worker.Worker", *worker(tmp_path / "one"), *here, address),
            process(tmp_path, f"{deploy}.worker.Worker", *worker(tmp_path / "two"), *here, address),
        ):
            await workers_are(web_port, WORKERS)
            yield address


def worker(folder: Path) -> tuple[str, ...]:
    return ("--cores", "1", "--memory", "1g", "--webui-port", "0", "--work-dir", str(folder))


@contextmanager
def process(folder: Path, *command: str) -> Iterator[None]:
    """Run a process; all its children are gone at the end."""
    stray = {"SPARK_HOME", "SPARK_CONF_DIR", "PYTHONDONTWRITEBYTECODE"}
    own = {name: value for name, value in os.environ.items() if name not in stray} | {
        "SPARK_HOME": str(SPARK_CLASS.parents[1]),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "PYSPARK_PYTHON": sys.executable,
    }
    with (folder / "cluster.log").open("ab") as output:
        running = subprocess.Popen(
            [str(SPARK_CLASS), *command], env=own, stdout=output, stderr=output, start_new_session=True
        )
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.wait()


async def workers_are(web_port: int, number: int) -> None:
    deadline = wall_now() + SECONDS * 1_000_000
    async with httpx.AsyncClient() as client:
        while True:
            with suppress(httpx.TransportError):
                answer = await client.get(f"http://127.0.0.1:{web_port}/json/")
                if answer.status_code == 200 and answer.json()["aliveworkers"] == number:
                    return
            assert wall_now() < deadline, "the cluster did not come up"
            await SystemClock().sleep(0.2)


async def executors_are(spark: SparkSession, number: int) -> None:
    """Wait until `number` executors are there beside the driver."""
    deadline = wall_now() + SECONDS * 1_000_000
    while spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < number + 1:
        assert wall_now() < deadline, "the executors did not come up"
        await SystemClock().sleep(0.2)


async def test_two_executors_find_what_one_process_finds(master: str, tmp_path: Path) -> None:
    messages = LogMaker(41).write(800)
    tick_set, wanted = log_set(tmp_path / "set", CUTS[1], messages), wanted_of(messages)
    with backtest_session(tmp_path, "local[1]") as spark:
        alone = messages_found(detected(spark, tick_set, None))
    with backtest_session(tmp_path, master, extra=SMALL) as spark:
        await executors_are(spark, WORKERS)
        together = messages_found(detected(spark, tick_set, None))
        counted = detection_summary(SparkWorkers(spark), tick_set, None)
        places = spark.sparkContext.parallelize(range(8), 8).map(lambda _: os.getppid()).distinct().count()
    assert alone == together == wanted
    assert counted == summary_of(tick_set.manifest.rows, wanted)
    assert places == WORKERS
