"""The input log of an app on the running session: where it comes from, and who writes it while the app runs."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cep.apps.hosts.app_outside import StoredTable
from cep.apps.hosts.call_addresses import call_addresses
from cep.apps.hosts.call_source import CallSource
from cep.apps.hosts.counted_warnings import CountedWarnings
from cep.apps.hosts.hosted_app import AppSource
from cep.apps.hosts.http_caller import HttpCaller
from cep.apps.hosts.input_log import CALLS, TABLES, InputPlace
from cep.apps.hosts.input_merger import InputMerger, InputSource, LogBegin, OpenSource
from cep.apps.hosts.product_streams import STORE, read_streams
from cep.apps.hosts.shared_rows import SharedReader, changed_before
from cep.apps.hosts.stored_tables import TableSource, kept_values
from cep.apps.language.app_ends import kept_streams
from cep.apps.language.errors import AppTextError
from launch.apps.error_keeper import ERRORS_PLACE, ErrorKeeper
from launch.apps.http_listeners import HttpListeners
from launch.apps.row_copier import FormerRows, RowCopier
from launch.apps.row_sharer import row_sharer
from launch.apps.sent_rows import SentRows
from launch.apps.sink_forwarder import SinkTarget, former_forwarders, former_labels, sink_forwarder
from launch.apps.table_keeper import TableKeeper
from launch.apps.user_topics import topic_openers, user_brokers
from launch.sessions.detection_start import detection_start
from launch.sessions.trading_source import TradingSource
from market.time_units import MICROSECONDS
from runtime.backoff import retry_on
from runtime.clock import ReplayClock, steady_now, wall_now
from session.session import Session
from store.errors import StoreError, StoreUnavailableError
from store.operations.app_tables import open_app_tables
from streams.errors import StreamError, StreamUnavailableError
from streams.records import Position
from streams.topic_admin import DAY_MS, ensure_app_topic, ensure_input_log
from streams.topic_reader import TopicReader
from streams.topics import APPS, SHARED_IN, TICKS

KNOWN_SECONDS = 60.0

log = logging.getLogger("launch")


async def first_offsets(session: Session, topic: str) -> dict[Position, int]:
    """Return where the log of this session begins, and so a replay of its recording. Raises LookupError,
    StreamError."""
    if topic == TICKS:
        offsets, _ = detection_start(session)
        return {(topic, partition): offset for partition, offset in offsets.items()}
    async with TopicReader(session.services.kafka, (topic,), session.started_at) as reader:
        return reader.next_offsets


@dataclass(slots=True)
class LogBegins:
    """Where a session begins in each topic, asked of Kafka once for all apps that begin at about the same time."""

    session: Session
    _found: dict[str, tuple[int, Mapping[Position, int]]] = field(default_factory=dict)
    """By topic, with the time at which it was asked for: Kafka deletes rows in the end."""
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def first(self, topic: str) -> Mapping[Position, int]:
        """As `first_offsets`."""
        if topic == TICKS:
            # a file says it, once detection has begun
            return await first_offsets(self.session, topic)
        async with self._lock:
            asked, found = self._found.get(topic, (0, {}))
            if not found or steady_now() - asked > KNOWN_SECONDS * MICROSECONDS:
                found = await first_offsets(self.session, topic)
                self._found[topic] = steady_now(), found
            return found


async def input_merger(
    session: Session,
    source: AppSource,
    brokers: Mapping[str, str] | None = None,
    begin: Mapping[int, LogBegin] | None = None,
    sent: SentRows | None = None,
) -> InputMerger | None:
    """Return the merger; None if the app reads one topic, and so needs no log of its own; else the log's topic exists
    afterwards.

    `brokers`: of `user_brokers`, if it reads topics of the user's own. `begin`: of the merger. `sent`: the reader of
    rows that users send, if the app takes any. Raises LookupError, StreamError, StoreError; AppTextError if it makes a
    request that the operator does not allow, or would count the session's rows twice in a table.
    """
    if not source.is_merged:
        return None
    market_time, partitions = _market_time(session), session.services.partitions if source.is_keyed else 1
    if source.rows_topic is not None:
        await ensure_app_topic(session.services.kafka, source.rows_topic, partitions)
    first, begins = await _first(session, source), session.started_at if source.is_keyed else wall_now()
    openers = _openers(session, source, first, begins)
    openers |= topic_openers(session, source, brokers or {}, market_time)
    await ensure_input_log(session.services.kafka, source.topic, partitions)
    merger = InputMerger(
        source,
        session.session_id,
        session.services.kafka,
        partitions,
        first,
        openers,
        market_time,
        session.place.region,
        _shared(session, source, market_time, begins),
        begin or {},
        None if sent is None else sent.row,
    )
    if source.is_keyed and source.outside.tables:
        await _check_tables(session, source, first, await merger.places())
    return merger


def _market_time(session: Session) -> Callable[[int], int]:
    clock = session.clock()
    return clock.at if isinstance(clock, ReplayClock) else int


def _openers(session: Session, source: AppSource, first: Mapping[Position, int], begins: int) -> dict[str, OpenSource]:
    """Return what opens the sources that are no topic. Raises AppTextError."""
    market_time, openers = _market_time(session), dict[str, OpenSource]()
    if STORE in source.sources:
        openers[STORE] = _trading(session, source, market_time)
    if TABLES in source.sources:
        openers[TABLES] = _tables(session, source, market_time, begins)
    if CALLS in source.sources:
        openers[CALLS] = _calls(session, source, first, market_time)
    return openers


async def _check_tables(
    session: Session, source: AppSource, first: Mapping[Position, int], places: Mapping[int, InputPlace]
) -> None:
    """Raise AppTextError if a table already includes what another version made of rows that this one begins with."""
    async with open_app_tables(session, source.name) as tables:
        for partition, place in places.items():
            changed = (await tables.place(partition)).changed
            table = counted_already(source.outside.tables, place, changed, first[APPS, partition])
            if table is not None:
                at = next(one.at for one in source.app.definitions if one.name == table)
                problem = f"{table!r} has this session's rows by another version of the app, and would count them again"
                raise AppTextError(at, f"{problem}: wait for the next session, or give the table another collection")


def counted_already(
    tables: Iterable[StoredTable], place: InputPlace, changed: Mapping[str, int], first: int
) -> str | None:
    """Return the table that rows of this session reached before its app's log began. `place`: of the log; `changed`:
    the last change's offset in `apps`, by collection; `first`: the session's first there."""
    if place.next:
        return None
    return next((one.table for one in tables if changed.get(one.collection, -1) >= first), None)


async def _first(session: Session, source: AppSource) -> dict[Position, int]:
    """Return where its input log begins in each topic. An app that reads nothing of the session begins now: nobody
    wants requests for the past."""
    if not source.is_keyed:
        async with TopicReader(session.services.kafka, (TICKS, APPS), "latest") as reader:
            now = reader.next_offsets
        # what is on the way to MongoDB, or was sent before the app was last killed, may be there already
        for topic in (SHARED_IN, source.rows_topic):
            if topic is not None and topic in source.sources:
                now |= await first_offsets(session, topic)
        return now
    first: dict[Position, int] = {}
    for topic in (*source.sources, APPS):
        if topic not in (STORE, CALLS, TABLES, *source.outside.topics):
            first |= await first_offsets(session, topic)
    return first


def _trading(session: Session, source: AppSource, market_time: Callable[[int], int]) -> OpenSource:
    streams = read_streams(source.app)

    async def trading(partition: int, place: InputPlace) -> InputSource:
        opened = TradingSource(session, streams, partition, place, market_time)
        await opened.open()
        return opened

    return trading


def _tables(session: Session, source: AppSource, market_time: Callable[[int], int], begins: int) -> OpenSource:
    tables = source.outside.tables
    shared = frozenset[str]() if source.shared is None else source.shared.names
    # rows of the session's past come first, as long as Kafka keeps them
    since = market_time(max(begins, wall_now() - DAY_MS * 1_000)) // 1_000

    async def filled(partition: int, place: InputPlace) -> InputSource:
        async def kept(table: StoredTable) -> Iterable[tuple[Any, ...]]:
            async with open_app_tables(session, source.name) as found:
                if table.table in shared:
                    changes = await found.shared_rows(partition, table.collection)
                    return changed_before(changes, since) if source.is_keyed else changes
                return kept_values(table, await found.rows(partition, table.collection))

        return TableSource(tables, partition, place, market_time(begins), kept, shared)

    return filled


def _shared(session: Session, source: AppSource, market_time: Callable[[int], int], begins: int) -> SharedReader | None:
    if source.shared is None:
        return None
    warnings = CountedWarnings({"topic": SHARED_IN, "app": source.name})
    return SharedReader(source.name, source.shared, session.session_id, begins, warnings, market_time)


def _calls(
    session: Session, source: AppSource, first: Mapping[Position, int], market_time: Callable[[int], int]
) -> OpenSource:
    """Return what opens the source of the app's requests. Raises AppTextError if a request may not be made."""
    outside = source.outside
    addresses = call_addresses(outside.calls, dict(source.terms.addresses), session.simulated.url)

    async def calls(partition: int, place: InputPlace) -> InputSource:
        position = (APPS, partition)
        of_session = await first_offsets(session, APPS)
        begin = requests_from(place, first[position], of_session[position])
        reader = TopicReader(session.services.kafka, (APPS,), {position: begin})
        opened = CallSource(outside, source.label, partition, reader, HttpCaller(addresses), place, market_time)
        await opened.open()
        return opened

    return calls


def requests_from(place: InputPlace, first: int, of_session: int) -> int:
    """Return the offset in `apps` from which on its requests are made. `first`: of a log that begins now. A log that
    has begun without an answer may have requests from anywhere in the session, because the process that made them was
    killed."""
    return place.next.get(APPS, of_session if place.next else first)


async def keep_merging(merger: InputMerger) -> None:
    """Merge until cancelled, through outages of Kafka and MongoDB. Raises StreamError, StoreError."""

    def tell(error: Exception) -> None:
        log.warning("input log waits", extra={"app": merger.source.name, "reason": str(error)})

    await retry_on(merger.run, (StreamUnavailableError, StoreUnavailableError), tell)


if TYPE_CHECKING:
    from launch.apps.outer_ends import OuterEnds
    from pricefeeds.input_recorder import InputRecorder

FOLDER = "apps"


def apps_folder(session: Session) -> Path:
    """Return where the apps' folders of this session are."""
    return session.home / FOLDER / session.session_id


@dataclass(frozen=True, slots=True)
class LiveInput:
    """Where an app's log begins; who writes it, if it has one of its own, and who keeps it, if the session is
    recorded."""

    source: AppSource
    first: dict[Position, int]
    merger: InputMerger | None
    recorder: "InputRecorder | None"
    keeper: TableKeeper | None
    """If the app has stored tables."""
    errors: ErrorKeeper | None = None
    """If rows of the app that fail are kept."""
    copiers: tuple[RowCopier, ...] = ()
    """Copiers of sinks `kafka`, and of what it shares with other regions."""
    sent: SentRows | None = None
    """The reader of rows that others send."""
    ends: "OuterEnds | None" = None
    """Its sinks and sources at servers of others."""
    former: tuple[FormerRows, ...] = ()
    """Of earlier versions."""

    def parts(self) -> Iterator[Coroutine[object, object, None]]:
        """Return the tasks beside the app."""
        if self.merger is not None:
            yield keep_merging(self.merger)
        if self.recorder is not None:
            yield through_outages("recording", self.recorder.follow)
        if self.keeper is not None:
            yield self.keeper.follow()
        if self.errors is not None:
            yield self.errors.follow()
        for copier in self.copiers:
            yield copier.follow()
        for former in self.former:
            yield former.follow_to_end()
        if self.ends is not None:
            yield from self.ends.parts()

    def figures(self) -> Mapping[str, Any]:
        """Return what the app's status says of its ends."""
        errors = 0 if self.errors is None else self.errors.dropped
        if self.ends is None:
            return {} if self.errors is None else {"errors_dropped": errors}
        found = self.ends.figures()
        return {**found, "errors_dropped": found["errors_dropped"] + errors}

    async def finish(self) -> None:
        """Finish the copies once the app has ended."""
        try:
            if self.recorder is not None:
                await self.recorder.finish()
            for keeper in (self.keeper, self.errors):
                if keeper is not None:
                    # otherwise the next run does it
                    with suppress(StreamError, StoreError):
                        await keeper.catch_up()
            for copier in self.copiers:
                await copier.finish()
            if self.ends is not None:
                await self.ends.finish()
        finally:
            # a full disk must not keep a path from the app's next run
            await self.close()

    async def close(self) -> None:
        """End what the tasks have left open, if nothing is to be finished."""
        if self.ends is not None:
            await self.ends.close()


async def live_input(
    session: Session,
    source: AppSource,
    begin: Mapping[int, LogBegin] | None = None,
    created_at: int = 0,
    listeners: HttpListeners | None = None,
    begins: LogBegins | None = None,
) -> LiveInput:
    """Return it with what a killed run left done. `begin`: where this version took over, by partition. `created_at`:
    when the stored app was. `listeners`, `begins`: of this process. Raises AppTextError, CannotStartError, StreamError,
    StoreError, LookupError."""
    begins = begins or LogBegins(session)
    keeper, recorder, sent, apps = None, None, None, await begins.first(APPS)
    if source.rows_topic is not None:
        warnings = CountedWarnings({"app": source.name})
        sent = SentRows(source.sent_streams, created_at, _market_time(session), warnings)
    brokers = await user_brokers(session, source)
    if source.outside.tables:
        keeper = TableKeeper(session, source, apps)
        # what a killed run left, before the tables are read
        await keeper.catch_up()
    merger = await input_merger(session, source, brokers, begin, sent)
    # an input log is made with its app
    offsets = await (first_offsets(session, source.topic) if source.is_merged else begins.first(source.topic))
    first = {place: offset for place, offset in offsets.items() if source.is_keyed or place[1] == 0}
    first |= {(source.topic, partition): one.offset for partition, one in (begin or {}).items()}
    if merger is not None and session.upkeep.recordings_mb is not None:
        # its libraries take 40 MB, and few sessions are recorded
        from pricefeeds.input_recorder import InputRecorder

        recorder = InputRecorder(session, source.topic, first, source.label)
    folder = apps_folder(session) / source.label
    errors = ErrorKeeper(session, source, source.label, apps, folder) if _keeps_errors(source) else None
    copiers = tuple(_copiers(session, source, brokers, apps))
    ends = _outer_ends(session, source, apps, listeners or HttpListeners(), created_at)
    former = tuple(_former(session, source, brokers, apps))
    return LiveInput(source, first, merger, recorder, keeper, errors, copiers, sent, ends, former)


def _keeps_errors(source: AppSource) -> bool:
    return bool(kept_streams(source.app))


def _former(
    session: Session, source: AppSource, brokers: Mapping[str, str], first: Mapping[Position, int]
) -> Iterator[FormerRows]:
    for label in former_labels(source, apps_folder(session)):
        yield FormerRows(session.home, label, partial(_former_copiers, session, source, brokers, first, label))


def _former_copiers(
    session: Session, source: AppSource, brokers: Mapping[str, str], first: Mapping[Position, int], label: str
) -> Iterator[RowCopier | ErrorKeeper]:
    """Return what copies the rest of what an earlier version gave to sinks that the app still has, and to the error
    store."""
    folder = apps_folder(session) / label
    yield from former_forwarders(session.services.kafka, source, label, brokers, first, folder)
    if _keeps_errors(source) and (folder / ERRORS_PLACE).exists():
        yield ErrorKeeper(session, source, label, first, folder)


def _outer_ends(
    session: Session, source: AppSource, first: Mapping[Position, int], listeners: HttpListeners, created_at: int
) -> "OuterEnds | None":
    if not source.outside.sent and not source.outside.received:
        return None
    # clients of many protocols, and few apps have any
    from launch.apps.outer_ends import outer_ends

    return outer_ends(session, source, first, listeners, created_at)


def _copiers(
    session: Session, source: AppSource, brokers: Mapping[str, str], first: Mapping[Position, int]
) -> Iterator[RowCopier]:
    """Return the writers to topics of the user's own, and to other regions."""
    folder = apps_folder(session) / source.label
    for sink in source.outside.kafka_sinks:
        target = SinkTarget(source.name, source.label, sink, brokers[sink.servers])
        yield sink_forwarder(session.services.kafka, target, first, folder)
    sharer = row_sharer(session, source, first, folder)
    if sharer is not None:
        yield sharer


async def through_outages(what: str, work: Callable[[], Coroutine[object, object, None]]) -> None:
    """Run `work` again after an outage of Kafka, because the app goes on, too."""

    def tell(error: Exception) -> None:
        log.warning("%s waits", what, extra={"reason": str(error)})

    await retry_on(work, (StreamUnavailableError,), tell)
