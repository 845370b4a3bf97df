"""Sinks whose rows are sent to somebody else's server: what an app's text says of them. Pure."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cep.apps.ends.end_options import EndOptions, refused
from cep.apps.ends.http_addresses import origin_of, url_problem
from cep.apps.ends.row_templates import RowTemplate, row_template
from cep.apps.ends.server_names import server_name
from cep.apps.formats.row_formats import RowWriter, row_writer
from cep.apps.language.app_ends import AppEnd
from cep.apps.language.errors import AppUnsupportedError
from cep.apps.language.expression_tree import Place, ValueType

Columns = tuple[tuple[str, ValueType], ...]
OnError = Literal["wait", "log", "store"]
"""What becomes of a row that is not taken: it is sent again until it is; or it is given up after some attempts, and
kept in the error store if so said. One that is refused is given up at once, and kept there unless `log` is said."""
SENT_TYPES = (
    "http",
    "mqtt",
    "mongodb",
    "websocket",
    "s3",
    "http-service-response",
    "sse",
    "websocket-server",
    "googlepubsub",
)
HTTP_METHODS = ("GET", "DELETE", "POST", "PUT", "PATCH")
OWN_HEADERS = ("host", "content-length", "transfer-encoding", "connection")
"""Headers that follow from the request itself."""
MOST_MILLISECONDS = 60_000
MOST_OBJECT_ROWS = 100_000


@dataclass(frozen=True, slots=True)
class HttpTarget:
    """A request for each row. `headers`: names, and values by row."""

    url: RowTemplate
    method: RowTemplate
    headers: tuple[tuple[str, RowTemplate], ...]
    timeout_seconds: float


@dataclass(frozen=True, slots=True)
class MqttTarget:
    """`server`: as the operator names it."""

    server: str
    topic: RowTemplate
    qos: int
    retain: bool
    version: int
    """4 for MQTT 3.1.1, 5."""
    client: str
    """What the client calls itself; empty: by app and stream."""


@dataclass(frozen=True, slots=True)
class MongoTarget:
    """A document for each row, with the row's id or the `key` column as its own."""

    server: str
    database: str
    collection: str
    key: str | None


@dataclass(frozen=True, slots=True)
class SocketTarget:
    """`url`: of a WebSocket, with http or https in place of ws or wss."""

    url: str
    headers: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class BucketTarget:
    """Objects of so many `rows`, or of what came within `seconds`. `path`: below which they are."""

    server: str
    path: RowTemplate
    region: str
    rows: int
    seconds: float
    storage_class: str
    is_parquet: bool


@dataclass(frozen=True, slots=True)
class PubSubTarget:
    """`server`: the project, as the operator names it. `ordering_key`: by row; None for messages without one."""

    server: str
    topic: str
    ordering_key: RowTemplate | None


@dataclass(frozen=True, slots=True)
class AnswerTarget:
    """Answers to the requests of a source `http-service`, by its `source.id`. `message`: the request's id, by row."""

    source: str
    message: RowTemplate


@dataclass(frozen=True, slots=True)
class EventsTarget:
    """Server-sent events, or messages of a WebSocket, at a path of ours, for whoever listens there."""

    path: str
    is_socket: bool = False


NamedTarget = MqttTarget | MongoTarget | BucketTarget | PubSubTarget
"""Of servers that the operator names."""
Target = AnswerTarget | EventsTarget | HttpTarget | SocketTarget | NamedTarget


@dataclass(frozen=True, slots=True)
class SentSink:
    """`type`: one of SENT_TYPES."""

    at: Place
    stream: str
    type: str
    target: Target
    writer: RowWriter
    on_error: OnError
    columns: Columns

    @property
    def server(self) -> str | None:
        """Return the operator's name of the server; None if each row has an address."""
        match self.target:
            case HttpTarget(url=url):
                return origin_of(url.parts[0]) if _has_fixed_host(url) else None
            case AnswerTarget() | EventsTarget():
                return None
            case SocketTarget(url=url_text):
                return origin_of(url_text)
            case named:
                return named.server


def sent_sink(end: AppEnd, columns: Columns, schemas: Path | None) -> SentSink:
    """Raise AppUnsupportedError."""
    kind = end.type.lower()
    writer = row_writer(end, columns, schemas)
    names = [name for name, _ in columns]
    match kind:
        case "http":
            options = EndOptions(end, "publisher.url", "method", "headers", "socket.idle.timeout", "on.error", "map.*")
            target: Target = _http(end, options, names)
        case "http-service-response":
            options = EndOptions(end, "source.id", "message.id", "on.error", "map.*")
            message = _template(end, "message.id", options.required("message.id"), names)
            target = AnswerTarget(options.required("source.id"), message)
        case "sse" | "websocket-server":
            target = _events(end, is_socket=kind != "sse")
        case "websocket":
            options = EndOptions(end, "url", "headers", "on.error", "map.*")
            target = SocketTarget(socket_url(end, options), fixed_headers(end, options))
        case _:
            target = _named_target(end, kind, names)
    # nobody waits for an answer that came too late
    on_error = end.options.get("on.error", "log" if kind == "http-service-response" else "wait").lower()
    if on_error not in ("wait", "log", "store"):
        raise refused(end, f"on.error = {on_error!r}: there are wait, log and store")
    found: OnError = "store" if on_error == "store" else "log" if on_error == "log" else "wait"
    return SentSink(end.at, end.name, kind, target, writer, found, columns)


def _named_target(end: AppEnd, kind: str, names: Collection[str]) -> NamedTarget:
    match kind:
        case "mqtt":
            return _mqtt(end, names)
        case "s3":
            return _bucket(end, names)
        case "googlepubsub":
            return _pubsub(end, names)
        case _:
            return _mongo(end, EndOptions(end, "uri", "collection", "key", "on.error"), names)


def _events(end: AppEnd, *, is_socket: bool) -> EventsTarget:
    # of a WebSocket Siddhi names host and port, which are the operator's here, and no path
    options = EndOptions(end, "path", *(("host", "port") if is_socket else ()), "on.error", "map.*")
    path = options.text("path", f"/{end.name}") if is_socket else options.required("path")
    return EventsTarget(own_path(end, path), is_socket)


def _http(end: AppEnd, options: EndOptions, names: Collection[str]) -> HttpTarget:
    url = _template(end, "publisher.url", options.required("publisher.url"), names)
    # what a column gives is looked at row by row
    sample = "http://host/" if url.parts[0] == "" else url.parts[0] + "x".join(url.parts[2::2])
    problem = url_problem(sample)
    if problem is not None:
        raise refused(end, f"publisher.url = {options.required('publisher.url')!r}: {problem}")
    method = options.text("method", "POST")
    if "{{" not in method and method.upper() not in HTTP_METHODS:
        raise refused(end, f"method = {method!r}: there are {', '.join(HTTP_METHODS)}")
    return HttpTarget(
        url,
        _template(end, "method", method if "{{" in method else method.upper(), names),
        tuple(_headers(end, options.text("headers", ""), names)),
        options.number("socket.idle.timeout", 6_000, MOST_MILLISECONDS) / 1_000,
    )


def _has_fixed_host(url: RowTemplate) -> bool:
    return url.is_fixed or url.parts[0].count("/") >= 3


def _headers(end: AppEnd, text: str, names: Collection[str]) -> list[tuple[str, RowTemplate]]:
    found: list[tuple[str, RowTemplate]] = []
    for name, value in header_pairs(end, text):
        if name.lower() == "idempotency-key":
            raise of_the_request(end, name)
        found.append((name, _template(end, "headers", value, names)))
    return found


def header_pairs(end: AppEnd, text: str) -> list[tuple[str, str]]:
    """Return name and value of each header of `'User-Agent:us', 'Accept:text/plain'`. Raises AppUnsupportedError."""
    quoted, beside = re.findall(r"'([^']*)'", text), re.sub(r"'[^']*'", "", text).strip(", \t\n")
    if quoted and beside:
        raise refused(end, f"headers: write 'Name:value', each in single quotes, and not {beside!r} beside them")
    found = quoted or ([text] if text else [])
    for one in found:
        name, sign, value = one.partition(":")
        if not sign or not re.fullmatch(r"[A-Za-z0-9-]+", name.strip()) or not value.isprintable():
            raise refused(end, f"headers: write 'Name:value', each in single quotes, and not {one!r}")
        if name.strip().lower() in OWN_HEADERS:
            raise of_the_request(end, name.strip())
    pairs = (one.partition(":") for one in found)
    return [(name.strip(), value.strip()) for name, _, value in pairs]


def of_the_request(end: AppEnd, name: str) -> AppUnsupportedError:
    return refused(end, f"headers: {name} follows from the request itself; leave it out")


def _bucket(end: AppEnd, names: Collection[str]) -> BucketTarget:
    known = ("bucket.name", "object.path", "aws.region", "flush.size", "rotate.interval.ms", "storage.class")
    options = EndOptions(end, *known, "content.format", "on.error", "map.*")
    path = _template(end, "object.path", options.text("object.path", end.name).strip("/"), names)
    if not all(re.fullmatch(r"[A-Za-z0-9_=./-]*", part) and "//" not in part for part in path.parts[::2]):
        problem = "write names of letters, digits, '_', '-', '=' and '.' with '/' between them, and {{column}}"
        raise refused(end, f"object.path = {options.text('object.path', '')!r}: {problem}")
    form = options.text("content.format", "").lower()
    if form not in ("", "parquet"):
        raise refused(end, f"content.format = {form!r}: there is parquet; anything else is what @map says")
    return BucketTarget(
        bucket_name(end, options),
        path,
        options.text("aws.region", ""),
        options.number("flush.size", 1_000, MOST_OBJECT_ROWS),
        options.number("rotate.interval.ms", 60_000, 3_600_000) / 1_000,
        options.text("storage.class", "").upper(),
        form == "parquet",
    )


def _pubsub(end: AppEnd, names: Collection[str]) -> PubSubTarget:
    # a credential.path of Siddhi's texts is the operator's login_file here
    options = EndOptions(end, "project.id", "topic.id", "ordering.key", "credential.path", "on.error", "map.*")
    key = options.text("ordering.key", "")
    template = _template(end, "ordering.key", key, names) if key else None
    return PubSubTarget(project_name(end, options), resource_id(end, options, "topic.id"), template)


def project_name(end: AppEnd, options: EndOptions) -> str:
    """Return the operator's name of the project. Raises AppUnsupportedError."""
    name = options.required("project.id")
    if not re.fullmatch(r"[a-z][a-z0-9-]{4,28}[a-z0-9]", name):
        raise refused(end, f"project.id = {name!r} is no project's id: write 6 to 30 small letters, digits and '-'")
    return f"pubsub://{name}"


def resource_id(end: AppEnd, options: EndOptions, option: str) -> str:
    """Return the id of a topic or a subscription. Raises AppUnsupportedError."""
    name = options.required(option)
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_.~+%-]{2,254}", name) or name.startswith("goog"):
        problem = "write 3 to 255 letters, digits, '-', '.', '_', '~', '+' and '%', a letter first"
        raise refused(end, f"{option} = {name!r}: {problem}")
    return name


def bucket_name(end: AppEnd, options: EndOptions) -> str:
    """Return the operator's name of the bucket. Raises AppUnsupportedError."""
    name = options.required("bucket.name")
    if not re.fullmatch(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", name):
        raise refused(end, f"bucket.name = {name!r} is no name of a bucket")
    return f"s3://{name}"


def socket_url(end: AppEnd, options: EndOptions) -> str:
    """Return the address with http or https in place of ws or wss. Raises AppUnsupportedError."""
    text = options.required("url")
    url = re.sub(r"^ws(s?)://", r"http\1://", text)
    problem = url_problem(url)
    if problem is not None or not text.startswith(("ws://", "wss://")):
        raise refused(end, f"url = {text!r}: write ws:// or wss://, a host, and a path without '..'")
    return url


def own_path(end: AppEnd, path: str) -> str:
    """Return a path of the operator's own address. Raises AppUnsupportedError."""
    if not re.fullmatch(r"(/[A-Za-z0-9_.~-]+)+", path) or "/." in path:
        raise refused(end, f"path = {path!r}: write /name or /name/name, of letters, digits, '_', '-' and '.'")
    return path


def fixed_headers(end: AppEnd, options: EndOptions) -> tuple[tuple[str, str], ...]:
    return tuple(header_pairs(end, options.text("headers", "")))


def _mqtt(end: AppEnd, names: Collection[str]) -> MqttTarget:
    known = ("url", "topic", "quality.of.service", "message.retain", "client.id", "version", "clean.session")
    options = EndOptions(end, *known, "on.error", "map.*")
    qos, retain = options.text("quality.of.service", "1"), options.truth("message.retain", default=False)
    topic = _template(end, "topic", options.required("topic"), names)
    if any(mark in part for part in topic.parts[::2] for mark in "+#\0"):
        raise refused(end, f"topic = {options.required('topic')!r}: a topic that is written has no + and no #")
    return MqttTarget(
        mqtt_server(end, options),
        topic,
        quality(end, qos),
        retain,
        mqtt_version(end, options),
        options.text("client.id", ""),
    )


def quality(end: AppEnd, text: str) -> int:
    if text not in ("0", "1", "2"):
        raise refused(end, f"quality.of.service = {text!r}: there are 0, 1 and 2")
    return int(text)


def mqtt_version(end: AppEnd, options: EndOptions) -> int:
    text = options.text("version", "3.1.1")
    if text not in ("3.1.1", "5"):
        raise refused(end, f"version = {text!r}: there are 3.1.1 and 5")
    return 5 if text == "5" else 4


def mqtt_server(end: AppEnd, options: EndOptions) -> str:
    """Return the broker's name. Siddhi says tcp and ssl for mqtt and mqtts."""
    text = options.required("url")
    plain = re.sub(r"^(tcp|ssl)://", lambda found: {"tcp": "mqtt", "ssl": "mqtts"}[found[1]] + "://", text.lower())
    name = server_name(plain, {"mqtt": 1883, "mqtts": 8883})
    if name is None:
        raise refused(end, f"url = {text!r}: write mqtt:// or mqtts:// (tcp://, ssl://), a host and a port")
    return name


def _mongo(end: AppEnd, options: EndOptions, names: Collection[str]) -> MongoTarget:
    server, database = mongo_place(end, options)
    key = options.text("key", "") or None
    if key is not None and key not in names:
        raise refused(end, f"key = {key!r}: the stream has no column of that name")
    return MongoTarget(server, database, collection_name(end, options), key)


def mongo_place(end: AppEnd, options: EndOptions) -> tuple[str, str]:
    """Return the server's name, and the database. Raises AppUnsupportedError."""
    text = options.required("uri")
    found = re.fullmatch(r"(mongodb://[A-Za-z0-9.:\-]+)/([A-Za-z0-9_-]{1,63})", text)
    name = None if found is None else server_name(found[1].lower(), {"mongodb": 27017})
    if found is None or name is None:
        raise refused(end, f"uri = {text!r}: write mongodb://host:port/database; a login is the operator's")
    return name, found[2]


def collection_name(end: AppEnd, options: EndOptions) -> str:
    name = options.text("collection", end.name)
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]{0,119}", name) or name.startswith("system."):
        raise refused(end, f"collection = {name!r}: write a name of letters and digits")
    return name


def _template(end: AppEnd, option: str, text: str, names: Collection[str]) -> RowTemplate:
    try:
        return row_template(text, names)
    except ValueError as error:
        raise refused(end, f"{option} = {text!r}: {error}") from None
