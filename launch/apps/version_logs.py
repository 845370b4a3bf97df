"""Rows of an app in the topic `apps`, by the version that gave them: what one has given before it ended, the next one
sends."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from cep.apps.transports.outbox import Place, RowOutbox
from launch.apps.row_copier import CopyPlace, GivenRow, given_row
from streams.records import Record


@dataclass(slots=True)
class VersionLog:
    """Rows of one version of an app. `name`: in the outbox, of topic and `label`, which is the key of its rows.
    `sinks`: name and stream of each that it has, or had. `places`: by partition."""

    app: str
    name: str
    label: str
    sinks: Mapping[str, str]
    places: dict[int, CopyPlace]

    def row(self, record: Record) -> GivenRow | None:
        """Take a record of the version; return its row if it is a new one of a sink's stream."""
        place = self.places[record.partition]
        if record.offset < place.next:
            return None
        row = given_row(record, self.app, self.label, self.sinks.values())
        if row is None or not place.follows(row):
            self.places[record.partition] = CopyPlace(record.offset + 1, place.time, place.order)
            return None
        self.places[record.partition] = CopyPlace(record.offset + 1, row.time, row.order)
        return row

    def saved_places(self, read: Mapping[int, int]) -> dict[int, Place]:
        """Return the places. `read`: up to which offset all partitions were looked through, whosever rows are there."""
        return {
            partition: (max(one.next, read.get(partition, 0)), one.time, *one.order)
            for partition, one in self.places.items()
        }


@dataclass(slots=True)
class VersionLogs:
    """`own`: of the version that runs. `earlier`: of those before, by label; they may have given rows that nobody has
    taken yet."""

    own: VersionLog
    earlier: Mapping[str, VersionLog]
    read: dict[int, int] = field(default_factory=dict)
    """Partition → offset of the next record."""

    def __iter__(self) -> Iterator[VersionLog]:
        yield self.own
        yield from self.earlier.values()

    def begin(self) -> dict[int, int]:
        """Return where to begin to read each partition."""
        return {partition: min(one.places[partition].next for one in self) for partition in self.own.places}

    def take(self, record: Record) -> tuple[VersionLog, GivenRow] | None:
        """Return a new row of any of the versions, with its log."""
        self.read[record.partition] = record.offset + 1
        log = self.own if record.key == self.own.label else self.earlier.get(record.key or "")
        row = None if log is None else log.row(record)
        return None if log is None or row is None else (log, row)

    def saved_places(self, logs: Iterable[VersionLog]) -> dict[str, dict[int, Place]]:
        """Return the places of these logs, as the outbox has them."""
        return {one.name: one.saved_places(self.read) for one in logs}


def version_logs(
    outbox: RowOutbox, topic: str, app: str, label: str, sinks: Mapping[str, str], first: Mapping[int, int]
) -> VersionLogs:
    """Return the logs of an app. `topic`: the id of the topic `apps`. `label`: of the version that runs, which begins
    at `first` if it is new. Forgets logs of other topics."""
    known = outbox.places()
    for name in known:
        if name.rpartition("/")[0] != topic:
            outbox.forget(name)
    own, *earlier = (
        VersionLog(
            app,
            name,
            name.rpartition("/")[2],
            sinks if name == f"{topic}/{label}" else outbox.sinks_of(name),
            {one: _place(known.get(name, {}).get(one), offset) for one, offset in first.items()},
        )
        for name in _names(known, topic, label)
    )
    outbox.begin(own.name, own.sinks, own.saved_places({}))
    return VersionLogs(own, {one.label: one for one in earlier})


def _names(known: Iterable[str], topic: str, label: str) -> list[str]:
    """Return the names of the topic's logs, first that of the version that runs."""
    own = f"{topic}/{label}"
    return [own, *(one for one in known if one != own and one.rpartition("/")[0] == topic)]


def _place(kept: Place | None, first: int) -> CopyPlace:
    return CopyPlace(first) if kept is None else CopyPlace(kept[0], kept[1], kept[2:])
