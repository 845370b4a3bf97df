"""An app as its hosts run it: rows of one partition of its log go in, rows of its last streams come out with ids.

Its log is the topic that it reads, or its input log if it reads several (`cep.apps.hosts.input_log`).

The same rows of a log give the same rows with the same ids in every host, from wherever in the log it was interrupted
and continued.
"""

from collections.abc import Callable, Container, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import thread_time
from typing import Any

from cep.apps.engine.app_endpoints import app_endpoints
from cep.apps.engine.app_labels import DIGEST_CHARACTERS, file_label, label_of_name
from cep.apps.engine.carried_state import CarriedParts, carry
from cep.apps.engine.failures import FAILURES, failure
from cep.apps.engine.host_choice import HostName, host_of
from cep.apps.engine.input_rows import row_of
from cep.apps.engine.junctions import RowListener
from cep.apps.engine.key_log import KeyFiles, KeyLog, restored
from cep.apps.engine.on_demand import Answer
from cep.apps.engine.question_meter import QUESTION_LIMITS, QuestionMeter
from cep.apps.engine.snapshots import Segments, Snapshot, SnapshotError, app_digest, read, written
from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.errors import AppFailedError, AppNotYetError
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.hosts.app_files import app_files
from cep.apps.hosts.app_messages import AppRow, given_again
from cep.apps.hosts.app_outside import AppOutside, StoredTable, app_outside
from cep.apps.hosts.input_log import CALLS, REPLAYS, TABLES
from cep.apps.hosts.log_rows import LogRows, RowReading
from cep.apps.hosts.product_streams import PRODUCT_STREAMS, STORE, parse_with_product_streams, read_streams
from cep.apps.hosts.shared_parts import SharedParts, shared_parts
from cep.apps.hosts.shared_rows import NoSharedRows, RegionRows, SharedRows
from cep.apps.hosts.stored_tables import StoredBuckets, StoredRows, has_stored
from cep.apps.language.app_ends import kept_streams
from cep.apps.language.app_tree import App, OnDemandQuery, StreamDefinition, TriggerDefinition
from cep.apps.language.errors import AppTextError
from cep.apps.language.expression_tree import Place
from cep.apps.language.stream_names import output_streams, stream_names
from cep.apps.parts.app_limits import AppLimits
from cep.apps.parts.chunks import Row
from cep.apps.parts.scope import Columns, columns_of
from cep.apps.parts.tables import TableListener
from streams.mirrored_rows import UnrepeatedRows
from streams.topics import APP_INPUT, APP_ROWS, SHARED_IN, TICKS

ROWS_BETWEEN_LOOKS = 1_000
"""At whose offsets it is counted what an app keeps, so that every host ends an app at the same row."""


@dataclass(frozen=True)
class AppSource:
    """An app's text, and the name that it has if the text gives none."""

    file_name: str
    text: str
    variables: tuple[tuple[str, str], ...] = ()
    """What `context:getVar` gives."""
    terms: OperatorTerms = field(default_factory=OperatorTerms)
    files: tuple[tuple[str, str], ...] = ()
    """Those of the operator's folders that it uses, each with a digest of its content."""
    region: str | None = None
    """The one that it runs in, and shares its GLOBAL streams and tables with others; None: without regions."""
    takes_rows: bool = False
    """Whether its host writes rows into those of its streams that nothing else fills."""
    takes_replays: bool = False
    """Whether its host gives it rows of the error store again."""

    @cached_property
    def digest(self) -> str:
        """Return the digest of all but the log that its rows follow from."""
        parts = [self.text, *(repr(one) for one in (self.variables, self.files) if one)]
        return app_digest("\n".join(parts))

    @cached_property
    def name(self) -> str:
        named = (item.value for one in self.app.annotations if one.name.lower() == "app:name" for item in one.items)
        return next(named, self.file_name)

    @property
    def version(self) -> str:
        return self.digest[:DIGEST_CHARACTERS]

    @cached_property
    def label(self) -> str:
        """Return the label of name and version; it stands before the ids of the app's rows, and names its files."""
        return file_label(self.name, self.digest)

    @cached_property
    def app(self) -> App:
        return parse_with_product_streams(self.text)

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The topics that its streams come from; of several `ticks` is always one, since it moves the clock. Raises
        AppTextError if nothing would ever come in."""
        topics = dict.fromkeys(stream.topic for stream in read_streams(self.app))
        of_users = dict.fromkeys(self.outside.topics)
        sent = {} if self.rows_topic is None else {self.rows_topic: None}
        has_trigger = any(isinstance(one, TriggerDefinition) for one in self.app.definitions)
        if not (topics or of_users or sent or has_trigger):
            problem = "the app reads no stream of the product and no topic, and has no trigger"
            raise AppTextError(Place(1, 1), f"{problem}, so nothing would ever come in")
        # what its tables had comes first, whatever has the same time
        given = {TABLES: None} if self.outside.tables else {}
        asked = {CALLS: None} if self.outside.calls else {}
        is_alone = len(topics) == 1 and STORE not in topics and not (given or asked or of_users or sent)
        shared = {} if self.shared is None else {SHARED_IN: None}
        if is_alone and not shared:
            return tuple(topics)
        return tuple(given | {TICKS: None} | topics | asked | of_users | sent | shared)

    @cached_property
    def rows_topic(self) -> str | None:
        """The topic of rows that others send into its streams, one for all its versions; None if none are."""
        return f"{APP_ROWS}{label_of_name(self.name)}" if self.sent_streams else None

    @cached_property
    def sent_streams(self) -> Mapping[str, Columns]:
        """The streams whose rows come through `rows_topic`, with their columns."""
        again = kept_streams(self.app) if self.takes_replays else ()
        given = {*again, *(one.stream for one in self.outside.received)}
        return {**(self.plain_streams if self.takes_rows else {}), **self._columns_of(given)}

    @cached_property
    def plain_streams(self) -> Mapping[str, Columns]:
        """Those that the text defines and reads, and that nothing in it fills, with their columns."""
        names, ends = stream_names(self.app), self.outside
        filled = {one.stream for some in (ends.responses, ends.kafka_sources, ends.received) for one in some}
        return self._columns_of(names.read.keys() - {*PRODUCT_STREAMS, *names.inserted, *filled})

    def _columns_of(self, names: Container[str]) -> Mapping[str, Columns]:
        defined = (one for one in self.app.definitions if isinstance(one, StreamDefinition))
        return {one.name: columns_of(one.columns) for one in defined if one.name in names}

    @cached_property
    def outside(self) -> AppOutside:
        """Its sinks and sources. Raises AppUnsupportedError if no host runs one of them."""
        return app_outside(self.app, self.terms.schemas)

    @cached_property
    def host(self) -> HostName:
        """Who runs it live. Raises AppTextError if there is no such host, or the app does not fit it."""
        return host_of(self.app)

    @cached_property
    def shared(self) -> SharedParts | None:
        """What it shares with other regions; None if that is nothing."""
        parts = shared_parts(self.app, self.outside)
        return parts if parts.names and self.region is not None else None

    @cached_property
    def is_keyed(self) -> bool:
        """Whether it reads streams of the session, whose bases are spread over the log's partitions. Any other app is
        run once, in the first partition."""
        return bool(read_streams(self.app))

    @property
    def is_merged(self) -> bool:
        """Whether it reads an input log of its own."""
        return len(self.sources) > 1

    @property
    def topic(self) -> str:
        """Its log: the topic that it reads, or its input log."""
        return f"{APP_INPUT}{self.label}" if self.is_merged else self.sources[0]


def app_source(
    text: str,
    file_name: str,
    variables: tuple[tuple[str, str], ...] = (),
    terms: OperatorTerms | None = None,
    region: str | None = None,
    *,
    takes_rows: bool = False,
    takes_replays: bool = False,
) -> AppSource:
    """Raise AppTextError if no host can run it as it is written. `takes_rows`, `takes_replays`: of `AppSource`."""
    source = compiled_app(text, file_name, variables, terms, region, takes_rows=takes_rows)[0]
    return replace(source, takes_replays=takes_replays)


def compiled_app(
    text: str,
    file_name: str,
    variables: tuple[tuple[str, str], ...] = (),
    terms: OperatorTerms | None = None,
    region: str | None = None,
    *,
    takes_rows: bool = False,
) -> tuple[AppSource, StreamEngine]:
    """As `app_source`, with the engine by which the app was checked."""
    source = AppSource(file_name, text, variables, terms or OperatorTerms(), region=region, takes_rows=takes_rows)
    engine = StreamEngine(source.app, terms=source.terms)
    # names and types first, since they are what people get wrong
    _ = source.sources, source.outside, source.host, app_endpoints(source.app, source.terms)
    return replace(source, files=app_files(source.app, source.terms)), engine


class HostedApp:
    """One partition's run of an app that `app_source` has accepted."""

    def __init__(
        self,
        source: AppSource,
        partition: int | str,
        unrepeated: UnrepeatedRows | None = None,
        observe: Callable[["HostedApp", StreamEngine], None] | None = None,
    ) -> None:
        """`unrepeated`: of no row yet, if the app reads `ticks` itself and rows of them may come again; what came
        again is left out. `observe`: called with the engine, once there is one, by who looks at its rows."""
        self._source, self._partition, self._observe = source, partition, observe
        self.question_limits = QUESTION_LIMITS
        streams, self._is_merged = read_streams(source.app), source.is_merged
        self._log = LogRows(source.topic, streams, is_merged=self._is_merged, unrepeated=unrepeated)
        self._stored = {one.table: one for one in source.outside.tables}
        self._regions: RegionRows = NoSharedRows()
        if source.region is not None and source.shared is not None:
            self._regions = SharedRows(source.region, source.shared)
        self.position: int | None = None
        """Offset of the next row; None before the first."""
        self._out: list[tuple[str, int, Row]] = []
        self._names: dict[str, tuple[str, ...]] = {}
        self._replays: tuple[str, str] | None = None
        """Stream and id of the row of the error store that is given again now."""
        self._engine: StreamEngine | None = None
        """None before the first row, at whose time the app's clock begins."""
        self.busy_with: int | None = None
        """The offset of the row that is computed now."""
        self.question: QuestionMeter | None = None
        """Of the on-demand query that is answered now."""

    @property
    def engine(self) -> StreamEngine | None:
        """None before the first row."""
        return self._engine

    @property
    def given(self) -> int:
        """How many rows the row that is computed now has given so far."""
        return len(self._out)

    def ask(self, query: OnDemandQuery) -> Answer:
        """Answer an on-demand query, or do what it does to a table. Raises AppTextError; AppNotYetError before the
        first row; AppFailedError, after which the app goes on as if it had not been asked."""
        if self._engine is None:
            raise AppNotYetError("the app has had no row yet; ask again in a moment")
        # what watches over rows watches over this too
        self.question = meter = QuestionMeter(self.question_limits, thread_time)
        try:
            return self._engine.data.ask(query, meter)
        except FAILURES as error:
            raise failure(error, "the on-demand query", self._source.app) from error
        except MemoryError as error:
            raise AppFailedError("the on-demand query takes more memory than there is; ask for less") from error
        finally:
            self.question = None

    @property
    def limits(self) -> AppLimits:
        """The operator's before the first row."""
        return self._source.terms.limits if self._engine is None else self._engine.amounts.limits

    def check_limits(self) -> None:
        """Raise AppLimitError."""
        if self._engine is not None:
            self._engine.amounts.check()

    def take(
        self, offset: int, written_at: int, row: Mapping[str, Any], read: RowReading | None = None
    ) -> list[AppRow]:
        """Take a row of the log, written at `written_at` (microseconds UTC). A row that is none of the log's is left
        out and moves no clock. `read`: what other apps have read of it. Raises
        AppFailedError."""
        self.position = offset + 1
        try:
            topic, at, rows = self._log.read(row, written_at, read)
            if topic == SHARED_IN:
                rows = self._regions.fresh(rows)
        except (ValueError, TypeError, AttributeError, KeyError):
            return []
        engine = self._engine or self._begun(at)
        self.busy_with = offset
        try:
            self._compute(engine, topic, at, rows)
            if offset % ROWS_BETWEEN_LOOKS == 0:
                self._look(engine)
        except FAILURES as error:
            raise failure(error, self._at(offset), self._source.app) from error
        finally:
            self.busy_with = None
        return self._given(offset) if self._out or self._replays is not None else []

    def _compute(self, engine: StreamEngine, topic: str, at: int, rows: list[tuple[str, Row]]) -> None:
        at = max(at, engine.now)
        if rows and not self._is_merged:
            for name, values in rows:
                engine.send(name, at, values)
            return
        if topic == TABLES and rows:
            # nothing happens before all tables are filled, not even the app's start
            self._fill(engine, rows)
            return
        if topic == SHARED_IN or not rows:
            engine.advance(at)
            if topic == SHARED_IN:
                self._regions.take(engine, rows)
            return
        sent = self._source.sent_streams if topic == self._source.rows_topic else {}
        for name, values in rows:
            if name == REPLAYS:
                engine.advance(at)
                self._replays = str(values[0]), str(values[1])
                continue
            # what users sent is in the log as JSON has it
            engine.send(name, at, row_of(sent[name], values) if name in sent else values)

    def _fill(self, engine: StreamEngine, rows: Iterable[tuple[str, Row]]) -> None:
        for name, values in rows:
            self._regions.fill(_stored_rows(engine, name), self._stored[name], values)

    def _look(self, engine: StreamEngine) -> None:
        engine.amounts.check()
        self._regions.forget(engine.now)

    def _at(self, offset: int) -> str:
        return f"row {offset} of partition {self._partition}"

    def snapshot(self, keys: KeyLog | None = None) -> bytes:
        """All that it has kept but what is in `keys`, and where it is in the log. Raises AppFailedError, OSError."""
        position = {str(self._partition): self.position or 0, **self._log.taken}
        state = None if self._engine is None else self._regions.with_own(self._state_of(self._engine, keys))
        data, most = written(Snapshot(self._source.digest, position, state)), self.limits.state_bytes
        if len(data) + (0 if keys is None else keys.state_bytes) > most:
            problem = f"partition {self._partition} keeps more than {most:,} bytes (state.bytes) at row {self.position}"
            raise AppFailedError(f"{problem}: a window, pattern, table or partition of the app grows without end")
        return data

    def restore(self, data: bytes, files: KeyFiles | None = None, *, keeps_position: bool = True) -> Segments:
        """To be called once, before any row. `files`: those in which a snapshot may have its keys; returns which they
        are. `keeps_position`: False for a log whose offsets are others, such as that of a later session: the app goes
        on with what it has kept, but for its stored tables and aggregations, which that log begins with.

        Raises SnapshotError if the bytes are no snapshot of this app; OSError.
        """
        snapshot, segments = read(data, self._source.digest), Segments()
        taken = dict(snapshot.position)
        position = taken.pop(str(self._partition), None)
        if position is None:
            raise SnapshotError("the snapshot is of another partition")
        if snapshot.state is not None:
            segments = self._restore_engine(self._regions.restored(snapshot.state), files)
        if keeps_position:
            self.position = position
            self._log.restore(taken)
        elif self._engine is not None:
            self._clear_stored(self._engine)
        return segments

    def take_over(self, before: "HostedApp", begin: int, saved: "HostedApp | None" = None) -> CarriedParts:
        """Go on where another version was, from the row `begin` of this one's log; to be called once, before any row.

        With what it has kept where that fits, or what `saved` has; and knowing what it took of each topic. Unless all
        that is stored fits (`has_stored`), none of it is kept, and its log begins with that; likewise with `saved`,
        since what is stored is newer. Raises AppFailedError.
        """
        self.position = begin
        if self._log.is_like(before._log):
            self._log.restore(dict(before._log.taken))
        after = self._begun(0 if before._engine is None else before._engine.now)
        kept = saved or before
        former = kept._engine or kept._begun(0)
        parts = CarriedParts((), ("all that it keeps, since it shares some with other regions",), ())
        if self._source.shared is None and kept._source.shared is None:
            parts = carry(former, kept._source.app, after, self._source.app)
        if saved is not None or not has_stored(self._source.outside.tables, parts):
            self._clear_stored(after)
            self._log.taken.pop(TABLES, None)
        return parts

    def _clear_stored(self, engine: StreamEngine) -> None:
        for name in self._stored:
            _stored_rows(engine, name).clear()

    def _state_of(self, engine: StreamEngine, keys: KeyLog | None) -> object:
        """Return what of it is in the snapshot."""
        return engine.state.saved() if keys is None else keys.taken()

    def _restore_engine(self, state: Any, files: KeyFiles | None) -> Segments:
        return restored(self._begun(0).state, state, files)

    def _begun(self, now: int) -> StreamEngine:
        source = self._source
        try:
            if source.files and app_files(source.app, source.terms) != source.files:
                names = ", ".join(name for name, _ in source.files)
                raise AppFailedError(f"{names}: changed since the app was started; start it again")
            self._engine = engine = StreamEngine(source.app, now, dict(source.variables), source.terms)
        except (AppTextError, OSError) as error:
            # it could be run when it was started: a file of the operator's is gone, or is not there on this machine
            raise AppFailedError(f"{source.name} cannot be begun: {error}") from error
        for stream in self._reported_streams():
            self._names[stream] = tuple(column.name for column in engine.columns_of(stream))
            engine.listen(stream, self._listener(stream))
        for name, stored in self._stored.items():
            self._names[name] = self._regions.change_columns(stored)
            _stored_rows(engine, name).listen(self._table_listener(stored))
        if self._observe is not None:
            self._observe(self, engine)
        return engine

    def _reported_streams(self) -> tuple[str, ...]:
        given = output_streams(self._source.app)
        inserted = stream_names(self._source.app).inserted
        return (*given, *(one for one in self._regions.streams if one in inserted and one not in given))

    def _listener(self, stream: str) -> RowListener:
        return self._regions.own_alone(stream, lambda at, row: self._out.append((stream, at, row)))

    def _table_listener(self, stored: StoredTable) -> TableListener:
        """Give what a stored table's rows become as rows of the app."""

        def changed(key: Hashable, row: Row | None) -> None:
            order = self.busy_with or 0, len(self._out)
            self._out.append((stored.table, self._now, self._regions.change(stored, key, row, self._now, order)))

        return changed

    @property
    def _now(self) -> int:
        return 0 if self._engine is None else self._engine.now

    def _given(self, offset: int) -> list[AppRow]:
        replays, self._replays = self._replays, None
        begin, name, rows = f"{self._source.label}:{self._partition}:{offset}", self._source.name, list[AppRow]()
        for number, (stream, at, values) in enumerate(self._out):
            named = dict(zip(self._names[stream], values, strict=True))
            row = AppRow(f"{begin}:{number}", name, stream, at, named)
            rows.append(row if replays is None else given_again(row, *replays))
        self._out.clear()
        return rows


def _stored_rows(engine: StreamEngine, name: str) -> StoredRows:
    plan = engine.plan.aggregations.get(name)
    return engine.data.table(name) if plan is None else StoredBuckets(plan, engine.data.aggregation(name))
