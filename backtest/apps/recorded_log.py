"""The log of an app over a recorded session: the topic that it reads; the input log that it was run on, where that was
kept; or what its input log would be, in the order of time."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from backtest.apps.recorded_books import RecordedBooks, recorded_books
from backtest.apps.recorded_messages import (
    Message,
    RecordedOpportunities,
    RecordedPartition,
    RecordedTicks,
    recorded_opportunities,
    recorded_ticks,
)
from backtest.verify.recorded_session import RecordedSession
from cep.apps.hosts.hosted_app import AppSource
from cep.apps.hosts.input_log import TABLES, InputPlace, SourceRow, input_message, source_row
from cep.apps.hosts.product_streams import STORE, ProductStream, read_streams
from cep.apps.hosts.row_merge import by_time
from pricefeeds.input_recorder import kept_folder
from streams.message_format import row_of
from streams.topics import OPPORTUNITIES, TICKS
from tick_sets.sets.log_parts import LogParts

RECORDED = (TICKS, OPPORTUNITIES, STORE)
"""The recorded streams of a session; `spreads` and `health` are not recorded."""
RecordedSource = RecordedTicks | RecordedOpportunities | RecordedBooks


def recorded_log(source: AppSource, session: RecordedSession) -> list[RecordedPartition]:
    """Return the log by partition; the app reads nothing but RECORDED. Raises CannotVerifyError, ImportRejectedError if
    the session's files are damaged."""
    # rows that users sent exist only in an input log that was kept
    topics = [one for one in source.sources if one != source.rows_topic]
    found = [(topic, one) for topic in topics for one in _recorded(topic, session)]
    if not source.is_merged:
        return [one for _, one in found if not isinstance(one, RecordedBooks)]
    return [merged_log(source, number, found) for number in sorted(session.head.span.first)]


def merged_log(source: AppSource, partition: int | str, found: Iterable[tuple[str, RecordedSource]]) -> "RecordedInput":
    """Return the partition of the input log that the recorded topics make."""
    own = tuple((topic, one) for topic, one in found if one.partition == partition)
    return RecordedInput(partition, read_streams(source.app), own)


@dataclass(frozen=True, slots=True)
class RecordedInput:
    """One partition of an app's input log: the rows that it reads by the app's clock, at one time in the order of
    `sources`."""

    partition: int | str
    streams: tuple[ProductStream, ...]
    sources: tuple[tuple[str, RecordedSource], ...]
    """Each with its topic."""

    def messages(self) -> Iterator[Message]:
        place = InputPlace()
        for offset, row in enumerate(by_time([self._rows(topic, recorded) for topic, recorded in self.sources])):
            place = place.after(row)
            # as bytes first: what JSON cannot say does not arrive live either
            yield offset, row.time, row_of(input_message("", row, place))

    def _rows(self, topic: str, recorded: RecordedSource) -> Iterator[SourceRow]:
        if isinstance(recorded, RecordedBooks):
            yield from recorded.rows(self.streams)
            return
        # a base of an imported set is a log by itself
        number = self.partition if isinstance(self.partition, int) else 0
        for offset, written_at, row in recorded.messages():
            found = source_row((topic, number), offset, written_at, row, self.streams)
            if found is not None:
                yield found


@dataclass(frozen=True, slots=True)
class KeptInput:
    """One partition of the input log that an app was run on, with its original offsets."""

    partition: int
    topic: str
    folder: Path

    def messages(self) -> Iterator[Message]:
        for partition, offset, written_at, value in LogParts(self.folder).rows(self.topic):
            if partition == self.partition:
                yield offset, written_at, row_of(value)


def kept_log(source: AppSource, log_of_session: Path) -> list[RecordedPartition]:
    """Return the input log of this version of the app, if it was run on the session while that was recorded; else
    nothing. Raises ImportRejectedError if it cannot be read."""
    if not source.is_merged:
        return []
    folder = kept_folder(log_of_session, source.label).resolve()
    partitions = sorted(partition for _, partition in LogParts(folder).last_positions(source.topic))
    return [KeptInput(partition, source.topic, folder) for partition in partitions]


def _recorded(topic: str, session: RecordedSession) -> list[RecordedSource]:
    if topic == TABLES:
        # nobody knows what they held then: they begin empty
        return []
    if topic == TICKS:
        return [*recorded_ticks(session.tick_set(), session)]
    return [*recorded_opportunities(session)] if topic == OPPORTUNITIES else [*recorded_books(session)]
