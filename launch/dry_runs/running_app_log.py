"""The last minutes of the running session's log, as an app gets them: its own input log if it has one there, else the
topics that it reads, in the order of time."""

from collections.abc import Iterator, Mapping
from typing import Any

from cep.apps.hosts.hosted_app import AppSource
from cep.apps.hosts.input_log import CALLS, TABLES, InputPlace, SourceRow, input_message, record_row
from cep.apps.hosts.input_merger import FreshRecords
from cep.apps.hosts.product_streams import STORE, read_streams
from cep.apps.hosts.row_merge import by_time
from launch.errors import CannotStartError
from launch.sessions.app_input import first_offsets
from launch.sessions.detection_start import NotBegunError
from launch.setup.login_files import running_session
from runtime.clock import wall_now
from session.session import Session
from streams.errors import StreamRejectedError
from streams.message_format import WireError, row_of
from streams.records import Position, Record
from streams.topic_reader import TopicReader
from streams.topics import SHARED_IN, TICKS, UNORDERED_TOPICS

LogRow = tuple[int | str, int, int, Mapping[str, Any]]
"""Partition, offset, time of writing (microseconds), row."""
MOST_RECORDS = 1_000_000
MINUTE = 60_000_000


async def running_log(source: AppSource, minutes: float) -> Iterator[LogRow]:
    """Return the rows. Raises CannotStartError if no session runs, or it does not keep what the app reads;
    StreamError."""
    session = running_session("apps")
    since = max(wall_now() - int(minutes * MINUTE), session.started_at)
    if not source.is_merged:
        return _rows(await _records(session, (source.topic,), since), source)
    try:
        own = await _records(session, (source.topic,), since)
    except StreamRejectedError:
        # it never ran here, so nobody has merged its topics yet
        own = []
    if own:
        return _rows(own, source)
    # nobody sends rows into an app that never ran here
    kept = [one for one in source.sources if one not in (TABLES, SHARED_IN, source.rows_topic)]
    odd = next((one for one in kept if one in (STORE, CALLS) or one in source.outside.topics), None)
    if odd is not None:
        what = "trades, fills and rejections" if odd == STORE else "responses and topics of the users' own"
        raise CannotStartError(f"the running log has no {what}: publish the app first, or choose a recorded session.")
    return _merged(await _records(session, tuple(kept), since), source, kept)


async def _records(session: Session, topics: tuple[str, ...], since: int) -> list[Record]:
    found: list[Record] = []
    begins = await _begins(session) if TICKS in topics else {}
    async with TopicReader(session.services.kafka, topics, since, max_wait=0.1) as reader:
        async for record in reader.records_to_end():
            if record.offset < begins.get(record.position, 0):
                continue
            found.append(record)
            if len(found) > MOST_RECORDS:
                raise CannotStartError(f"the log has more than {MOST_RECORDS:,} rows of that time; ask for less of it.")
    return found


async def _begins(session: Session) -> dict[Position, int]:
    """Return where `ticks` begin for published apps: at the first row of the session's detection."""
    try:
        return await first_offsets(session, TICKS)
    except NotBegunError:
        # nobody can have published anything yet
        return {}


def _rows(records: list[Record], source: AppSource) -> Iterator[LogRow]:
    for record in sorted(records, key=lambda one: (one.partition, one.offset)):
        if not source.is_keyed and record.partition != 0:
            continue
        try:
            yield record.partition, record.offset, record.time, row_of(record.value)
        except WireError:
            continue


def _merged(records: list[Record], source: AppSource, topics: list[str]) -> Iterator[LogRow]:
    """As the merger of a published app writes it: once, for an app that reads nothing of the session; what has one
    partition alone belongs into each."""
    streams = read_streams(source.app)
    if source.region is not None:
        # what comes again is left out of the published app's input log too
        fresh = FreshRecords(0)
        records = [one for one in records if one.topic != TICKS or fresh.of([one])]
    partitions = {record.partition for record in records if record.topic not in UNORDERED_TOPICS} | {0}
    for partition in sorted(partitions) if source.is_keyed else (0,):
        by_topic: dict[str, list[SourceRow]] = {topic: [] for topic in topics}
        for record in records:
            if record.partition == partition or record.topic in UNORDERED_TOPICS:
                row = record_row(record, streams)
                if row is not None:
                    by_topic[record.topic].append(row)
        place = InputPlace()
        for offset, one in enumerate(by_time(list(by_topic.values()))):
            place = place.after(one)
            yield partition, offset, one.time, row_of(input_message("", one, place))
