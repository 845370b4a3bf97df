"""A version of an app goes on where another one ended: at one row of what both read, with its state where that fits."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cep.apps.engine.carried_state import CarriedParts, carried_parts
from cep.apps.engine.snapshots import SnapshotError
from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.hosts.hosted_app import AppSource, HostedApp
from cep.apps.hosts.input_log import CALLS, TABLES, InputPlace, place_in
from cep.apps.hosts.input_merger import LogBegin
from cep.apps.hosts.product_streams import STORE
from cep.apps.hosts.stored_tables import has_stored
from cep.snapshot_folder import SnapshotFolder
from launch.published.run_notes import RunNote
from launch.sessions.app_input import first_offsets
from session.session import Session
from streams.mirrored_rows import unrepeated_rows
from streams.records import Position
from streams.topic_admin import ensure_app_topic, ensure_input_log
from streams.topic_reader import TopicReader
from streams.topics import APP_ROWS

NO_TOPICS = (STORE, CALLS, TABLES)


@dataclass(frozen=True, slots=True)
class FormerVersion:
    """A version that ran before. `folder`: its own."""

    source: AppSource
    folder: Path
    note: RunNote


@dataclass(frozen=True, slots=True)
class TakenOver:
    """`parts`: None if the new version begins empty, as was wanted."""

    begin: Mapping[int, LogBegin]
    parts: CarriedParts | None


@dataclass(frozen=True, slots=True)
class SavedState:
    """What an app had kept at a savepoint, in each partition."""

    source: AppSource
    parts: Mapping[int, bytes]

    def app(self, partition: int) -> HostedApp:
        """Return the app with that state. Raises SnapshotError."""
        app = HostedApp(self.source, partition, unrepeated_rows(self.source.region))
        app.restore(self.parts[partition], keeps_position=False)
        return app


def fitting(before: AppSource, after: AppSource) -> CarriedParts:
    """Say what one version would go on with of the other. Takes as long as compiling both."""
    engines = StreamEngine(before.app, terms=before.terms), StreamEngine(after.app, terms=after.terms)
    return carried_parts(engines[0], before.app, engines[1], after.app)


async def taken_over(
    session: Session,
    before: FormerVersion,
    after: AppSource,
    folder: Path,
    *,
    keeps_state: bool,
    saved: SavedState | None = None,
) -> TakenOver:
    """Write the snapshots with which `after` goes on into its `folder`, and return where it does. The version before
    runs no more. `saved`: in place of what that has kept. Raises StreamError, LookupError, AppFailedError, OSError,
    SnapshotError."""
    partitions = session.services.partitions if after.is_keyed else 1
    if saved is not None and set(saved.parts) != set(range(partitions)):
        problem = f"the savepoint has {len(saved.parts)} partitions, and the session's log {partitions}"
        raise SnapshotError(f"{problem}; start a session with as many")
    if after.is_merged:
        await ensure_input_log(session.services.kafka, after.topic, partitions)
    if after.rows_topic is not None:
        await ensure_app_topic(session.services.kafka, after.rows_topic, partitions)
    begin, parts = dict[int, LogBegin](), None
    for partition in range(partitions):
        former = await _former(session, before, partition)
        where = await _begin(session, before, former, after, partition)
        snapshots = SnapshotFolder(folder)
        if keeps_state:
            state = None if saved is None else await asyncio.to_thread(saved.app, partition)
            data, parts = await asyncio.to_thread(_carried, former, after, (partition, where.offset), state)
            snapshots.save(partition, data)
        else:
            snapshots.path(partition).unlink(missing_ok=True)
        begin[partition] = filled(where, after, parts if saved is None else None)
    return TakenOver(begin, parts)


def filled(begin: LogBegin, after: AppSource, parts: CarriedParts | None) -> LogBegin:
    """Return where a log begins that has what is stored of the app's tables, if the app does not go on with that."""
    if has_stored(after.outside.tables, parts):
        return begin
    following = {topic: offset for topic, offset in begin.place.next.items() if topic != TABLES}
    return LogBegin(begin.offset, InputPlace(following, begin.place.token))


def _carried(
    former: HostedApp, after: AppSource, place: tuple[int, int], saved: HostedApp | None
) -> tuple[bytes, CarriedParts]:
    """`place`: the partition, and the row of it with which `after` begins."""
    partition, begin = place
    app = HostedApp(after, partition, unrepeated_rows(after.region))
    parts = app.take_over(former, begin, saved)
    return app.snapshot(), parts


async def _former(session: Session, before: FormerVersion, partition: int) -> HostedApp:
    """Return the version before as its last snapshot has it; where it began, if there is none."""
    app = HostedApp(before.source, partition, unrepeated_rows(session.place.region))
    snapshots = SnapshotFolder(before.folder)
    data = snapshots.load(partition)
    try:
        if data is not None:
            await asyncio.to_thread(app.restore, data, snapshots.segments(partition))
    except SnapshotError:
        app = HostedApp(before.source, partition, unrepeated_rows(session.place.region))
    if app.position is None:
        noted = before.note.begin.get(partition)
        position = before.source.topic, partition
        # a topic may have fewer partitions than the session
        found = {} if noted is not None else await first_offsets(session, position[0])
        app.position = found.get(position, 0) if noted is None else noted.offset
    return app


async def _begin(
    session: Session, before: FormerVersion, former: HostedApp, after: AppSource, partition: int
) -> LogBegin:
    at, topic, noted = former.position or 0, before.source.topic, before.note.begin.get(partition)
    place = InputPlace({**_sent_of(noted), topic: at})
    if not (before.source.is_merged or after.is_merged) and topic == after.topic:
        return LogBegin(at, InputPlace(_sent_of(noted)))
    if before.source.is_merged:
        place = await _place_before(session, (topic, partition), at, noted)
    if not after.is_merged:
        known = place.next.get(after.topic)
        offset = await _end(session, (after.topic, partition)) if known is None else known
        return LogBegin(offset, InputPlace(_sent_of(LogBegin(at, place))))
    following = dict(place.next)
    for one in after.sources:
        # what users sent waits for the version that reads it, and if none has read any yet, for this one
        may_be_waiting = one in NO_TOPICS or one in after.outside.topics or one == after.rows_topic
        if one not in following and not may_be_waiting:
            # the version before has not read it: nobody knows which row of it was the next
            following[one] = await _end(session, (one, partition))
    offset = await _end(session, (after.topic, partition))
    return LogBegin(offset, InputPlace(following, place.token))


def _sent_of(begin: LogBegin | None) -> dict[str, int]:
    """Return how far rows that users sent had been read, which a version that reads none hands on."""
    following = {} if begin is None else begin.place.next
    return {topic: offset for topic, offset in following.items() if topic.startswith(APP_ROWS)}


async def _place_before(session: Session, position: Position, at: int, begin: LogBegin | None) -> InputPlace:
    """Return how far an input log had come before its row `at`."""
    first = 0 if begin is None else begin.offset
    if at > first:
        async with TopicReader(session.services.kafka, (position[0],), {position: at - 1}) as reader:
            async for record in reader.records_to_end():
                if record.offset == at - 1:
                    return place_in(record.value, session.session_id)
                break
    return InputPlace() if begin is None else begin.place


async def _end(session: Session, position: Position) -> int:
    topic, partition = position
    async with TopicReader(session.services.kafka, (topic,), "latest") as reader:
        ends = await reader.end_offsets()
    return ends.get(position, ends.get((topic, 0), 0)) if partition else ends[position]
