"""`python -m launch.commands.setup`: installs what an environment needs besides the pinned packages; with `regions`
also MirrorMaker's jars for sessions with regions, with `quick` no archive of Spark's classes."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from cep.class_archive import make_class_archive
from cep.errors import CepError
from cep.spark_session import archive_is_current, archive_path
from exchanges.simulated_markets import paper_markets
from launch.config.configuration import Configuration
from launch.errors import LaunchError
from launch.sessions.paper import SETTLEMENT_CURRENCY
from launch.setup.data_dir import home_folder, make_private
from launch.setup.jar_pins import JAR_SETS, REGION_JAR_SETS, JarSet
from launch.setup.jars import resolve_jars
from launch.setup.login_files import supervisors_session
from launch.setup.side_by_side import Job, run_jobs
from launch.supervisor.ctrl_c import stderr_to
from launch.supervisor.process_plan import kafka_process
from launch.supervisor.supervisor import Supervisor
from session.session import Services, Session
from store.errors import StoreError
from store.server.embedded_mongod import mongod_program
from streams.broker.embedded_broker import free_ports

BROKER_SECONDS = 60.0
AHEAD = (sys.executable, "-m", "launch.commands.compile_ahead")
COMPILED = (
    Job("what a session imports", (*AHEAD, "imports")),
    Job("detection for backtests", (*AHEAD, "kernel")),
)


def prepare(
    home: Path, echo: Callable[[str], None], jar_sets: tuple[JarSet, ...] = JAR_SETS, is_quick: bool = False
) -> None:
    """Install mongod if there is one for this system and the jars of these sets in `home`, and compile what a session
    imports and detection; unless `is_quick`, archive Spark's classes. Raises CannotStartError."""
    make_private(home)
    try:
        mongod_program()
    except StoreError as error:
        echo(str(error))
    resolve_jars(home, echo, jar_sets)
    run_jobs(COMPILED, lambda names: echo(f"compiling once: {', '.join(names)}"))
    if not is_quick and not archive_is_current(archive_path(home)):
        with stderr_to(home / "logs" / "backtest-spark.log"):
            asyncio.run(_archive_classes(home, echo))


async def _archive_classes(home: Path, echo: Callable[[str], None]) -> None:
    """Run the Spark job once on an empty log and archive its classes; without the archive it only starts more
    slowly."""
    (port,) = free_ports(1)
    with TemporaryDirectory() as folder:
        session = Session(
            session_id="set-up",
            mode="paper",
            home=Path(folder),
            services=Services(kafka=f"127.0.0.1:{port}", mongodb="", database=""),
            markets=paper_markets(),
            settlement_currency=SETTLEMENT_CURRENCY,
        )
        (session.home / "jars").symlink_to(home / "jars")
        session = supervisors_session(session, Configuration(), {})
        broker = Supervisor(session.home, [kafka_process(session, echo)], lambda _: None)
        await broker.start()
        try:
            await broker.all_ready(BROKER_SECONDS)
            await asyncio.to_thread(make_class_archive, session, echo)
        except (LaunchError, CepError) as error:
            echo(without_archive(error))
        finally:
            await broker.stop()


def without_archive(error: Exception) -> str:
    """Return what the missing archive means for the user, and what to do."""
    return (
        f"Spark will start more slowly, everything else is ready: {str(error).rstrip('.')}. "
        "Run `make setup` again while the machine is idle to retry."
    )


def main(words: tuple[str, ...] = ()) -> int:
    if words not in ((), ("regions",), ("quick",)):
        sys.stderr.write(f"setup: {' '.join(words)} means nothing here; give nothing, `regions` or `quick`.\n")
        return 2
    jars = (*JAR_SETS, *REGION_JAR_SETS) if words == ("regions",) else JAR_SETS
    try:
        prepare(home_folder(), _say, jars, is_quick=words == ("quick",))
    except LaunchError as error:
        sys.stderr.write(f"setup: {error}\n")
        return error.exit_code
    return 0


def _say(line: str) -> None:
    """Print the line without a step number: these checks run at each start, the steps of `launch.setup.environment`
    once."""
    sys.stdout.write(f"set-up: {line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(tuple(sys.argv[1:])))
