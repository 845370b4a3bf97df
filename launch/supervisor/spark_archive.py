"""The archive of Spark's classes: made once, with a Kafka of its own, for quicker starts."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from cep.class_archive import make_class_archive
from cep.errors import CepError
from cep.spark_session import archive_is_current, archive_path
from exchanges.simulated_markets import paper_markets
from launch.config.configuration import Configuration
from launch.errors import LaunchError
from launch.setup.login_files import supervisors_session
from launch.supervisor.ctrl_c import stderr_to
from launch.supervisor.process_plan import kafka_process
from launch.supervisor.slow_steps import reported_if_slow
from launch.supervisor.supervisor import Supervisor
from session.session import Services, Session
from streams.broker.embedded_broker import free_ports

BROKER_SECONDS = 60.0
STILL_SECONDS = 8.0


def archive_classes(home: Path, currency: str, echo: Callable[[str], None]) -> None:
    """Make the archive unless there is one that fits; `currency`: what a session settles in."""
    if not archive_is_current(archive_path(home)):
        with stderr_to(home / "logs" / "backtest-spark.log"):
            asyncio.run(_archive_classes(home, currency, echo))


async def _archive_classes(home: Path, currency: str, echo: Callable[[str], None]) -> None:
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
            settlement_currency=currency,
        )
        (session.home / "jars").symlink_to(home / "jars")
        session = supervisors_session(session, Configuration(), {})
        broker = Supervisor(session.home, [kafka_process(session, echo)], lambda _: None)
        await broker.start()
        try:
            await broker.all_ready(BROKER_SECONDS)
            made = asyncio.to_thread(make_class_archive, session, echo)
            await reported_if_slow(made, lambda: "still archiving", echo, STILL_SECONDS, STILL_SECONDS)
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
