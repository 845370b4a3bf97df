"""The Spark session of a backtest: all cores of this machine, or any master by configuration."""

import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp

from pyspark.sql import SparkSession

from cep.errors import CepCannotStartError
from cep.spark_session import (
    QUIET_SETTINGS,
    archive_options,
    archive_path,
    closed_to_others,
    connector_jars,
    joined_options,
    started_session,
    stop_at_once,
    stop_in_order,
)

MASTER = "local[*]"
LOOPBACK = "127.0.0.1"
MEMORY = "1g"
"""Memory of the JVM; ticks never enter it, only the opportunities found in them."""

JVM_OPTIONS = (
    # a backtest is over before the second compiler would have paid off: the work is done in Python's workers
    "-XX:TieredStopAtLevel=1",
    "-XX:ReservedCodeCacheSize=240m",
    "-XX:+UseSerialGC",
)
SETTINGS = {
    # forked workers keep what they imported from one task to the next
    "spark.python.worker.reuse": "true",
    "spark.python.daemon.module": "backtest.detect.worker_daemon",
    # otherwise tables and plain collections get workers of their own, which load everything once more
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    # a plan runs once: adapting it to the sizes of its parts costs more than it saves
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "4",
}


@contextmanager
def backtest_session(
    home: Path, master: str = MASTER, address: str = LOOPBACK, extra: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """Return the one Spark session of this process while the context lasts; its JVM is gone afterwards.

    `home`: the data folder; below it lie Spark's temporary files, removed at the end. `master`: any that Spark knows;
    the workers of a cluster need this project installed and see tick sets under the same paths. `address`: where they
    reach this process. `extra`: settings of Spark that go before ours. Raises CepCannotStartError.
    """
    with scratch_folder(home / "spark-backtest") as scratch:
        # a cluster's workers would need the secret, which only whoever runs the cluster may hand out
        guarded = closed_to_others(scratch) if master.startswith("local") else {}
        settings = guarded | _settings(home, scratch, address) | dict(extra or {})
        spark = started_session(master, "backtest", scratch, settings)
        try:
            yield spark
        except (KeyboardInterrupt, SystemExit):
            # the rest is not needed any more, and a running job would not notice that soon
            stop_at_once(spark)
            raise
        except BaseException:
            stop_in_order(spark)
            raise
        stop_in_order(spark)


@contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """Return a folder of this process, gone at the end; those of killed ones go at the beginning of the next."""
    parent.mkdir(parents=True, exist_ok=True)
    with _folder_lock(parent, fcntl.LOCK_EX):
        for leftover in parent.glob("tmp*"):
            _remove_unused(leftover)
        scratch = Path(mkdtemp(dir=parent))
        mine = os.open(scratch, os.O_RDONLY)
        fcntl.flock(mine, fcntl.LOCK_EX)
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        os.close(mine)


def _remove_unused(scratch: Path) -> None:
    """Remove the folder of a killed process: the kernel frees its lock even after kill -9."""
    with (
        suppress(BlockingIOError, FileNotFoundError, NotADirectoryError),
        _folder_lock(scratch, fcntl.LOCK_EX | fcntl.LOCK_NB),
    ):
        shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def _folder_lock(folder: Path, how: int) -> Iterator[None]:
    """Hold the folder's lock. Raises BlockingIOError if another process has it and `how` says not to wait."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, how)
        yield
    finally:
        os.close(handle)


def _settings(home: Path, scratch: Path, address: str) -> dict[str, str]:
    options = (*JVM_OPTIONS, *archive_options(archive_path(home)), f"-Djava.io.tmpdir={scratch}")
    return {
        **QUIET_SETTINGS,
        **SETTINGS,
        "spark.driver.bindAddress": address,
        "spark.driver.host": address,
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.driver.memory": MEMORY,
        "spark.driver.extraJavaOptions": joined_options(options),
        **_class_path(home),
    }


def _class_path(home: Path) -> dict[str, str]:
    """Return the real-time job's class path, though nothing of it is needed: the archive of classes fits only
    that one."""
    try:
        jars = connector_jars(home / "jars" / "spark")
    except CepCannotStartError:
        return {}
    return {"spark.driver.extraClassPath": os.pathsep.join(str(jar) for jar in jars)}
