"""Stream apps on the streams of the running session, until one of the two ends."""

import asyncio
import logging
import shutil
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Protocol

from pyspark.sql import SparkSession

from cep.apps.engine.savepoints import Savepoint
from cep.apps.hosts.hosted_app import AppSource
from cep.apps.resident.apps import ResidentApps, TellEnd, resident_master
from cep.apps.resident.kernel import PlacedApp
from cep.apps.resident.task import ResidentTask
from cep.apps.structured.app import SETTINGS, StructuredApp, StructuredTask
from cep.run_log import shown_run_log
from cep.spark_session import connector_jars
from launch.apps.http_listeners import HttpListeners
from launch.apps.savepoints import begin_from, log_label, taken_savepoint
from launch.errors import CannotStartError
from launch.sessions.app_input import FOLDER, LiveInput, apps_folder, live_input, through_outages
from launch.sessions.app_rows import AppRows, Echo
from launch.setup.data_dir import process_lock, read_session
from launch.setup.login_files import running_session
from launch.supervisor.ctrl_c import SIGNALS
from launch.supervisor.spark_command import quiet_session
from market.time_units import MICROSECONDS
from runtime.clock import SystemClock, steady_now
from session.session import Session
from streams.errors import StreamError
from streams.topic_reader import TopicReader
from streams.topics import APPS

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.2
"""How often it looks whether apps and session still run."""
SPARK: Mapping[str, str] = {"spark.python.daemon.module": "pyspark.daemon"}
"""Settings without the modules that a backtest's workers load first, which apps do not need."""


class AppHost(Protocol):
    """Runs apps from `start` to `stop`."""

    ended: Event
    """Set once none of them runs any more."""
    problems: dict[str, str]
    """By label, why an app ended if nobody asked it to."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


def run_live_apps(
    home: Path,
    sources: Collection[AppSource],
    seconds: float | None,
    rows: AppRows,
    echo: Echo,
    tell: TellEnd,
    savepoint: Savepoint | None = None,
) -> None:
    """Run the apps until Ctrl-C, the session's end or `seconds`, or until all have ended by themselves; `tell` says of
    each why. `savepoint`: from which the one app begins.

    Raises CannotStartError, CepCannotStartError, StreamError, StoreError, LookupError.
    """
    session = running_session("apps")
    with ExitStack() as locked, shown_run_log() as log_pipe:
        for source in sources:
            # of the region, which a command for the first one may not name
            locked.enter_context(process_lock(session.home, f"app-{source.label}"))
        inputs = asyncio.run(_begun(session, sources))
        folder = _folder(session)
        placed = tuple(
            PlacedApp(one.source, folder / one.source.label, one.first, session.place.region) for one in inputs
        )
        if savepoint is not None:
            begin_from(savepoint, placed[0], log_label(session.session_id, placed[0].source))
        hosting = Hosting(placed, session.services.kafka, log_pipe)
        if hosting.structured:
            connector_jars(home / "jars" / "spark")
        with quiet_session(home, resident_master(hosting.tasks), hosting.settings) as spark:
            hosts = tuple(hosting.hosts(spark, tell))
            try:
                asyncio.run(_run(_Run(session, hosts, placed, inputs, seconds), rows, echo))
            finally:
                for host in hosts:
                    host.stop()


@dataclass(frozen=True, slots=True)
class Hosting:
    """Which host has which apps of a run. `log_pipe`: of `cep.run_log`."""

    placed: tuple[PlacedApp, ...]
    kafka: str
    log_pipe: Path | None = None

    @property
    def resident(self) -> ResidentTask | None:
        """Return the resident apps' host; None if no app is resident."""
        apps = tuple(one for one in self.placed if one.source.host == "resident")
        return ResidentTask(apps, self.kafka, self.log_pipe) if apps else None

    @property
    def structured(self) -> tuple[StructuredTask, ...]:
        mine = (one for one in self.placed if one.source.host == "structured")
        return tuple(StructuredTask(one, self.kafka, self.log_pipe) for one in mine)

    @property
    def tasks(self) -> int:
        """Return how many tasks of Spark run at one time."""
        resident = self.resident
        stay = 0 if resident is None else len(resident.partitions)
        return stay + sum(len(one.placed.first) for one in self.structured)

    @property
    def settings(self) -> dict[str, str]:
        partitions = max((len(one.placed.first) for one in self.structured), default=0)
        # as many as the log has: each is Spark's key
        own = {**SETTINGS, "spark.sql.shuffle.partitions": str(partitions)} if partitions else {}
        return {**SPARK, **own}

    def hosts(self, spark: SparkSession, tell: TellEnd) -> Iterator[AppHost]:
        resident = self.resident
        if resident is not None:
            yield ResidentApps(spark, resident, tell)
        for task in self.structured:
            yield StructuredApp(spark, task, tell)


@dataclass(frozen=True, slots=True)
class _Run:
    session: Session
    hosts: tuple[AppHost, ...]
    placed: tuple[PlacedApp, ...]
    inputs: list[LiveInput]
    seconds: float | None

    @property
    def labels(self) -> frozenset[str]:
        return frozenset(one.source.label for one in self.placed)

    @property
    def is_session_running(self) -> bool:
        """Return whether this session still runs, and not another one."""
        try:
            return read_session(self.session.home).session_id == self.session.session_id
        except CannotStartError:
            return False

    @property
    def is_over(self) -> bool:
        """Return whether none of the apps runs any more."""
        return all(host.ended.is_set() for host in self.hosts)

    def described(self) -> Iterator[str]:
        *others, last = (one.description for one in self.placed)
        yield from others
        yield f"{last}; Ctrl-C ends {'them all' if others else 'it'}"


async def _begun(session: Session, sources: Collection[AppSource]) -> list[LiveInput]:
    listeners = HttpListeners()
    return [await live_input(session, source, listeners=listeners) for source in sources]


def kept_in_session(session: Session, source: AppSource) -> Savepoint:
    """Return the savepoint of what the app has kept in this session. Raises CannotStartError if it has not run."""
    folder = session.home / FOLDER / session.session_id / source.label
    return taken_savepoint(source, folder, log_label(session.session_id, source))


def _folder(session: Session) -> Path:
    """Return where the apps' folders of this session are; removes those of earlier sessions."""
    for folder in (session.home / FOLDER).glob("*"):
        if folder.name != session.session_id:
            shutil.rmtree(folder, ignore_errors=True)
    return apps_folder(session)


async def _run(run: _Run, rows: AppRows, echo: Echo) -> None:
    asked_to_end = asyncio.Event()
    async with TopicReader(run.session.services.kafka, (APPS,), "latest") as reader, _signals_to(asked_to_end.set):
        parts = (
            through_outages("reading", lambda: _read(reader, run.labels, rows)),
            *(part for one in run.inputs for part in one.parts()),
        )
        work = [asyncio.ensure_future(part) for part in parts]
        for host in run.hosts:
            host.start()
        for line in run.described():
            echo(line)
        await _until_over(run, lambda: asked_to_end.is_set() or run.is_over or any(map(_has_failed, work)))
        for host in run.hosts:
            await asyncio.to_thread(host.stop)
        await _end(work)
        for one in run.inputs:
            await one.finish()
        await _read_to_end(reader, run.labels, rows)
    if run.is_session_running:
        # what failed by itself says why; with the session its services end
        for done in work:
            if not done.cancelled():
                done.result()


def _has_failed(part: asyncio.Future[None]) -> bool:
    """Return whether a part beside the apps cannot go on. What copies the rest of earlier versions is done one day."""
    return part.done() and not part.cancelled() and part.exception() is not None


async def _end(work: Collection[asyncio.Future[None]]) -> None:
    for one in work:
        one.cancel()
    await asyncio.wait(work)


async def _until_over(run: _Run, is_over: Callable[[], bool]) -> None:
    until = None if run.seconds is None else steady_now() + int(run.seconds * MICROSECONDS)
    while not is_over() and run.is_session_running and (until is None or steady_now() < until):
        await SystemClock().sleep(LOOK_SECONDS)


async def _read(reader: TopicReader, labels: Collection[str], rows: AppRows) -> None:
    async for record in reader.records():
        if record.key in labels:
            rows.add(record.value)


async def _read_to_end(reader: TopicReader, labels: Collection[str], rows: AppRows) -> None:
    # Kafka may have ended with the session
    with suppress(StreamError):
        async for record in reader.records_to_end():
            if record.key in labels:
                rows.add(record.value)


@asynccontextmanager
async def _signals_to(act: Callable[[], None]) -> AsyncIterator[None]:
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, act)
    try:
        yield
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)
