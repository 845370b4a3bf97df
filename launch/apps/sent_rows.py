"""Rows that users send into plain streams of an app. They wait in a topic by the app's name, which its versions read
one after the other, each from where the one before had come; a version takes those that fit its columns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from cep.apps.engine.input_rows import row_of
from cep.apps.hosts.app_messages import plain_json
from cep.apps.hosts.counted_warnings import CountedWarnings
from cep.apps.hosts.input_log import REPLAYS, SourceRow
from cep.apps.language.expression_tree import ValueType
from cep.apps.parts.scope import Columns
from streams import message_format
from streams.records import Record

_ANY: frozenset[ValueType] = frozenset()


def sent_message(created_at: int, stream: str, values: Mapping[str, Any], replays: str | None = None) -> bytes:
    """Return a row for the topic. `created_at`: when the app of that name was, so that one that is created after it was
    removed does not read what was sent to the other; `values`: by column; a decimal is a text then. `replays`: the id
    of the row, if it is one of the error store that is given again."""
    again = {} if replays is None else {"replays": replays}
    return orjson.dumps({"app": created_at, "stream": stream, "values": values, **again}, default=plain_json)


@dataclass(slots=True)
class SentRows:
    """Reads the topic for one version of an app. `columns`: of the streams into which rows are sent. `created_at`: when
    the app was."""

    columns: Mapping[str, Columns]
    created_at: int
    market_time: Callable[[int], int]
    warnings: CountedWarnings
    rejected: int = 0
    """Rows that fit no plain stream of this version."""
    problem: str = ""
    """Why the last one of them did not; a sentence without its full stop."""
    _reasons: dict[str, int] = field(default_factory=dict)

    def row(self, record: Record) -> SourceRow:
        """Return the row as it is in the input log: of none of its streams if it does not fit, so that no version
        after this one reads it again. Its time is when it was written."""
        topic, partition = record.position
        return SourceRow(topic, partition, record.offset, self.market_time(record.time), self._rows(record.value))

    def _rows(self, message: bytes) -> tuple[tuple[str, tuple[Any, ...]], ...]:
        try:
            sent = message_format.row_of(message)
            if sent["app"] != self.created_at:
                return ()
            stream, values = str(sent["stream"]), dict(sent["values"])
            row = stream, self._fitting(stream, values)
            return ((REPLAYS, (stream, str(sent["replays"]))), row) if "replays" in sent else (row,)
        except (message_format.WireError, ValueError, TypeError, KeyError) as error:
            self.rejected += 1
            self.problem = str(error) if type(error) is ValueError else "a message is no row that was sent"
            self.warnings.tell("row that was sent in does not fit", self.problem)
            return ()

    def _fitting(self, stream: str, values: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the values in the order of the columns. Raises ValueError."""
        columns = self.columns.get(stream)
        if columns is None:
            raise ValueError(f"a row for {stream!r}, into which nobody sends rows in this version")
        try:
            row_of(columns, values)
        except ValueError as error:
            raise ValueError(f"a row of {stream!r} {error}") from None
        return tuple(values.get(column.name) for column in columns)
