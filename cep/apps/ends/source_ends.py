"""Sources that receive messages of others: what an app's text says of them. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import re2

from cep.apps.ends.end_options import EndOptions, refused
from cep.apps.ends.http_addresses import origin_of, url_problem
from cep.apps.ends.sink_ends import (
    Columns,
    EventsTarget,
    SentSink,
    bucket_name,
    collection_name,
    fixed_headers,
    mongo_place,
    mqtt_server,
    mqtt_version,
    own_path,
    project_name,
    quality,
    resource_id,
    socket_url,
)
from cep.apps.formats.row_formats import RowReader, row_reader
from cep.apps.language.app_ends import AppEnd
from cep.apps.language.expression_tree import Place

RECEIVED_TYPES = (
    "http",
    "http-service",
    "mqtt",
    "file",
    "mongodb",
    "websocket",
    "sse",
    "s3",
    "googlepubsub",
    "websocket-server",
)
OPERATIONS = ("insert", "update", "replace", "delete")
MOST_POLL_MILLISECONDS = 3_600_000
MOST_ANSWER_MILLISECONDS = 120_000


@dataclass(frozen=True, slots=True)
class HttpPath:
    """Rows are sent to this path of the operator's address. `service`: the `source.id` by which rows of the app answer
    them, within `seconds`; None if they are answered once they are kept."""

    path: str
    service: str | None = None
    seconds: float = 0.0
    is_socket: bool = False
    """Whether they come by WebSocket."""

    def __str__(self) -> str:
        return self.path


@dataclass(frozen=True, slots=True)
class MqttTopics:
    """`server`: as the operator names it; `topics`: filters of topics. The rest as of a sink."""

    server: str
    topics: tuple[str, ...]
    qos: int
    version: int
    client: str
    is_clean: bool
    """Whether what comes while nobody listens is not waited for."""

    def __str__(self) -> str:
        return f"topic {', '.join(self.topics)} of {self.server}"


@dataclass(frozen=True, slots=True)
class FolderFiles:
    """`folder`: the operator's name of a folder, and names of folders in it. `pattern`: of the files' names, RE2."""

    folder: tuple[str, ...]
    pattern: str
    by_line: bool
    is_tailed: bool
    seconds: float

    def __str__(self) -> str:
        return f"folder {'/'.join(self.folder)}, files {self.pattern!r}"


@dataclass(frozen=True, slots=True)
class MongoChanges:
    """`server`: as the operator names it. `operations`: which changes are rows."""

    server: str
    database: str
    collection: str
    operations: tuple[str, ...]

    def __str__(self) -> str:
        return f"changes of {self.database}.{self.collection} of {self.server}"


@dataclass(frozen=True, slots=True)
class SocketMessages:
    """As `SocketTarget`."""

    url: str
    headers: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return f"from {origin_of(self.url)}"


@dataclass(frozen=True, slots=True)
class ServerEvents:
    """Of server-sent events."""

    url: str
    headers: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return f"from {origin_of(self.url)}"


@dataclass(frozen=True, slots=True)
class BucketObjects:
    """Objects below `folder`, all of the bucket if it is empty; `seconds`: between two looks."""

    server: str
    folder: str
    region: str
    seconds: float

    @property
    def prefix(self) -> str:
        """Return what the names of the objects begin with: `public` is no part of `public-keys`."""
        return f"{self.folder}/" if self.folder else ""

    def __str__(self) -> str:
        return f"objects {self.prefix} of {self.server}"


@dataclass(frozen=True, slots=True)
class PubSubMessages:
    """`server`: the project, as the operator names it."""

    server: str
    subscription: str

    def __str__(self) -> str:
        return f"subscription {self.subscription} of {self.server}"


NamedOrigin = MqttTopics | MongoChanges | BucketObjects | PubSubMessages
"""Of servers that the operator names."""
Origin = HttpPath | FolderFiles | SocketMessages | ServerEvents | NamedOrigin


@dataclass(frozen=True, slots=True)
class ReceivedSource:
    """`type`: one of RECEIVED_TYPES."""

    at: Place
    stream: str
    type: str
    origin: Origin
    reader: RowReader
    columns: Columns


def received_source(end: AppEnd, columns: Columns, schemas: Path | None) -> ReceivedSource:
    """Raise AppUnsupportedError."""
    reader = row_reader(end, columns, schemas)
    match end.type.lower():
        case "http":
            origin: Origin = HttpPath(
                _path(end, EndOptions(end, "path", "receiver.url", "basic.auth.enabled", "map.*"))
            )
        case "http-service":
            options = EndOptions(end, "path", "receiver.url", "source.id", "connection.timeout", "map.*")
            seconds = options.number("connection.timeout", 10_000, MOST_ANSWER_MILLISECONDS) / 1_000
            origin = HttpPath(_path(end, options), options.required("source.id"), seconds)
        case "websocket-server":
            origin = HttpPath(_path(end, EndOptions(end, "path", "host", "port", "map.*")), is_socket=True)
        case "websocket":
            options = EndOptions(end, "url", "headers", "map.*")
            origin = SocketMessages(socket_url(end, options), fixed_headers(end, options))
        case "sse":
            origin = _events(end)
        case "file":
            origin = _files(end, reader)
        case kind:
            origin = _named_origin(end, kind)
    return ReceivedSource(end.at, end.name, end.type.lower(), origin, reader, columns)


def _named_origin(end: AppEnd, kind: str) -> NamedOrigin:
    match kind:
        case "mqtt":
            return _mqtt(end)
        case "mongodb":
            return _changes(end)
        case "googlepubsub":
            # the subscription knows its topic; a credential.path of Siddhi's texts is the operator's login_file here
            options = EndOptions(end, "project.id", "subscription.id", "topic.id", "credential.path", "map.*")
            return PubSubMessages(project_name(end, options), resource_id(end, options, "subscription.id"))
        case _:
            options = EndOptions(end, "bucket.name", "object.prefix", "aws.region", "polling.interval.ms", "map.*")
            seconds = options.number("polling.interval.ms", 10_000, MOST_POLL_MILLISECONDS) / 1_000
            folder, region = options.required("object.prefix").strip("/"), options.text("aws.region", "")
            return BucketObjects(bucket_name(end, options), folder, region, seconds)


def paths_of(sources: Iterable[ReceivedSource], sinks: Iterable[SentSink]) -> list[str]:
    """Return the paths at which they take rows by HTTP, and are listened to."""
    received = [one.origin.path for one in sources if isinstance(one.origin, HttpPath)]
    return received + [one.target.path for one in sinks if isinstance(one.target, EventsTarget)]


def services_of(sources: Iterable[ReceivedSource]) -> list[str]:
    """Return the ids of those whose requests the app answers."""
    found = (one.origin.service for one in sources if isinstance(one.origin, HttpPath))
    return [one for one in found if one is not None]


def _path(end: AppEnd, options: EndOptions) -> str:
    # Siddhi names host and port too, which are the operator's here
    url = options.text("receiver.url", "")
    return own_path(end, options.text("path", re.sub(r"^https?://[^/]*", "", url)) or f"/{end.name}")


def _mqtt(end: AppEnd) -> MqttTopics:
    known = ("url", "topic", "quality.of.service", "client.id", "version", "clean.session", "map.*")
    options = EndOptions(end, *known)
    topics = tuple(one.strip() for one in options.required("topic").split(","))
    odd = next((one for one in topics if not is_filter(one)), None)
    if odd is not None:
        raise refused(
            end, f"topic = {odd!r}: write names with '/' between them; + stands for one, # for all at the end"
        )
    return MqttTopics(
        mqtt_server(end, options),
        topics,
        quality(end, options.text("quality.of.service", "1")),
        mqtt_version(end, options),
        options.text("client.id", ""),
        options.truth("clean.session", default=False),
    )


def _changes(end: AppEnd) -> MongoChanges:
    options = EndOptions(end, "uri", "collection", "operation", "map.*")
    server, database = mongo_place(end, options)
    operations = tuple(one.strip() for one in options.text("operation", "insert,update,replace").split(","))
    odd = next((one for one in operations if one not in OPERATIONS), None)
    if odd is not None:
        raise refused(end, f"operation = {odd!r}: there are {', '.join(OPERATIONS)}")
    return MongoChanges(server, database, collection_name(end, options), operations)


def _events(end: AppEnd) -> ServerEvents:
    options = EndOptions(end, "event.source.url", "headers", "map.*")
    url = options.required("event.source.url")
    problem = url_problem(url)
    if problem is not None:
        raise refused(end, f"event.source.url = {url!r}: {problem}")
    return ServerEvents(url, fixed_headers(end, options))


def is_filter(text: str) -> bool:
    """Whether MQTT takes it as a filter of topics (MQTT 5, 4.7.1); those that are shared are the broker's to order."""
    levels = text.split("/")
    is_whole = all(one in ("+", "#") or not re.search(r"[+#\0]", one) for one in levels)
    return bool(text) and is_whole and "#" not in levels[:-1] and not text.startswith("$")


def _files(end: AppEnd, reader: RowReader) -> FolderFiles:
    options = EndOptions(
        end, "folder", "dir.uri", "file.uri", "file.name.pattern", "mode", "tailing", "file.polling.interval", "map.*"
    )
    uri = options.text("folder", options.text("dir.uri", options.text("file.uri", "")))
    names = re.sub(r"^file:/*", "", uri).strip("/").split("/")
    if any(not re.fullmatch(r"[\w .@+=-]{1,255}", one) or one.strip(".") == "" for one in names):
        problem = "write the operator's name of a folder, then folders in it: 'feeds/orders'"
        raise refused(end, f"folder = {uri!r}: {problem}")
    pattern = options.text("file.name.pattern", ".*")
    if "file.uri" in end.options and "folder" not in end.options and "dir.uri" not in end.options:
        *names, pattern = *names[:-1], re.escape(names[-1])
        if not names:
            raise refused(end, f"file.uri = {uri!r}: write the operator's name of a folder before the file")
    try:
        re2.compile(pattern)
    except re2.error:
        raise refused(end, f"file.name.pattern = {pattern!r}: write a regular expression of RE2") from None
    mode = options.text("mode", "line" if reader.by_line else "text.full").lower()
    if mode not in ("line", "text.full", "binary.full"):
        raise refused(end, f"mode = {mode!r}: there are line, text.full and binary.full")
    milliseconds = options.number("file.polling.interval", 1_000, MOST_POLL_MILLISECONDS)
    is_tailed = options.truth("tailing", default=True)
    return FolderFiles(tuple(names), pattern, mode == "line", is_tailed, milliseconds / 1_000)
