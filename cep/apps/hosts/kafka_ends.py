"""Kafka topics of the user's own, as an app's text names them: sources and sinks of the type `kafka`. Pure."""

import re
from dataclasses import dataclass
from pathlib import Path

from cep.apps.ends.end_options import EndOptions, refused
from cep.apps.formats.row_formats import RowReader, RowWriter, row_reader, row_writer
from cep.apps.formats.typed_values import ColumnTypes
from cep.apps.language.app_ends import AppEnd
from cep.apps.language.expression_tree import Place
from streams.topics import ALL_TOPICS, APP_INPUT

KAFKA = "kafka"
"""What the names of such topics begin with in an app's input log."""
_SERVERS = re.compile(r"[a-z0-9.-]+:[0-9]{1,5}(,[a-z0-9.-]+:[0-9]{1,5})*")
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")


@dataclass(frozen=True, slots=True)
class KafkaSource:
    """`servers`: as the operator names them. `reader`: of its messages. `kept`: the number of the stream's columns, if
    messages that cannot be read go into the error store; else 0."""

    at: Place
    stream: str
    servers: str
    topics: tuple[str, ...]
    reader: RowReader
    kept: int = 0


@dataclass(frozen=True, slots=True)
class KafkaSink:
    """`writer`: of its messages. `key`: of each row, as text; `key_column`: the column that has it, if one is named."""

    at: Place
    stream: str
    servers: str
    topic: str
    writer: RowWriter
    key: str | None = None
    key_column: str | None = None

    @property
    def topics(self) -> tuple[str, ...]:
        return (self.topic,)


def topic_name(servers: str, topic: str) -> str:
    """In the input log, in place of a topic of ours."""
    return f"{KAFKA}:{servers}/{topic}"


def kafka_source(end: AppEnd, columns: ColumnTypes, schemas: Path | None = None) -> KafkaSource:
    """`schemas`: the operator's folder of them. Raises AppUnsupportedError."""
    # Siddhi wants the group and the threading; who reads what follows from the app's log here
    options = EndOptions(end, "bootstrap.servers", "topic.list", "group.id", "threading.option", "map.*")
    named = options.required("topic.list").split(",")
    topics = tuple(dict.fromkeys(_topic(end, one.strip()) for one in named))
    servers = _servers(end, options)
    return KafkaSource(end.at, end.name, servers, topics, row_reader(end, columns, schemas))


def kafka_sink(end: AppEnd, columns: ColumnTypes, schemas: Path | None = None) -> KafkaSink:
    """`schemas`: as for `kafka_source`. Raises AppUnsupportedError."""
    options = EndOptions(end, "bootstrap.servers", "topic", "key", "map.*")
    topic = _topic(end, options.required("topic"))
    if topic in ALL_TOPICS or topic.startswith((APP_INPUT, "__")):
        raise refused(end, f"topic = {topic!r} is a topic of the product or of Kafka's own, and no app writes to it")
    key = options.text("key", "")
    named = re.fullmatch(r"\{\{\s*(\w+)\s*\}\}", key)
    if named is None and "{{" in key:
        raise refused(end, f"key = {key!r}: write a text, or one column as {{{{name}}}}")
    if named is not None and named[1] not in dict(columns):
        raise refused(end, f"key = {key!r}: the stream has no column {named[1]!r}")
    servers, writer = _servers(end, options), row_writer(end, columns, schemas)
    if named is not None:
        return KafkaSink(end.at, end.name, servers, topic, writer, key_column=named[1])
    return KafkaSink(end.at, end.name, servers, topic, writer, key=key or None)


def _servers(end: AppEnd, options: EndOptions) -> str:
    text = options.required("bootstrap.servers")
    servers = normal_servers(text)
    if servers is None:
        raise refused(end, f"bootstrap.servers = {text!r}: write host:port, several with commas")
    return servers


def normal_servers(text: str) -> str | None:
    """Without spaces, in small letters; None if it names no servers."""
    servers = "".join(text.split()).lower()
    if not _SERVERS.fullmatch(servers):
        return None
    ports = [int(one.rpartition(":")[2]) for one in servers.split(",")]
    return servers if all(0 < port < 1 << 16 for port in ports) else None


def _topic(end: AppEnd, topic: str) -> str:
    if not is_topic(topic):
        raise refused(end, f"{topic!r} is no name of a topic: write letters, digits, '.', '_' and '-'")
    return topic


def is_topic(name: str) -> bool:
    """Whether Kafka takes it as a topic's name."""
    return _TOPIC.fullmatch(name) is not None and name not in (".", "..")
