"""Sinks and sources of an app at servers of others, in its running session: who sends its rows, and who brings it
messages."""

import importlib.util
from collections.abc import Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import orjson
import re2

from cep.apps.ends.checked_connections import HttpSessions
from cep.apps.ends.http_addresses import origin_of
from cep.apps.ends.server_names import allowed_server, check_parts
from cep.apps.ends.sink_ends import (
    AnswerTarget,
    BucketTarget,
    EventsTarget,
    HttpTarget,
    MongoTarget,
    MqttTarget,
    PubSubTarget,
    SentSink,
    SocketTarget,
)
from cep.apps.ends.source_ends import (
    BucketObjects,
    FolderFiles,
    HttpPath,
    MongoChanges,
    MqttTopics,
    PubSubMessages,
    ReceivedSource,
    ServerEvents,
    SocketMessages,
)
from cep.apps.engine.app_labels import label_of_name
from cep.apps.functions.operator_terms import OperatorTerms, ReceivingTerms, ServerTerms
from cep.apps.hosts.call_addresses import SIMULATED
from cep.apps.hosts.counted_warnings import CountedWarnings
from cep.apps.hosts.hosted_app import AppSource
from cep.apps.language.errors import AppTextError
from cep.apps.language.expression_tree import Place
from cep.apps.transports.bucket_ends import BucketReceiver, BucketSender
from cep.apps.transports.event_feed import EventFeed, EventSender
from cep.apps.transports.file_receiver import FileReceiver
from cep.apps.transports.http_answers import AnswerSender, WaitingRequests
from cep.apps.transports.http_listener import FeedServer, HttpListener, HttpReceiver
from cep.apps.transports.http_sender import HttpSender, HttpTerms
from cep.apps.transports.mongo_ends import MongoReceiver, MongoSender
from cep.apps.transports.mqtt_connection import MqttTerms
from cep.apps.transports.mqtt_ends import MqttReceiver, MqttSender
from cep.apps.transports.object_store import BucketTerms, ObjectBucket
from cep.apps.transports.ports import Receiver, SinkSender, TransportError
from cep.apps.transports.pubsub_client import PubSubTerms
from cep.apps.transports.pubsub_ends import PubSubReceiver, PubSubSender
from cep.apps.transports.socket_ends import EventReceiver, SocketReceiver, SocketSender
from cep.apps.transports.tailed_folder import TailedFolder
from launch.apps.app_intake import AppSourceIntake, RowsWriter
from launch.apps.failed_ends import FailedEnds
from launch.apps.http_listeners import HttpListeners
from launch.apps.row_sender import AppSink, RowSender
from launch.apps.server_logins import ENCRYPTED, server_login, trusted
from launch.errors import CannotStartError
from launch.setup.data_dir import write_atomically
from runtime.backoff import retry_on
from runtime.logins import Address, Login
from session.session import Session
from streams.records import Position

FOLDER = "app-ends"
"""Below the data folder: what waits to be sent, and how far files were read, by app; it outlives sessions."""
EXTRAS = {"mqtt": ("paho", "mqtt"), "s3": ("boto3", "s3"), "googlepubsub": ("google.pubsub_v1", "pubsub")}
"""Modules that a type needs, and the extra of the project that brings them."""


@dataclass(frozen=True, slots=True)
class OuterEnds:
    """`sender`: None if the app has no such sink."""

    sender: RowSender | None = None
    sources: tuple[AppSourceIntake, ...] = ()
    failed: FailedEnds | None = None
    """Where messages that are no rows go, and rows that are given up."""
    feeds: tuple[FeedServer, ...] = ()
    warnings: CountedWarnings = field(default_factory=lambda: CountedWarnings({}))

    def parts(self) -> Iterator[Coroutine[object, object, None]]:
        """Return the tasks beside the app."""
        if self.sender is not None:
            yield self.sender.follow()
        for source in self.sources:
            yield source.follow()
        for feed in self.feeds:
            yield retry_on(feed.run, (TransportError,), self._tell)

    def _tell(self, error: Exception) -> None:
        self.warnings.tell("nobody can listen", str(error))

    async def finish(self) -> None:
        """Send the app's last rows, also to who listens, and end them."""
        try:
            if self.sender is not None:
                await self.sender.finish()
            for source in self.sources:
                await source.writer.close()
        finally:
            await self.close()
            if self.failed is not None:
                await self.failed.close()

    async def close(self) -> None:
        """End who listens: what the app gave since waits for its next run."""
        for feed in self.feeds:
            await feed.close()

    def figures(self) -> Mapping[str, Any]:
        return {
            "sinks": [] if self.sender is None else self.sender.figures(),
            "sources": [one.figures() for one in self.sources],
            "errors_dropped": 0 if self.failed is None else self.failed.dropped,
        }


@dataclass(frozen=True, slots=True)
class _Here:
    """What ends of an app share in this process. `requests`: those that wait for answers, by `source.id`."""

    source: AppSource
    listeners: HttpListeners
    folder: Path
    requests: Mapping[str, WaitingRequests]
    http: list[HttpTerms] = field(default_factory=list)
    """Once they are made: an authority's certificates are read once for all ends."""

    feeds: dict[str, FeedServer] = field(default_factory=dict)
    """Of sinks that others listen to, by path."""

    def feed(self, sink: SentSink, target: EventsTarget) -> FeedServer:
        """Raise AppTextError, CannotStartError."""
        path = target.path
        listener = _listener(sink.at, path, self.source.terms.receiving, self.listeners)
        return self.feeds.setdefault(path, FeedServer(listener, path, EventFeed(target.is_socket)))

    def http_terms(self) -> HttpTerms:
        if not self.http:
            self.http.append(_http_terms(self.source.terms))
        return self.http[0]


def _here(source: AppSource, listeners: HttpListeners, folder: Path) -> _Here:
    paths = [one.origin for one in source.outside.received if isinstance(one.origin, HttpPath)]
    requests = {one.service: WaitingRequests(one.seconds) for one in paths if one.service is not None}
    return _Here(source, listeners, folder, requests)


def check_ends(source: AppSource) -> None:
    """Raise AppTextError for a sink or source that may not be used here, CannotStartError for a login or a library
    that lacks."""
    here = _here(source, HttpListeners(), Path())
    for sink in source.outside.sent:
        _sender(sink, here)
    for one in source.outside.received:
        _receiver(one, here)


def outer_ends(
    session: Session, source: AppSource, first: Mapping[Position, int], listeners: HttpListeners, created_at: int = 0
) -> OuterEnds:
    """`first`: where the session begins in `apps`. `created_at`: when the stored app was. Raises as `check_ends`."""
    folder = ends_folder(session, source)
    here = _here(source, listeners, folder)
    warnings = CountedWarnings({"app": source.name})
    sender, failed = None, FailedEnds(session, source, warnings)
    if source.outside.sent:
        sinks = tuple(
            AppSink(name, sink.stream, _sender(sink, here), sink.on_error)
            for name, sink in named_sinks(source.outside.sent).items()
        )
        path = folder / "outbox.db"
        sender = RowSender(session.services.kafka, source.name, source.label, first, path, sinks, failed, warnings)
    writer = RowsWriter(session.services.kafka, source.rows_topic or "", source.name, created_at)
    sources = tuple(
        AppSourceIntake(one, name, _receiver(one, here), writer, failed.keep_messages, warnings)
        for name, one in _named_sources(source.outside.received).items()
    )
    return OuterEnds(sender, sources, failed, tuple(here.feeds.values()), warnings)


def ends_folder(session: Session, source: AppSource) -> Path:
    """Return where the app's outbox and places are; of one of the regions, if the session has any."""
    region = "" if source.region is None else f"{source.region}-"
    mark = sha256(source.name.encode()).hexdigest()[:8]
    return session.home / FOLDER / f"{region}{label_of_name(source.name)}-{mark}"


def named_sinks(sinks: tuple[SentSink, ...]) -> Mapping[str, SentSink]:
    """Return the sinks by names for people, and for the outbox: rows that wait there are found by them. So a name says
    which server it is, and stays the same if another sink of its stream goes."""
    return _numbered([(f"{one.stream} ({' to '.join(filter(None, (one.type, one.server)))})", one) for one in sinks])


def _named_sources(sources: tuple[ReceivedSource, ...]) -> Mapping[str, ReceivedSource]:
    return _numbered([(f"{one.stream} ({one.type})", one) for one in sources])


def _numbered(found: list[tuple[str, Any]]) -> dict[str, Any]:
    names = dict[str, Any]()
    for name, one in found:
        number = sum(known.partition(" #")[0] == name for known in names) + 1
        names[name if number == 1 else f"{name} #{number}"] = one
    return names


def _sender(sink: SentSink, here: _Here) -> SinkSender:
    """Raise AppTextError, CannotStartError."""
    _check_extra(sink)
    match sink.target:
        case HttpTarget() as target:
            return HttpSender(target, sink.writer, _checked_terms(sink.at, sink.server, here), HttpSessions())
        case AnswerTarget() as target:
            return AnswerSender(target, sink.writer, here.requests[target.source])
        case EventsTarget() as target:
            return EventSender(target, sink.writer, here.feed(sink, target).feed)
        case SocketTarget() as target:
            return SocketSender(target, sink.writer, _checked_terms(sink.at, sink.server, here))
        case _:
            return _other_sender(sink, here.source)


def _other_sender(sink: SentSink, source: AppSource) -> SinkSender:
    """As `_sender`, of what is no HTTP."""
    terms = source.terms
    match sink.target:
        case MqttTarget() as target:
            server = allowed_server(sink.at, target.server, terms.servers)
            if target.topic.is_fixed:
                check_parts(sink.at, server, target.topic.parts, is_read=False)
            client = _client_name(source, sink.stream, "sink")
            return MqttSender(target, sink.writer, _mqtt_terms(server), client, server.writes)
        case BucketTarget() as target:
            server = allowed_server(sink.at, target.server, terms.servers)
            place = _bucket_terms(server, target.region)
            return BucketSender(target, sink.writer, sink.columns, place, server.writes)
        case PubSubTarget() as target:
            server = allowed_server(sink.at, target.server, terms.servers)
            check_parts(sink.at, server, (target.topic,), is_read=False)
            return PubSubSender(target, sink.writer, _pubsub_terms(server))
        case MongoTarget() as target:
            server = allowed_server(sink.at, target.server, terms.servers)
            check_parts(sink.at, server, (f"{target.database}/{target.collection}",), is_read=False)
            return MongoSender(target, _mongo_address(server))
        case other:
            raise TypeError(f"no sender to {other}")


def _receiver(one: ReceivedSource, here: _Here) -> Receiver:
    """Raise AppTextError, CannotStartError."""
    _check_extra(one)
    terms = here.source.terms
    match one.origin:
        case HttpPath(path=path, service=service, is_socket=is_socket):
            requests = None if service is None else here.requests[service]
            return HttpReceiver(_listener(one.at, path, terms.receiving, here.listeners), path, requests, is_socket)
        case SocketMessages(url=url) as messages:
            return SocketReceiver(messages, _checked_terms(one.at, origin_of(url), here))
        case ServerEvents(url=url) as events:
            return EventReceiver(events, _checked_terms(one.at, origin_of(url), here), _place(one, here, url))
        case _:
            return _other_receiver(one, here, CountedWarnings({"app": here.source.name, "source": one.stream}))


def _other_receiver(one: ReceivedSource, here: _Here, warnings: CountedWarnings) -> Receiver:
    """As `_receiver`, of what is no HTTP."""
    source, terms, place = here.source, here.source.terms, _place(one, here, str(one.origin))
    match one.origin:
        case MqttTopics() as topics:
            server = allowed_server(one.at, topics.server, terms.servers)
            check_parts(one.at, server, topics.topics, is_read=True)
            return MqttReceiver(topics, _mqtt_terms(server), _client_name(source, one.stream, "source"))
        case BucketObjects() as objects:
            server = allowed_server(one.at, objects.server, terms.servers)
            check_parts(one.at, server, (objects.folder,), is_read=True)
            bucket = ObjectBucket(_bucket_terms(server, objects.region))
            return BucketReceiver(objects, one.reader, bucket, place, warnings)
        case PubSubMessages() as messages:
            server = allowed_server(one.at, messages.server, terms.servers)
            check_parts(one.at, server, (messages.subscription,), is_read=True)
            return PubSubReceiver(messages, _pubsub_terms(server))
        case MongoChanges() as changes:
            server = allowed_server(one.at, changes.server, terms.servers)
            check_parts(one.at, server, (f"{changes.database}/{changes.collection}",), is_read=True)
            return MongoReceiver(changes, _mongo_address(server), place, warnings)
        case FolderFiles() as files:
            return FileReceiver(_tailed_folder(one, files, dict(terms.folders), warnings), place, files.seconds)
        case other:
            raise TypeError(f"no receiver of {other}")


def _check_extra(end: SentSink | ReceivedSource) -> None:
    module, extra = EXTRAS.get(end.type, ("", ""))
    if module and importlib.util.find_spec(module) is None:
        problem = f"{end.type} needs a library that is not installed here: pip install '.[{extra}]'"
        raise AppTextError(end.at, problem)


def _checked_terms(at: Place, server: str | None, here: _Here) -> HttpTerms:
    """`server`: the origin that the text names; None if rows do. Raises AppTextError, CannotStartError."""
    terms = here.source.terms
    addresses = _http_addresses(terms)
    if not addresses or (server is not None and server not in addresses):
        where = "the operator allows them below [apps.addresses]"
        raise AppTextError(at, f"requests to {server or 'any host'} are not allowed here; {where}")
    if server is not None and addresses[server].startswith(SIMULATED):
        raise AppTextError(at, f"{server} stands for a simulated exchange, which has no such end")
    return here.http_terms()


def _http_addresses(terms: OperatorTerms) -> dict[str, str]:
    return dict(terms.addresses) | {one.name: one.address for one in terms.servers if one.name.startswith("http")}


def _http_terms(terms: OperatorTerms) -> HttpTerms:
    servers = [one for one in terms.servers if one.name.startswith("http")]
    addresses = {name: one for name, one in _http_addresses(terms).items() if not one.startswith(SIMULATED)}
    logins = {one.name: server_login(one) for one in servers}
    contexts = {one.name: trusted(logins[one.name], one) for one in servers if logins[one.name].ca is not None}
    headers = {name: login.headers for name, login in logins.items() if login.headers}
    return HttpTerms(addresses, headers, contexts)


def _mqtt_terms(server: ServerTerms) -> MqttTerms:
    place, login = urlsplit(server.address), server_login(server)
    tls = trusted(login, server) if place.scheme in ENCRYPTED else None
    return MqttTerms(place.hostname or "", place.port or 0, login.user, login.password, tls)


def _mongo_address(server: ServerTerms) -> Address:
    login = server_login(server)
    tls = "" if login.ca is None else f"/?tls=true&tlsCAFile={quote(login.ca, safe='')}"
    named = None if login.user is None else Login(login.user, login.password or "")
    return Address(f"{server.address}{tls}", named)


def _bucket_terms(server: ServerTerms, region: str) -> BucketTerms:
    """Raise CannotStartError without a login: the library would take one of the machine's, which apps may not use."""
    login = server_login(server)
    name = server.name.removeprefix("s3://")
    if login.user is None or login.password is None:
        problem = "give it a login_file with the key's id as user and the key as password"
        raise CannotStartError(f"[apps.servers] {server.name}: {problem}.")
    return BucketTerms(name, server.address, region or None, login.user, login.password, login.ca)


def _pubsub_terms(server: ServerTerms) -> PubSubTerms:
    """Raise CannotStartError without a login, but of an emulator: the library would take one of the machine's, which
    apps may not use."""
    login, place = server_login(server), urlsplit(server.address)
    is_plain = place.scheme == "http"
    if not is_plain and (login.user is None or login.password is None):
        problem = "give it a login_file with the service account's address as user and its private key as password"
        raise CannotStartError(f"[apps.servers] {server.name}: {problem}.")
    project, at = server.name.removeprefix("pubsub://"), f"{place.hostname}:{place.port or (80 if is_plain else 443)}"
    return PubSubTerms(project, at, is_plain, login.user, login.password, login.ca)


def _client_name(source: AppSource, stream: str, kind: str) -> str:
    """Return what the app's client calls itself: the same after a restart, so that a broker knows it, and at most the
    23 characters that any broker takes (MQTT 3.1.1, 3.1.3.1)."""
    whole = "\0".join((source.name, source.region or "", stream, kind))
    return f"app{sha256(whole.encode()).hexdigest()[:20]}"


def _listener(at: Place, path: str, receiving: ReceivingTerms | None, listeners: HttpListeners) -> HttpListener:
    if receiving is None:
        problem = "no app takes rows by HTTP here, or gives any; the operator says where in [apps.receive]"
        raise AppTextError(at, problem)
    listener = listeners.listener(receiving)
    if path not in listener.keys:
        problem = f"the path {path!r} has no key; the operator gives it one in keys_file of [apps.receive]"
        raise AppTextError(at, problem)
    return listener


def _tailed_folder(
    one: ReceivedSource, files: FolderFiles, folders: Mapping[str, Path], warnings: CountedWarnings
) -> TailedFolder:
    name, *below = files.folder
    if name not in folders:
        problem = f"there is no folder {name!r} here; the operator names folders in [apps.folders]"
        raise AppTextError(one.at, problem)
    pattern = re2.compile(files.pattern)
    return TailedFolder(
        folders[name],
        tuple(below),
        lambda text: pattern.fullmatch(text) is not None,
        files.by_line,
        files.is_tailed,
        warnings.tell,
    )


def _place(one: ReceivedSource, here: _Here, origin: str) -> "PlaceFile":
    """Return the file with the source's place: another origin has another."""
    whole = f"{one.stream}\0{origin}"
    return PlaceFile(here.folder / f"{label_of_name(one.stream)}-{sha256(whole.encode()).hexdigest()[:8]}.place")


@dataclass(frozen=True, slots=True)
class PlaceFile:
    """A `SourcePlace`."""

    path: Path

    def load(self) -> Any:
        try:
            return orjson.loads(self.path.read_bytes())
        except (OSError, ValueError):
            return None

    def save(self, place: Any) -> None:
        write_atomically(self.path, orjson.dumps(place))
