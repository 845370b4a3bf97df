"""A stream app on the streams of the running session, until somebody ends one of the two."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from cep.hosts.hosted_app import AppSource
from cep.hosts.resident_app import ResidentApp, resident_master
from cep.hosts.resident_task import ResidentTask
from launch.sessions.app_rows import AppRows, Echo
from launch.sessions.detection_start import detection_start
from launch.setup.data_dir import process_lock
from launch.setup.login_files import running_session
from launch.supervisor.clean_stop import SIGNALS
from launch.supervisor.spark_command import quiet_session
from market.time_units import MICROSECONDS
from session.clock import SystemClock
from session.session import Session
from streams.errors import StreamError
from streams.records import Position
from streams.topic_reader import TopicReader
from streams.topics import APPS, TICKS

LOOK_SECONDS = 0.2
"""How often it looks whether app and session still run."""
FOLDER = "apps"
SPARK: Mapping[str, str] = {"spark.python.daemon.module": "pyspark.daemon"}
"""Apps need nothing of what a backtest's workers load first."""


def run_live_app(home: Path, source: AppSource, seconds: float | None, rows: AppRows, echo: Echo) -> list[str]:
    """Until Ctrl-C, the session's end or `seconds`; why the app ended by itself, a sentence each.

    Raises CannotStartError, CepCannotStartError, StreamError, LookupError.
    """
    session = running_session("apps")
    first = asyncio.run(first_offsets(session, source.topic))
    with process_lock(home, f"app-{source.label}"):
        task = ResidentTask(source, session.kafka, _folder(session, source), first)
        with quiet_session(home, resident_master(len(first)), SPARK) as spark:
            app = ResidentApp(spark, task)
            try:
                asyncio.run(_run(session, app, seconds, rows, echo))
            finally:
                app.stop()
    return app.problems


async def first_offsets(session: Session, topic: str) -> dict[Position, int]:
    """Where the log of this session begins, and so a replay of its recording. Raises LookupError, StreamError."""
    if topic == TICKS:
        offsets, _ = detection_start(session)
        return {(topic, partition): offset for partition, offset in offsets.items()}
    async with TopicReader(session.kafka, (topic,), session.started_at) as reader:
        return reader.next_offsets


def _folder(session: Session, source: AppSource) -> Path:
    """Where the app's snapshots of this session are; those of earlier sessions go."""
    for folder in (session.home / FOLDER).glob("*"):
        if folder.name != session.session_id:
            shutil.rmtree(folder, ignore_errors=True)
    return session.home / FOLDER / session.session_id / source.label


async def _run(session: Session, app: ResidentApp, seconds: float | None, rows: AppRows, echo: Echo) -> None:
    asked_to_end = asyncio.Event()
    async with TopicReader(session.kafka, (APPS,), "latest") as reader, _signals_to(asked_to_end.set):
        reading = asyncio.ensure_future(_read(reader, app.source, rows))
        app.start()
        echo(f"{app.description}; Ctrl-C ends it")
        await _until_over(session, seconds, lambda: asked_to_end.is_set() or app.ended.is_set() or reading.done())
        await asyncio.to_thread(app.stop)
        reading.cancel()
        await asyncio.wait((reading,))
        # Kafka may have ended with the session
        with suppress(StreamError):
            async for record in reader.records_to_end():
                if record.key == app.source.label:
                    rows.add(record.value)


async def _until_over(session: Session, seconds: float | None, is_over: Callable[[], bool]) -> None:
    clock, run_file = SystemClock(), session.home / "run.json"
    until = None if seconds is None else clock.now() + int(seconds * MICROSECONDS)
    while not is_over() and run_file.exists() and (until is None or clock.now() < until):
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
