"""What an app's sinks and sources are to its hosts, by their options. Pure: nothing is opened here.

| type | what it is |
|---|---|
| sink `log`, `logger` | each row is a line of the run, behind its prefix |
| sink `stream`, `c8streams`, `CREATE SINK STREAM` | each row is in the topic `apps`, under the stream's name |
| sink `http-call` | each row is a request to `publisher.url` |
| source `http-call-response` | the responses to one sink's requests, by their status |
| sink `kafka` | each row is in a topic of the user's own too, with its id |
| source `kafka` | the rows of topics of the user's own |
| sink of `SENT_TYPES` | each row is sent to somebody's server |
| source of `RECEIVED_TYPES` | rows of messages that somebody sends, or of files |
| store `database`, `c8db`, `mongodb`, `CREATE TABLE GLOBAL` | its rows are in MongoDB too, and there next time |
"""

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

from cep.apps.ends.end_options import EndOptions, refused
from cep.apps.ends.http_addresses import origin_of, url_problem
from cep.apps.ends.sink_ends import SENT_TYPES, AnswerTarget, EventsTarget, SentSink, header_pairs, sent_sink
from cep.apps.ends.source_ends import RECEIVED_TYPES, HttpPath, ReceivedSource, paths_of, received_source, services_of
from cep.apps.formats.row_formats import RowReader, RowWriter, row_reader, row_writer
from cep.apps.formats.typed_values import ColumnTypes
from cep.apps.hosts.kafka_ends import KafkaSink, KafkaSource, kafka_sink, kafka_source, topic_name
from cep.apps.hosts.notice_sinks import notice_text
from cep.apps.language.app_ends import KINDS, STORE_ERRORS, AppEnd, app_ends, error_action, kept_streams
from cep.apps.language.app_tree import AggregationDefinition, App, StreamDefinition, TableDefinition
from cep.apps.language.errors import AppUnsupportedError
from cep.apps.language.expression_tree import Place
from cep.apps.language.stream_names import stream_names

WITH_BODY = ("POST", "PUT", "PATCH")
METHODS = ("GET", "DELETE", *WITH_BODY)
MOST_SECONDS = 60.0
"""That one attempt may take."""
MOST_IN_FLIGHT = 64


@dataclass(frozen=True, slots=True)
class LogSink:
    stream: str
    prefix: str


@dataclass(frozen=True, slots=True)
class NamedSink:
    stream: str


@dataclass(frozen=True, slots=True)
class CallSink:
    """`id`: by which sources name it. `retries`: whether a request that got no answer is made again. `in_flight`: at
    most so many requests at once. `writer`: of the bodies, of a method that has one."""

    at: Place
    stream: str
    id: str
    url: str
    method: str
    headers: tuple[tuple[str, str], ...]
    timeout_seconds: float
    retries: bool
    in_flight: int
    writer: RowWriter
    of_errors: tuple[str, ...] = ()
    """The stream's columns, if the row of a request without an answer goes on in its stream of errors."""
    keeps_errors: bool = False
    """Whether such a row goes into the error store."""

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return origin_of(self.url)

    @property
    def path(self) -> str:
        """With the query."""
        return self.url[len(self.origin) :]


@dataclass(frozen=True, slots=True)
class ResponseSource:
    """`status`: a pattern of all three digits. `reader`: of the responses."""

    stream: str
    sink: str
    status: str
    reader: RowReader


@dataclass(frozen=True, slots=True)
class StoredTable:
    """`collection`: under which name its rows are kept."""

    table: str
    collection: str
    columns: ColumnTypes


EndedDefinition = StreamDefinition | TableDefinition | AggregationDefinition
STORES = ("", "c8db", "database", "mongodb")
"""Types of a store."""
BUCKET_COLUMNS: ColumnTypes = (
    ("duration", "string"),
    ("start", "long"),
    ("group", "string"),
    ("content", "string"),
)
"""Of the rows as which an aggregation's buckets are kept (`cep.apps.hosts.stored_tables`)."""
OtherEnd = KafkaSink | KafkaSource | SentSink | ReceivedSource
Outside = LogSink | NamedSink | CallSink | ResponseSource | OtherEnd | StoredTable


@dataclass(frozen=True, slots=True)
class AppOutside:
    """Each in the order of the text."""

    logs: tuple[LogSink, ...] = ()
    named: tuple[NamedSink, ...] = ()
    calls: tuple[CallSink, ...] = ()
    responses: tuple[ResponseSource, ...] = ()
    tables: tuple[StoredTable, ...] = ()
    kafka_sinks: tuple[KafkaSink, ...] = ()
    kafka_sources: tuple[KafkaSource, ...] = ()
    sent: tuple[SentSink, ...] = ()
    """Sinks whose rows are sent to servers of others."""
    received: tuple[ReceivedSource, ...] = ()
    """Sources of messages that others send, and of files."""

    @property
    def kafka_ends(self) -> tuple[KafkaSource | KafkaSink, ...]:
        return (*self.kafka_sources, *self.kafka_sinks)

    @property
    def topics(self) -> Mapping[str, tuple[KafkaSource, ...]]:
        """Topics of the user's own, by their names in the input log (`topic_name`), each with those that read it."""
        found: dict[str, tuple[KafkaSource, ...]] = {}
        for source in self.kafka_sources:
            for topic in source.topics:
                name = topic_name(source.servers, topic)
                found[name] = (*found.get(name, ()), source)
        return found

    def responses_to(self, sink: CallSink) -> tuple[ResponseSource, ...]:
        return tuple(one for one in self.responses if one.sink == sink.id)


def app_outside(app: App, schemas: Path | None = None) -> AppOutside:
    """`schemas`: the operator's folder of schema files. Raises AppUnsupportedError if no host does what the text
    says."""
    for other in app.definitions:
        if isinstance(other, EndedDefinition):
            continue
        for annotation in other.annotations:
            if annotation.name.lower() in KINDS:
                where = f"@{annotation.name} of {other.name}"
                raise AppUnsupportedError(
                    annotation.at, f"not supported: {where}: only streams, tables and aggregations have one"
                )
    definitions = {one.name: one for one in app.definitions if isinstance(one, EndedDefinition)}
    ends = [(end, _outside(end, definitions, schemas)) for end in app_ends(app)]
    kept = kept_streams(app)
    parts = [_keeping(part, definitions[end.name], kept) for end, part in ends]
    outside = AppOutside(
        tuple(one for one in parts if isinstance(one, LogSink)),
        tuple(one for one in parts if isinstance(one, NamedSink)),
        tuple(one for one in parts if isinstance(one, CallSink)),
        tuple(one for one in parts if isinstance(one, ResponseSource)),
        tuple(one for one in parts if isinstance(one, StoredTable)),
        tuple(one for one in parts if isinstance(one, KafkaSink)),
        tuple(one for one in parts if isinstance(one, KafkaSource)),
        tuple(one for one in parts if isinstance(one, SentSink)),
        tuple(one for one in parts if isinstance(one, ReceivedSource)),
    )
    inserted = stream_names(app).inserted
    for end, part in ends:
        if (
            problem := _problem(part, outside)
            or _http_problem(part, outside)
            or _kafka_problem(part, outside, inserted)
        ) is not None:
            raise refused(end, problem)
    return outside


def _keeping(part: Outside, definition: EndedDefinition, kept: Container[str]) -> Outside:
    """Return a source that keeps messages which cannot be read, if its stream is one of `kept`."""
    if not isinstance(part, KafkaSource) or part.stream not in kept or isinstance(definition, AggregationDefinition):
        return part
    return replace(part, kept=len(definition.columns))


def _problem(part: Outside, outside: AppOutside) -> str | None:
    """Return what is wrong with one beside the others."""
    ids = [call.id for call in outside.calls]
    match part:
        case CallSink() if ids.count(part.id) > 1:
            return f"another sink has the sink.id {part.id!r} too; give each its own"
        case CallSink() if [call.stream for call in outside.calls].count(part.stream) > 1:
            return "the stream has another sink http-call too; write its rows to a stream for each"
        case ResponseSource() if part.sink not in ids:
            near = get_close_matches(part.sink, ids, n=1)
            advice = f"; did you mean {near[0]!r}?" if near else ""
            return f"no sink http-call has the sink.id {part.sink!r}{advice}"
        case StoredTable() if [one.table for one in outside.tables].count(part.table) > 1:
            return "the table has another store too; keep it in one"
        case StoredTable() if [one.collection for one in outside.tables].count(part.collection) > 1:
            return f"another table is kept as {part.collection!r} too; give each its own collection"
        case _:
            return None


def _http_problem(part: Outside, outside: AppOutside) -> str | None:
    """As `_problem`, of rows that come by HTTP and their answers."""
    match part:
        case ReceivedSource(origin=HttpPath(path=path)) | SentSink(target=EventsTarget(path=path)) if (
            paths_of(outside.received, outside.sent).count(path) > 1
        ):
            return f"another source or sink has the path {path!r} too; give each its own"
        case SentSink(target=AnswerTarget(source=service)) if services_of(outside.received).count(service) != 1:
            return f"it needs one source http-service with the source.id {service!r}"
        case _:
            return None


def _kafka_problem(part: Outside, outside: AppOutside, inserted: Container[str]) -> str | None:
    """As `_problem`, of topics of the user's own. `inserted`: streams that queries insert into."""
    match part:
        case KafkaSink() | SentSink() if part.stream not in inserted:
            return "no query inserts into the stream, so nothing would be written; insert its rows from another stream"
        case KafkaSink() if [one.stream for one in outside.kafka_sinks].count(part.stream) > 1:
            return "the stream has another sink kafka too; write its rows to a stream for each"
        case KafkaSink() if topic_name(part.servers, part.topic) in outside.topics:
            return f"the app reads the topic {part.topic!r} too, and would feed itself; write to another"
        case KafkaSource():
            readers = {one: outside.topics[topic_name(part.servers, one)] for one in part.topics}
            twice = [one for one, found in readers.items() if [who.stream for who in found].count(part.stream) > 1]
            return f"the stream has another source of the topic {twice[0]!r}; name it once" if twice else None
        case _:
            return None


def _outside(end: AppEnd, definitions: Mapping[str, EndedDefinition], schemas: Path | None) -> Outside:
    definition = definitions[end.name]
    if (end.kind == "store") == isinstance(definition, StreamDefinition):
        raise refused(end, "a store belongs to a table or an aggregation, a sink or a source to a stream")
    if isinstance(definition, AggregationDefinition):
        return _store(end, BUCKET_COLUMNS)
    columns = tuple((one.name, one.type) for one in definition.columns)
    match end.kind:
        case "sink":
            return _sink(end, definition, columns, schemas)
        case "store":
            return _store(end, columns)
        case _ if end.type.lower() == "http-call-response":
            return _response_source(end, columns, schemas)
        case _:
            return _kafka_end(end, columns, schemas)


def _sink(
    end: AppEnd, definition: StreamDefinition | TableDefinition, columns: ColumnTypes, schemas: Path | None
) -> LogSink | NamedSink | CallSink | OtherEnd:
    match end.type.lower():
        case "log" | "logger":
            options = EndOptions(end, "prefix", "priority")
            return LogSink(end.name, options.text("prefix", end.name))
        case "" | "stream" | "c8streams":
            options = EndOptions(end, "stream", "map.type")
            if options.text("stream", end.name) != end.name:
                problem = f"its rows are known by the name of the stream, {end.name!r}; give both one name"
                raise refused(end, f"stream = {options.text('stream', '')!r}: {problem}")
            if options.text("map.type", "json").lower() != "json":
                raise refused(end, f"map type {options.text('map.type', '')!r}: rows of such a stream are json")
            return NamedSink(end.name)
        case "notice":
            # a query gives its texts to the stream whose rows are notices
            notice_text(end, tuple(name for name, _ in columns))
            return NamedSink(end.name)
        case "http-call":
            return _call_sink(end, definition, columns, schemas)
        case _:
            return _kafka_end(end, columns, schemas)


def _store(end: AppEnd, columns: ColumnTypes) -> StoredTable | OtherEnd:
    return _stored_table(end, columns) if end.type.lower() in STORES else _kafka_end(end, columns, None)


def _kafka_end(end: AppEnd, columns: ColumnTypes, schemas: Path | None) -> OtherEnd:
    match end.kind, end.type.lower():
        case "sink", "kafka":
            return kafka_sink(end, columns, schemas)
        case "source", "kafka":
            return kafka_source(end, columns, schemas)
        case "sink", kind if kind in SENT_TYPES:
            return sent_sink(end, columns, schemas)
        case "source", kind if kind in RECEIVED_TYPES:
            return received_source(end, columns, schemas)
        case _:
            problem = f"no host runs the {end} yet; `arbitrage app test` gives and takes its rows by hand"
            raise AppUnsupportedError(end.at, f"not supported: {problem}")


def _call_sink(
    end: AppEnd, definition: StreamDefinition | TableDefinition, columns: ColumnTypes, schemas: Path | None
) -> CallSink:
    known = ("publisher.url", "method", "headers", "sink.id", "map.*", "connection.timeout", "socket.idle.timeout")
    options = EndOptions(end, *known, "on.error", "max.pool.active.connections")
    url, method = options.required("publisher.url"), options.text("method", "POST").upper()
    problem = url_problem(url)
    if problem is not None:
        raise refused(end, f"publisher.url = {url!r}: {problem}")
    if method not in METHODS:
        raise refused(end, f"method = {method!r}: there are {', '.join(METHODS)}")
    on_error = _on_error(end, options, definition)
    idle = options.number("socket.idle.timeout", 6_000, int(MOST_SECONDS * 1_000))
    return CallSink(
        end.at,
        end.name,
        options.text("sink.id", end.name),
        url,
        method,
        tuple(header_pairs(end, options.text("headers", ""))),
        options.number("connection.timeout", idle, int(MOST_SECONDS * 1_000)) / 1_000,
        on_error == "wait",
        options.number("max.pool.active.connections", 4, MOST_IN_FLIGHT),
        row_writer(end, columns, schemas),
        _of_errors(end, definition) if on_error in ("stream", STORE_ERRORS) else (),
        on_error == STORE_ERRORS,
    )


def _on_error(end: AppEnd, options: EndOptions, definition: StreamDefinition | TableDefinition) -> str:
    """Return what becomes of a request without an answer: what the sink says, else what `@OnError` of its stream
    does."""
    said = error_action(definition) if isinstance(definition, StreamDefinition) else None
    of_stream = "log" if said is None else said[1]
    on_error = options.text("on.error", of_stream).lower()
    if on_error not in ("log", "wait", "stream", STORE_ERRORS):
        raise refused(end, f"on.error = {on_error!r}: there are log, wait, stream and store")
    if on_error == "stream" and of_stream != "stream":
        raise refused(end, "on.error = 'stream': the stream has no stream of errors; add @OnError(action = 'stream')")
    return on_error


def _of_errors(end: AppEnd, definition: StreamDefinition | TableDefinition) -> tuple[str, ...]:
    odd = next((one.name for one in definition.columns if one.type in ("decimal", "object")), None)
    if odd is not None:
        raise refused(end, f"{odd!r}: a stream of errors of requests has string, bool, int, long, float and double")
    return tuple(one.name for one in definition.columns)


def _response_source(end: AppEnd, columns: ColumnTypes, schemas: Path | None) -> ResponseSource:
    options = EndOptions(end, "sink.id", "http.status.code", "map.*")
    status = options.text("http.status.code", "200")
    if not _is_status(status):
        raise refused(end, f"http.status.code = {status!r}: write three digits, such as 200 or 5..")
    # an answer without a column says as much as one with null
    reader = row_reader(end, columns, schemas, needs_all=False)
    return ResponseSource(end.name, options.required("sink.id"), status, reader)


def _is_status(pattern: str) -> bool:
    """Digits, dots and sets of digits: a pattern of somebody else's that ends."""
    if not re.fullmatch(r"([0-9]|\.|\\d|\[([0-9](-[0-9])?)+\]){3}", pattern):
        return False
    try:
        re.compile(pattern)
    except re.error:
        # such as [9-0]
        return False
    return True


def _stored_table(end: AppEnd, columns: ColumnTypes) -> StoredTable:
    collection = EndOptions(end, "collection").text("collection", end.name)
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", collection):
        raise refused(end, f"collection = {collection!r}: write a name of letters and digits")
    odd = next((name for name, kind in columns if kind == "object"), None)
    if odd is not None:
        raise refused(end, f"{odd!r} is an object, which no document keeps")
    return StoredTable(end.name, collection, columns)
