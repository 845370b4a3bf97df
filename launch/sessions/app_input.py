"""The input log of an app on the running session: where it comes from, and who writes it while the app runs."""

import logging

from cep.hosts.hosted_app import AppSource
from cep.hosts.input_log import InputPlace
from cep.hosts.input_merger import InputMerger
from cep.hosts.product_streams import STORE, read_streams
from launch.sessions.detection_start import detection_start
from launch.sessions.trading_source import TradingSource
from session.backoff import retry_on
from session.clock import ReplayClock
from session.session import Session
from store.errors import StoreUnavailableError
from streams.errors import StreamUnavailableError
from streams.records import Position
from streams.topic_admin import ensure_input_log
from streams.topic_reader import TopicReader
from streams.topics import TICKS

log = logging.getLogger("launch")


async def first_offsets(session: Session, topic: str) -> dict[Position, int]:
    """Where the log of this session begins, and so a replay of its recording. Raises LookupError, StreamError."""
    if topic == TICKS:
        offsets, _ = detection_start(session)
        return {(topic, partition): offset for partition, offset in offsets.items()}
    async with TopicReader(session.kafka, (topic,), session.started_at) as reader:
        return reader.next_offsets


async def input_merger(session: Session, source: AppSource) -> InputMerger | None:
    """None where the app reads one topic, and so needs no log of its own; else the log's topic is there afterwards.

    Raises LookupError, StreamError.
    """
    if not source.is_merged:
        return None
    await ensure_input_log(session.kafka, source.topic, session.partitions)
    first: dict[Position, int] = {}
    for topic in source.sources:
        if topic != STORE:
            first |= await first_offsets(session, topic)
    streams, clock = read_streams(source.app), session.clock()
    market_time = clock.at if isinstance(clock, ReplayClock) else int

    async def trading(partition: int, place: InputPlace) -> TradingSource:
        opened = TradingSource(session, streams, partition, place, market_time)
        await opened.open()
        return opened

    return InputMerger(source, session.session_id, session.kafka, session.partitions, first, trading, market_time)


async def keep_merging(merger: InputMerger) -> None:
    """Until it is cancelled, through outages of Kafka and MongoDB. Raises StreamError, StoreError."""

    def tell(error: Exception) -> None:
        log.warning("input log waits", extra={"app": merger.source.name, "reason": str(error)})

    await retry_on(merger.run, (StreamUnavailableError, StoreUnavailableError), tell)
