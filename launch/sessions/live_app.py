"""A stream app on the streams of the running session, until somebody ends one of the two."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from cep.hosts.hosted_app import AppSource
from cep.hosts.input_merger import InputMerger
from cep.hosts.resident_app import ResidentApp, resident_master
from cep.hosts.resident_task import ResidentTask
from launch.apps.table_keeper import TableKeeper
from launch.errors import CannotStartError
from launch.sessions.app_input import first_offsets, input_merger, keep_merging
from launch.sessions.app_rows import AppRows, Echo
from launch.setup.data_dir import process_lock, read_session
from launch.setup.login_files import running_session
from launch.supervisor.clean_stop import SIGNALS
from launch.supervisor.spark_command import quiet_session
from market.time_units import MICROSECONDS
from pricefeeds.input_recorder import InputRecorder
from session.clock import SystemClock
from session.session import Session
from store.errors import StoreError
from streams.errors import StreamError
from streams.records import Position
from streams.topic_reader import TopicReader
from streams.topics import APPS

LOOK_SECONDS = 0.2
"""How often it looks whether app and session still run."""
FOLDER = "apps"
SPARK: Mapping[str, str] = {"spark.python.daemon.module": "pyspark.daemon"}
"""Apps need nothing of what a backtest's workers load first."""


def run_live_app(home: Path, source: AppSource, seconds: float | None, rows: AppRows, echo: Echo) -> list[str]:
    """Until Ctrl-C, the session's end or `seconds`; why the app ended by itself, a sentence each.

    Raises CannotStartError, CepCannotStartError, StreamError, StoreError, LookupError.
    """
    session = running_session("apps")
    with process_lock(home, f"app-{source.label}"):
        merger, first, keeper = asyncio.run(_begun(session, source))
        recorder = None
        if merger is not None and session.recordings_mb is not None:
            recorder = InputRecorder(session, source.topic, first, source.label)
        task = ResidentTask(source, session.kafka, _folder(session, source), first)
        with quiet_session(home, resident_master(len(first)), SPARK) as spark:
            app = ResidentApp(spark, task)
            try:
                asyncio.run(_run(_Run(session, app, merger, recorder, keeper, seconds), rows, echo))
            finally:
                app.stop()
    return app.problems


@dataclass(frozen=True, slots=True)
class _Run:
    session: Session
    app: ResidentApp
    merger: InputMerger | None
    recorder: InputRecorder | None
    """Of the input log, where the session is recorded."""
    keeper: TableKeeper | None
    """Where the app has stored tables."""
    seconds: float | None

    def parts(self) -> Iterator[Coroutine[object, object, None]]:
        """What runs beside the app."""
        if self.merger is not None:
            yield keep_merging(self.merger)
        if self.recorder is not None:
            yield self.recorder.follow()
        if self.keeper is not None:
            yield self.keeper.follow()

    @property
    def is_session_running(self) -> bool:
        """Not where another one has begun since."""
        try:
            return read_session(self.session.home).session_id == self.session.session_id
        except CannotStartError:
            return False


async def _begun(
    session: Session, source: AppSource
) -> tuple[InputMerger | None, dict[Position, int], TableKeeper | None]:
    """Who writes its log, where it has one of its own; where that log begins; and who keeps its tables."""
    keeper = None
    if source.outside.tables:
        keeper = TableKeeper(session, source, await first_offsets(session, APPS))
        # what a killed run left, before the tables are read
        await keeper.catch_up()
    merger = await input_merger(session, source)
    first = await first_offsets(session, source.topic)
    return merger, {place: offset for place, offset in first.items() if source.is_keyed or place[1] == 0}, keeper


def _folder(session: Session, source: AppSource) -> Path:
    """Where the app's snapshots of this session are; those of earlier sessions go."""
    for folder in (session.home / FOLDER).glob("*"):
        if folder.name != session.session_id:
            shutil.rmtree(folder, ignore_errors=True)
    return session.home / FOLDER / session.session_id / source.label


async def _run(run: _Run, rows: AppRows, echo: Echo) -> None:
    app, asked_to_end = run.app, asyncio.Event()
    async with TopicReader(run.session.kafka, (APPS,), "latest") as reader, _signals_to(asked_to_end.set):
        parts = (_read(reader, app.source, rows), *run.parts())
        work = [asyncio.ensure_future(part) for part in parts]
        app.start()
        echo(f"{app.description}; Ctrl-C ends it")
        await _until_over(run, lambda: asked_to_end.is_set() or app.ended.is_set() or any(one.done() for one in work))
        await asyncio.to_thread(app.stop)
        await _end(work)
        if run.recorder is not None:
            await run.recorder.finish()
        if run.keeper is not None:
            # else the next run does it
            with suppress(StreamError, StoreError):
                await run.keeper.catch_up()
        # Kafka may have ended with the session
        with suppress(StreamError):
            async for record in reader.records_to_end():
                if record.key == app.source.label:
                    rows.add(record.value)
    if run.is_session_running:
        # what failed by itself says why; with the session its services end
        for one in work:
            if not one.cancelled():
                one.result()


async def _end(work: Collection[asyncio.Future[None]]) -> None:
    for one in work:
        one.cancel()
    await asyncio.wait(work)


async def _until_over(run: _Run, is_over: Callable[[], bool]) -> None:
    clock = SystemClock()
    until = None if run.seconds is None else clock.now() + int(run.seconds * MICROSECONDS)
    while not is_over() and run.is_session_running and (until is None or clock.now() < until):
        await clock.sleep(LOOK_SECONDS)


async def _read(reader: TopicReader, source: AppSource, rows: AppRows) -> None:
    async for record in reader.records():
        if record.key == source.label:
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
