"""Writes the rows of an app's GLOBAL streams and tables to the topic `shared` of its region, from which the other
regions copy them, at least once, with their ids (`launch.apps.row_copier`)."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cep.apps.hosts.hosted_app import AppSource
from cep.apps.hosts.shared_rows import shared_message
from launch.apps.row_copier import GivenRow, RowCopier, given_row
from session.session import Session
from streams.records import Position, Record
from streams.topic_writer import TopicWriter
from streams.topics import SHARED

FILE = "shared.place"
"""File in the app's folder; a sink's file has another ending."""


@dataclass(frozen=True, slots=True)
class SharedTarget:
    """A `launch.apps.row_copier.CopyTarget`. `app`, `label`: as for `SinkTarget`; `streams`: its GLOBAL ones, and
    tables."""

    app: str
    label: str
    streams: frozenset[str]
    session_id: str
    region: str
    address: str
    name: str = SHARED
    topic: str = SHARED

    def chosen(self, record: Record) -> GivenRow | None:
        return given_row(record, self.app, self.label, self.streams)

    def write(self, writer: TopicWriter, row: GivenRow, partition: int) -> None:
        # a partition of an app gets what that partition of it wrote elsewhere
        writer.write(SHARED, shared_message(row.whole, self.session_id, self.region), self.label, partition)


def row_sharer(session: Session, source: AppSource, first: Mapping[Position, int], folder: Path) -> RowCopier | None:
    """Return the copier, None if the app shares nothing. `folder`: of the app; `first`: as for `RowCopier`."""
    if source.shared is None or source.region is None:
        return None
    kafka = session.services.kafka
    names = source.shared.names
    target = SharedTarget(source.name, source.label, names, session.session_id, source.region, kafka)
    return RowCopier(kafka, target, first, folder / FILE)
