"""Writes the rows of an app's sink `kafka` to its topic, at least once, with their ids (`launch.apps.row_copier`)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from cep.apps.engine.app_labels import DIGEST_CHARACTERS, file_label, label_of_name
from cep.apps.engine.snapshots import app_digest
from cep.apps.hosts.hosted_app import AppSource
from cep.apps.hosts.kafka_ends import KafkaSink
from launch.apps.row_copier import GivenRow, RowCopier, given_row
from streams.records import Position, Record
from streams.topic_writer import TopicWriter


@dataclass(frozen=True, slots=True)
class SinkTarget:
    """A `launch.apps.row_copier.CopyTarget`. `app`, `label`: the app's name, and that of the version whose rows go
    there; `address`: of the sink's broker."""

    app: str
    label: str
    sink: KafkaSink
    address: str

    @property
    def name(self) -> str:
        return self.sink.stream

    @property
    def topic(self) -> str:
        return self.sink.topic

    def chosen(self, record: Record) -> GivenRow | None:
        return given_row(record, self.app, self.label, (self.sink.stream,))

    def write(self, writer: TopicWriter, row: GivenRow, partition: int) -> None:
        headers = {"id": row.id, "time": str(row.time)}
        message = self.sink.writer.write(row.values)
        writer.write(self.sink.topic, message, sink_key(self.sink, self.app, row.values), headers=headers)


def sink_forwarder(kafka: str, target: SinkTarget, first: Mapping[Position, int], folder: Path) -> RowCopier:
    """Return the copier. `kafka`: the session's. `folder`: of the version whose rows it copies; `first`: as for
    `RowCopier`."""
    return RowCopier(kafka, target, first, folder / place_file(target.sink))


def former_forwarders(
    kafka: str, source: AppSource, label: str, brokers: Mapping[str, str], first: Mapping[Position, int], folder: Path
) -> Iterator[RowCopier]:
    """Return copiers of what an earlier version of the app gave to sinks that it still has, and nobody has written yet.
    `label`, `folder`: of that version. `brokers`: address by servers."""
    for sink in source.outside.kafka_sinks:
        if (folder / place_file(sink)).exists():
            yield sink_forwarder(kafka, SinkTarget(source.name, label, sink, brokers[sink.servers]), first, folder)


def former_labels(source: AppSource, folders: Path) -> list[str]:
    """Return the labels of what may be other versions of the app."""
    found = folders.glob(f"{label_of_name(source.name)}-{'[0-9a-f]' * DIGEST_CHARACTERS}")
    return sorted(one.name for one in found if one.name != source.label)


def sink_key(sink: KafkaSink, app: str, values: Mapping[str, Any]) -> str:
    """Return the row's key, or the app's name if the text names no key or the row has none: rows of one key keep their
    order, and an empty key would not count."""
    value = sink.key if sink.key_column is None else values.get(sink.key_column)
    return app if value in (None, "") else value if isinstance(value, str) else orjson.dumps(value).decode()


def place_file(sink: KafkaSink) -> str:
    """Return the name of a sink's file, which is another one if the sink writes to another topic. A stream's name in
    backquotes may have any characters, and be of any length."""
    whole = "\0".join((sink.stream, sink.servers, sink.topic))
    return f"{file_label(sink.stream, app_digest(whole))}.sink"
