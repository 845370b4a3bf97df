"""The jars under the data folder: fetched once by Spark's own Ivy, checked against their pins, kept.

`<home>/jars/spark/` goes on Spark's class path, `<home>/jars/kafka/` on the embedded broker's, never the other way;
`<home>/jars/mirrormaker/`, if sessions have regions, on MirrorMaker's after the broker's.
"""

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from launch.errors import CannotStartError
from launch.setup.jar_pins import JAR_SETS, KAFKA_BROKER, MIRROR_MAKER, SPARK_CONNECTOR, JarPin, JarSet
from launch.setup.prerequisites import checked_java

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway

STOP_SECONDS = 10.0
# Of pyspark's own jars, before Ivy's: the broker's scala-library, which Spark's resolver leaves out, and the pair that
# binds SLF4J to log4j; without it the broker would run no message in any log.
BORROWED_FROM_PYSPARK = ("slf4j-api-*.jar", "log4j-slf4j2-impl-*.jar", "scala-library-*.jar")


def spark_connector_jars(home: Path) -> list[Path]:
    """Return Spark's Kafka connector, for `spark.jars`. Raises CannotStartError if set-up has not run."""
    return _present(home, SPARK_CONNECTOR)


def broker_classpath(home: Path) -> str:
    """Return the class path of the embedded broker. Raises CannotStartError if set-up has not run."""
    folder = pyspark_jars_folder()
    borrowed = [path for pattern in BORROWED_FROM_PYSPARK for path in sorted(folder.glob(pattern))]
    return os.pathsep.join(str(path) for path in [*borrowed, *_present(home, KAFKA_BROKER)])


def mirror_classpath(home: Path) -> str:
    """Return the class path of MirrorMaker. Raises CannotStartError if set-up has not run, or has not for regions."""
    broker = broker_classpath(home)
    try:
        own = _present(home, MIRROR_MAKER)
    except CannotStartError:
        raise CannotStartError(f"MirrorMaker's jars are missing below {home / 'jars'}; run `make regions`.") from None
    return os.pathsep.join([broker, *(str(path) for path in own)])


def pyspark_jars_folder() -> Path:
    """Return the jars of the installed pyspark, found without importing it. Raises CannotStartError if there are
    none."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise CannotStartError("pyspark is not installed; run `make setup`.")
    return Path(spec.origin).parent / "jars"


def jar_faults(home: Path, jar_sets: tuple[JarSet, ...] = JAR_SETS) -> dict[JarPin, str]:
    """Return pinned jars that are `missing` or `differs` from their checksum; empty when all is well."""
    return {pin: fault for jars in jar_sets for pin, fault in _faults(_folder(home, jars), jars).items()}


def resolve_jars(home: Path, echo: Callable[[str], None], jar_sets: tuple[JarSet, ...] = JAR_SETS) -> None:
    """Bring the pinned jars of these sets into the data folder; what is there and right stays as it is.

    Raises CannotStartError if a jar cannot be fetched, or what was fetched is not what was pinned.
    """
    if jar_faults(home, jar_sets):
        with _one_at_a_time(home / "jars"):
            _fetch_incomplete(home, echo, jar_sets)
    echo(f"{sum(len(jars.pins) for jars in jar_sets)} jars present, checksums match")


def install_jars(fetched: Path, folder: Path, jars: JarSet) -> None:
    """Move checked jars from one folder to another, each in one step, so that a half-written one never stands there.

    Raises CannotStartError if one is not what was pinned; nothing has been moved then.
    """
    differing = [pin.coordinate for pin in _faults(fetched, jars)]
    if differing:
        raise CannotStartError(
            f"the download of {', '.join(differing)} does not match its pinned checksum and was discarded; "
            "find out why before you change launch/setup/jar_pins.py."
        )
    folder.mkdir(parents=True, exist_ok=True)
    for pin in jars.pins:
        (fetched / pin.file_name).replace(folder / pin.file_name)
    for stray in set(folder.glob("*.jar")) - {folder / pin.file_name for pin in jars.pins}:
        stray.unlink()


def _folder(home: Path, jars: JarSet) -> Path:
    return home / "jars" / jars.name


def _present(home: Path, jars: JarSet) -> list[Path]:
    paths = [_folder(home, jars) / pin.file_name for pin in jars.pins]
    missing = [path.name for path in paths if not path.exists()]
    if missing:
        raise CannotStartError(f"{len(missing)} jars are missing below {home / 'jars'}; run `make setup`.")
    return paths


def _faults(folder: Path, jars: JarSet) -> dict[JarPin, str]:
    faults = {}
    for pin in jars.pins:
        try:
            content = (folder / pin.file_name).read_bytes()
        except FileNotFoundError:
            faults[pin] = "missing"
            continue
        if hashlib.sha256(content).hexdigest() != pin.sha256:
            faults[pin] = "differs"
    return faults


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Hold the lock, so that two set-ups at once wait for each other; what a killed one left half done is
    thrown away."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for leftover in folder.glob("fetching-*"):
            shutil.rmtree(leftover)
        yield


def _fetch_incomplete(home: Path, echo: Callable[[str], None], jar_sets: tuple[JarSet, ...]) -> None:
    incomplete = [jars for jars in jar_sets if _faults(_folder(home, jars), jars)]
    if not incomplete:
        return
    java = checked_java()
    with tempfile.TemporaryDirectory(prefix="fetching-", dir=home / "jars") as scratch, _ivy_machine(java) as gateway:
        for jars in incomplete:
            echo(f"fetching {len(jars.pins)} jars for {jars.name} (some seconds) ...")
            fetched = Path(scratch) / jars.name
            _fetch(gateway, jars, fetched)
            install_jars(fetched, _folder(home, jars), jars)


@contextmanager
def _ivy_machine(java: str) -> "Iterator[JavaGateway]":
    """Return a short-lived JVM that has Spark's classes and no Spark session."""
    # here: a session that has its jars holds this module for good, and no py4j
    from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway  # noqa: PLC0415

    port, token, process = launch_gateway(
        classpath=str(pyspark_jars_folder() / "*"),
        javaopts=["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"],
        die_on_exit=True,
        enable_auth=True,
        return_proc=True,
        java_path=java,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
    try:
        yield gateway
    finally:
        gateway.shutdown()
        _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdin is not None:
        process.stdin.close()


def _fetch(gateway: "JavaGateway", jars: JarSet, target: Path) -> None:
    """Resolve exactly the pinned coordinates, nothing that they depend on, into `target`."""
    from py4j.protocol import Py4JError, Py4JJavaError  # noqa: PLC0415

    ivy = target.with_name(f"{jars.name}-ivy")
    scala = gateway.jvm.scala
    silence = gateway.jvm.java.io.PrintStream(gateway.jvm.java.io.ByteArrayOutputStream())
    maven = getattr(getattr(gateway.jvm.org.apache.spark.util, "MavenUtils$"), "MODULE$")
    nothing = getattr(getattr(scala.collection.immutable, "Nil$"), "MODULE$")
    coordinates = ",".join(pin.coordinate for pin in jars.pins)
    try:
        settings = maven.buildIvySettings(scala.Option.empty(), scala.Option.apply(str(ivy)), True, silence)
        maven.resolveMavenCoordinates(coordinates, settings, scala.Option.empty(), False, nothing, False, silence)
    except Py4JJavaError as error:
        reason = str(error.java_exception.getMessage()).splitlines()[0]
        raise CannotStartError(
            f"the jars for {jars.name} could not be fetched ({reason}); check the network."
        ) from None
    except Py4JError as error:
        raise CannotStartError(f"the jars for {jars.name} could not be fetched ({error}).") from None
    _rename(ivy / "jars", target, jars)
    shutil.rmtree(ivy)


def _rename(ivy_jars: Path, target: Path, jars: JarSet) -> None:
    """Rename from Ivy's file names (group_artifact-version) to Maven's (artifact-version)."""
    target.mkdir()
    for pin in jars.pins:
        group = pin.coordinate.split(":")[0]
        source = ivy_jars / f"{group}_{pin.file_name}"
        if source.exists():
            source.replace(target / pin.file_name)


def main(words: list[str]) -> int:
    """Bring the jars into the data folder that is named, beside the installers of packages: py4j is there already."""
    (home,) = map(Path, words)
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        resolve_jars(home, print)
    except CannotStartError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
