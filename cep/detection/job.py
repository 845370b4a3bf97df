"""The CEP process: a real-time query from the log to opportunities, a micro-batch query to spread windows, and a task
that stays and finds cycles, if the session has some."""

import asyncio
import logging
import secrets
import shutil
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, TypeVar

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from cep.detection.kafka_messages import log_messages, with_partition
from cep.detection.latest_counted import rate_sources
from cep.detection.log_start import Checkpoint, checkpoint_of, opening_of
from cep.detection.market_layout import Layout, layout_of
from cep.detection.opportunity_messages import opportunity_messages
from cep.detection.query_watch import HEARTBEAT_SECONDS, QueryHeartbeat, WatchedQuery
from cep.detection.window_query import LOOK_BACK, first_batch, start_spreads
from cep.errors import CepCannotStartError, CepStoppedError
from cep.spark_session import archive_options, archive_path, connector_jars, spark_session, stop_at_once
from runtime.backoff import retry_on
from runtime.clock import SystemClock, wall_now
from session.session import Session
from streams.broker.kafka_users import spark_options
from streams.errors import StreamError, StreamUnavailableError
from streams.message_format import WireError, row_of
from streams.tick_writer import TickWriter
from streams.topic_reader import TopicReader
from streams.topic_writer import TopicWriter
from streams.topics import CYCLE_OPPORTUNITIES, OPPORTUNITIES

if TYPE_CHECKING:
    from cep.detection.cycle_query import CycleQuery

BATCH_LENGTH = "5 minutes"
"""Offsets are written at the end of a batch: each end is a gap of 1–2 s, and a crash re-emits the rows since."""
LOOK_SECONDS = 0.5
DATA_LOSS = "KAFKA_DATA_LOSS"
"""Error class of Spark's Kafka source for rows that were deleted before they were read."""

Answer = TypeVar("Answer")

log = logging.getLogger("cep")


async def _at_once() -> None:
    """Do nothing: the log is there already."""


def run_cep(
    session: Session,
    ready: Callable[[], None],
    log_is_there: Callable[[], Coroutine[object, object, None]] = _at_once,
    heartbeat_seconds: float = HEARTBEAT_SECONDS,
) -> None:
    """Run until a query or the JVM dies. The JVM starts before `log_is_there` is awaited. `ready` is called once a
    probe row has passed the real-time query; from then on another one and the queries' progress are written every
    `heartbeat_seconds`.

    Raises CepCannotStartError, CepStoppedError; a restart with the same session continues from its checkpoint. Requests
    to a slow Kafka are retried: on a busy machine a start takes minutes.
    """
    _quieten_py4j()
    layout = _layout(session)
    jars = connector_jars(session.home / "jars" / "spark")
    scratch = session.home / "spark"
    shutil.rmtree(scratch, ignore_errors=True)
    archive = archive_options(archive_path(session.home))
    partitions, tasks = session.services.partitions, int(session.cycles is not None)
    spark = spark_session(jars, scratch, partitions, archive, markets=len(session.markets), resident_tasks=tasks)
    try:
        asyncio.run(log_is_there())
        asyncio.run(_run(spark, session, layout, ready, heartbeat_seconds))
    except StreamError as error:
        raise CepStoppedError(str(error)) from error
    except (Py4JError, ConnectionError):
        raise CepStoppedError("Spark's JVM died") from None
    finally:
        stop_at_once(spark)


def start_opportunities(
    spark: SparkSession, session: Session, layout: Layout, checkpoint: Checkpoint
) -> StreamingQuery:
    """Return the real-time query `ticks` → `opportunities`."""
    messages_df = log_messages(spark, session, checkpoint.opening.starting_offsets)
    if session.services.partitions == 1:
        # one partition needs no exchange between tasks, whose server would listen on all addresses without
        # authentication
        messages_df = messages_df.coalesce(1)
    rates = rate_sources(session, layout)
    opportunities_df = opportunity_messages(messages_df, layout, checkpoint.opening.settings, rates)
    query: StreamingQuery = (
        opportunities_df.transform(with_partition, session.services.partitions)
        .writeStream.queryName("opportunities")
        .format("kafka")
        .outputMode("update")
        .options(**spark_options(session.services.kafka))
        .option("topic", OPPORTUNITIES)
        .option("checkpointLocation", str(checkpoint.folder))
        .trigger(realTime=BATCH_LENGTH)  # type: ignore[call-overload]  # pyspark's own overloads lag behind it
        .start()
    )
    return query


def _quieten_py4j() -> None:
    """py4j logs every callback, and a dead JVM several times; what matters reaches us as an exception."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    # some of it is on the root logger, where only the file name identifies it
    logging.getLogger().addFilter(lambda record: "py4j" not in record.pathname)


def _layout(session: Session) -> Layout:
    try:
        return layout_of(session)
    except LookupError as error:
        raise CepCannotStartError(str(error)) from error


async def _run(
    spark: SparkSession, session: Session, layout: Layout, ready: Callable[[], None], heartbeat_seconds: float
) -> None:
    # first, as its start holds up the other query's rows by up to a second
    windows = await _running_spreads(spark, session, layout)
    checkpoint = await _answered(lambda: checkpoint_of(session, layout))
    query = start_opportunities(spark, session, layout, checkpoint)
    detecting = WatchedQuery(query, True, wall_now(), checkpoint.folder)
    cycles = _cycles(spark, session, checkpoint)

    def check() -> None:
        check_alive(query, checkpoint)
        if cycles is not None:
            cycles.check()

    await _while_alive(check, lambda: probed(session))
    if cycles is not None:
        await _while_alive(check, lambda: probed(session, CYCLE_OPPORTUNITIES))
    ready()
    watched, heartbeat = (detecting, windows), QueryHeartbeat(session, heartbeat_seconds)
    while True:
        check()
        check_alive(windows.query, None)
        heartbeat.send(watched, () if cycles is None else (cycles.progress,))
        await SystemClock().sleep(LOOK_SECONDS)


def _cycles(spark: SparkSession, session: Session, checkpoint: Checkpoint) -> "CycleQuery | None":
    """Return the task that finds cycles; None if the session has none, which then imports nothing of it either."""
    if session.cycles is None:
        return None
    from cep.detection.cycle_query import start_cycles  # noqa: PLC0415

    return start_cycles(spark, session, checkpoint)


async def _running_spreads(spark: SparkSession, session: Session, layout: Layout) -> WatchedQuery:
    """Return the query of spread windows after its first batch, for which there is a probe row."""
    opening = await _answered(lambda: opening_of(session, LOOK_BACK))
    windows = WatchedQuery(start_spreads(spark, session, layout, opening), False, wall_now())
    await _answered(lambda: write_probe(session, secrets.token_hex(8)))
    await first_batch(windows.query)
    check_alive(windows.query, None)
    return windows


async def _while_alive(check: Callable[[], None], question: Callable[[], Awaitable[Answer]]) -> Answer:
    """Kafka's answer, however late, unless a query dies first. Raises what `check` does, and StreamError."""
    asking = asyncio.ensure_future(_answered(question))
    try:
        while not asking.done():
            check()
            await asyncio.wait([asking], timeout=LOOK_SECONDS)
        return asking.result()
    finally:
        asking.cancel()


async def _answered(question: Callable[[], Awaitable[Answer]]) -> Answer:
    return await retry_on(
        question,
        (StreamUnavailableError,),
        lambda error: log.warning("asking again", extra={"error": str(error)}),
    )


def check_alive(query: StreamingQuery, checkpoint: Checkpoint | None) -> None:
    """Raise CepStoppedError if the query is dead; a checkpoint that points at deleted rows is discarded."""
    if query.isActive:
        return
    reason = str(query.exception() or "it was stopped")
    if checkpoint is not None and DATA_LOSS in reason:
        log.warning("rows of the log were deleted; the next start uses a new checkpoint", extra={"query": query.name})
        checkpoint.discard()
    raise CepStoppedError(f"query {query.name} died: {reason.splitlines()[0]}")


async def probed(session: Session, topic: str = OPPORTUNITIES) -> None:
    """Return once a probe row, written to the log now, has passed the query that writes to `topic`."""
    marker_id = secrets.token_hex(8)
    async with TopicReader(session.services.kafka, (topic,), "latest") as reader:
        await write_probe(session, marker_id)
        async for record in reader.records():
            if _marker_of(record.value) == marker_id:
                return


async def write_probe(session: Session, marker_id: str) -> None:
    """Write a row to the log that changes nothing. Raises StreamUnavailableError."""
    writer = TopicWriter(session.services.kafka)
    try:
        base = session.bases[0]
        TickWriter(writer, session.bases, session.services.partitions).marker(
            "probe", base, marker_id, session.clock().now()
        )
        await writer.flush()
    finally:
        await writer.close()


def _marker_of(message: bytes) -> str | None:
    if b'"marker_id"' not in message:
        return None
    try:
        return str(row_of(message).get("marker_id"))
    except WireError:
        return None
