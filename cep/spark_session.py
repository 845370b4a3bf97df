"""The Spark session: one small JVM for the real-time query, on loopback only."""

import atexit
import logging
import os
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from subprocess import Popen, TimeoutExpired
from tempfile import gettempdir, mkdtemp
from typing import Any

import pyspark
from py4j.protocol import INPUT_CONVERTER, Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from cep.errors import CepCannotStartError

PYSPARK_JARS = Path(pyspark.__file__).parent / "jars"

log = logging.getLogger("cep")

MICRO_BATCH_SLOTS = 2
"""Task slots for the micro-batch query: real-time tasks hold theirs as long as the query runs."""

STREAMING_SETTINGS = {
    # required by real-time mode
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # without it a row waits up to 100 ms in the shuffle's network buffer
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "1",
    # the default manager forks a process for each checkpoint file; a rename is atomic on a local disk
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    # Hadoop sets the rights of each file that it writes, whatever the process's own mask is
    "spark.hadoop.fs.permissions.umask-mode": "077",
}
QUIET_SETTINGS = {
    "spark.ui.enabled": "false",
    # without a page, too, the driver remembers a thousand of each, with plans: it would grow for hours
    "spark.ui.retainedJobs": "10",
    "spark.ui.retainedStages": "10",
    "spark.ui.retainedTasks": "100",
    "spark.sql.ui.retainedExecutions": "10",
    "spark.sql.streaming.numRecentProgressUpdates": "2",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
}
WITHOUT_EXCHANGE = {
    # `coalesce(1)` in place of the exchange between tasks: it is not among the operators that Spark lists for real-time
    # mode, and tests compare its result with a plain loop
    "spark.sql.streaming.realTimeMode.allowlistCheck": "false",
}
LONGEST_SOCKET_FOLDER = 49
"""In bytes: the kernel takes 107 for the whole path of a socket, Spark gives each a name of 42, a temporary folder has
one of 14."""

MEMORY = "512m"
FIRST_COMPILER = "-XX:TieredStopAtLevel=1"
"""Halves the CPU time until the first opportunity, and lowers latency in the first minutes."""
MANY_MARKETS = 30
"""From so many on, rows come so fast that code of the first compiler falls behind; the second takes a minute of a
core until the code is compiled."""
JVM_OPTIONS = (
    # with one compiler the code cache is 48 MB; Spark fills it within minutes, and the rest is then interpreted
    "-XX:ReservedCodeCacheSize=240m",
    "-XX:+UseSerialGC",
    # else the heap begins at a 64th of the machine, and a third of that is new objects' room, touched in turn
    *("-Xms128m", "-Xmn48m"),
    # else loading classes alone collects the whole heap, which stops detection for a second in its first minute
    "-XX:MetaspaceSize=64m",
)


def connector_jars(folder: Path) -> tuple[Path, ...]:
    """Spark's Kafka connector and what it needs. Raises CepCannotStartError if it is missing."""
    # resolved: an archive of classes fits one spelling of the class path only
    jars = tuple(sorted(folder.resolve().glob("*.jar")))
    if not any(jar.name.startswith("spark-sql-kafka") for jar in jars):
        raise CepCannotStartError(f"Spark's Kafka connector is not in {folder}: run `make setup`")
    return jars


def closed_to_others(scratch: Path, temporary: str | None = None) -> dict[str, str]:
    """Return settings of a master on this machine, that keep its other users out.

    The driver's own servers, for blocks and for messages, require a secret that Spark creates at each start and keeps
    in memory. JVM and Python talk over sockets in a folder of this user: over TCP those for state and results have no
    authentication. The folder is `scratch`, or, if that path is too long for a socket, one in `temporary` (None:
    where this process has its temporary files), or in /tmp where that is too long as well."""
    scratch.mkdir(parents=True, exist_ok=True)
    folder = str(scratch)
    if not _is_short(folder):
        parent = temporary or gettempdir()
        # readable for this user only
        folder = mkdtemp(prefix="spark-", dir=parent if _is_short(parent) else "/tmp")  # noqa: S108
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return {
        "spark.authenticate": "true",
        "spark.network.crypto.enabled": "true",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": folder,
    }


def _is_short(folder: str) -> bool:
    """Whether a socket's path fits, in the folder or in a temporary folder below it."""
    return len(os.fsencode(folder)) <= LONGEST_SOCKET_FOLDER


def spark_session(
    jars: tuple[Path, ...],
    scratch: Path,
    partitions: int = 1,
    jvm_options: tuple[str, ...] = (),
    extra: Mapping[str, str] | None = None,
    markets: int = 1,
    resident_tasks: int = 0,
) -> SparkSession:
    """Start the JVM. `scratch` takes Spark's temporary files; `partitions` of the log and `resident_tasks`, which never
    end, set the number of threads, `markets` how thoroughly code is compiled.

    Raises CepCannotStartError if no JVM comes up.
    """
    _convert_no_arrays()
    options = (*compiler_options(markets), *JVM_OPTIONS, *jvm_options, f"-Djava.io.tmpdir={scratch}")
    settings = {
        **STREAMING_SETTINGS,
        **QUIET_SETTINGS,
        **closed_to_others(scratch),
        **(WITHOUT_EXCHANGE if partitions == 1 else {}),
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.driver.memory": MEMORY,
        # on the class path from the start: `spark.jars` would copy them and serve them over HTTP
        "spark.driver.extraClassPath": os.pathsep.join(str(jar) for jar in jars),
        "spark.driver.extraJavaOptions": joined_options(options),
        **(extra or {}),
    }
    threads = 2 * partitions + MICRO_BATCH_SLOTS + resident_tasks
    spark = started_session(f"local[{threads}]", "cep", scratch, settings)
    if partitions > 1:
        listen_on_loopback(spark)
    return spark


def _convert_no_arrays() -> None:
    """Take NumPy's values out of what may be passed to the JVM: detection passes none, and with the first argument of
    any kind pyspark 4.3 would import NumPy, pandas and Arrow to look for them."""
    INPUT_CONVERTER[:] = [one for one in INPUT_CONVERTER if not type(one).__name__.startswith("Numpy")]


def compiler_options(markets: int) -> tuple[str, ...]:
    """Java's options for a session with so many markets."""
    return (FIRST_COMPILER,) if markets < MANY_MARKETS else ()


def started_session(master: str, name: str, scratch: Path, settings: Mapping[str, str]) -> SparkSession:
    """Return the session of this process, on the Spark that is installed with this project.

    Raises CepCannotStartError if no JVM comes up.
    """
    # a stray SPARK_HOME or SPARK_CONF_DIR would start another Spark than the one installed with this project
    for variable in ("SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS"):
        os.environ.pop(variable, None)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = settings["spark.driver.bindAddress"]
    scratch.mkdir(parents=True, exist_ok=True)
    configuration = SparkConf().setMaster(master).setAppName(name)
    for setting, value in settings.items():
        configuration.set(setting, value)
    try:
        return SparkSession.builder.config(conf=configuration).getOrCreate()
    except (Py4JError, PySparkException, OSError) as error:
        raise CepCannotStartError(f"Spark's JVM did not come up: {error}") from error


def listen_on_loopback(spark: SparkSession) -> None:
    """Make this JVM's servers on "any address" listen on loopback only.

    The server of each exchange between tasks in real-time mode (one a partition, a new one with each batch) names no
    address, and no setting of Spark gives it one; so the JVM's own idea of "any address" is changed, which Spark opens
    to reflection. Raises CepCannotStartError if this Java keeps it elsewhere.
    """
    java = spark._jvm.java  # type: ignore[union-attr]
    try:
        implementation = _opened(java.lang.Class.forName("java.net.InetAddress"), "impl").get(None)
        address = java.net.InetAddress.getLoopbackAddress()
        _opened(implementation.getClass(), "anyLocalAddress").set(implementation, address)
    except Py4JError as error:
        stop_at_once(spark)
        raise CepCannotStartError(
            "Spark would listen on all addresses with this Java: take Java 17, or configure partitions = 1."
        ) from error
    if not java.net.InetSocketAddress(0).getAddress().isLoopbackAddress():
        stop_at_once(spark)
        raise CepCannotStartError(
            "Spark listens on all addresses with this Java: take Java 17, or configure partitions = 1."
        )


def _opened(of_class: Any, name: str) -> Any:
    field = of_class.getDeclaredField(name)
    field.setAccessible(True)
    return field


def joined_options(options: tuple[str, ...]) -> str:
    """Return the options as one line that Spark's launcher splits correctly, even with spaces in paths."""
    escaped = (option.replace("\\", "\\\\").replace('"', '\\"') for option in options)
    return " ".join(f'"{option}"' for option in escaped)


def archive_path(home: Path) -> Path:
    """Path of the class archive: beside the jars that it was made for."""
    return (home / "jars").resolve() / f"spark-{pyspark.__version__}.jsa"


def listed_jars(archive: Path, jars: Path = PYSPARK_JARS) -> str:
    """Return what the JVM requires to be as it was when the archive was made: the jars of Spark, and of the connector
    beside the archive, each with its size and its time of change in seconds."""
    on_class_path = (*jars.glob("*.jar"), *(archive.parent / "spark").glob("*.jar"))
    known = sorted((jar.name, jar.stat()) for jar in on_class_path)
    return "".join(f"{name} {stat.st_size} {int(stat.st_mtime)}\n" for name, stat in known)


def jar_list(archive: Path) -> Path:
    """Path of the list of jars that the archive was made for."""
    return archive.with_name(f"{archive.name}.jars")


def archive_is_current(archive: Path, jars: Path = PYSPARK_JARS) -> bool:
    """Whether it exists and was made for the very jars that are there; otherwise the JVM ignores it without a word."""
    try:
        return archive.exists() and jar_list(archive).read_text() == listed_jars(archive, jars)
    except OSError:
        return False


def archive_options(archive: Path) -> tuple[str, ...]:
    """JVM options that use an archive of classes if there is one; the JVM ignores one that does not fit.

    By default it is mapped at an address drawn at random and all its pointers are changed: 146 of its 178 MB become
    this JVM's own. At the address that it was made for, pages stay those of the file, and only what is used is read.
    """
    if not archive.exists():
        return ()
    # another Java may not know a diagnostic option
    known = ("-XX:+UnlockDiagnosticVMOptions", "-XX:+IgnoreUnrecognizedVMOptions")
    unmoved = (*known, "-XX:ArchiveRelocationMode=0")
    return (f"-XX:SharedArchiveFile={archive}", "-Xshare:auto", "-Xlog:disable", *unmoved)


def stop_at_once(spark: SparkSession) -> None:
    """Kills the JVM. A real-time query commits nothing when it is asked to stop, so there is nothing to wait for."""
    process = _jvm(spark)
    if process is not None:
        process.kill()
        process.wait()
        if process.stdin is not None:
            with suppress(OSError):  # the other end is closed
                process.stdin.close()
    _end_accumulators(spark)
    _forget_session()


def stop_in_order(spark: SparkSession) -> None:
    """Stop queries and the JVM, and wait for its end; kill it if it does not end within a minute."""
    process = _jvm(spark)
    try:
        for query in spark.streams.active:
            query.stop()
        spark.stop()
        if process is not None and process.stdin is not None:
            process.stdin.close()  # the JVM ends when its standard input is closed
            process.wait(60)
    except (Py4JError, ConnectionError, TimeoutExpired):
        log.warning("the JVM did not stop and was killed")
        _end_accumulators(spark)
    finally:
        if process is not None:
            process.kill()
            process.wait()
        _forget_session()


def _end_accumulators(spark: SparkSession) -> None:
    server = getattr(spark.sparkContext, "_accumulatorServer", None)
    if server is not None:
        # waits for its thread, which otherwise logs an error when the JVM ends
        server.shutdown()


def _forget_session() -> None:
    """Reset pyspark, so that this process's next session starts a new JVM."""
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None


def _jvm(spark: SparkSession) -> "Popen[bytes] | None":
    gateway = SparkContext._gateway or spark.sparkContext._gateway
    process: Popen[bytes] | None = getattr(gateway, "proc", None)
    return process
