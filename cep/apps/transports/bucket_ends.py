"""Rows to objects of a bucket of S3, by size or time, and objects as messages.

An object is named by its first row. Rows that are sent again begin with the same one, so their object replaces the one
that a killed process may have left, and no row is in two.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cep.apps.ends.server_names import covers
from cep.apps.ends.sink_ends import BucketTarget, Columns
from cep.apps.ends.source_ends import BucketObjects
from cep.apps.formats.row_formats import RowReader, RowWriter
from cep.apps.hosts.counted_warnings import CountedWarnings
from cep.apps.transports.file_receiver import SourcePlace
from cep.apps.transports.object_store import BucketTerms, ObjectBucket, ObjectName
from cep.apps.transports.parquet_rows import MEDIA_TYPE, parquet_file
from cep.apps.transports.ports import IncomingMessage, Intake, OutgoingRow, RowsRefusedError
from cep.apps.transports.tailed_folder import lines_of
from runtime.clock import SystemClock

MOST_OBJECT_BYTES = 1 << 26
LINES_AT_ONCE = 500
OBJECTS_BETWEEN_SAVES = 100
"""So many at most are read again after a kill."""
ENDINGS = {"application/json": "jsonl", "text/csv": "csv", "application/xml": "xml", MEDIA_TYPE: "parquet"}


class BucketSender:
    """A `SinkSender`. Its destinations are the paths that rows name."""

    def __init__(
        self, target: BucketTarget, writer: RowWriter, columns: Columns, terms: BucketTerms, writes: Sequence[str]
    ) -> None:
        self._target, self._writer, self._columns, self._writes = target, writer, columns, writes
        self._bucket = ObjectBucket(terms)
        self.most_rows = target.rows
        self.linger_seconds = target.seconds

    def destination(self, values: Mapping[str, Any]) -> str:
        try:
            path = self._target.path.filled(values, _in_path)
        except ValueError as error:
            raise RowsRefusedError(f"the row has no path: {error}") from None
        if not any(covers(one, path) for one in self._writes):
            raise RowsRefusedError(f"{path!r} of the bucket may not be written here")
        return path

    def server(self, destination: str) -> str:
        return self._target.server

    def shown(self, destination: str) -> str:
        return f"{self._target.server}/{destination}"

    async def close(self) -> None:
        pass

    async def send(self, destination: str, rows: Sequence[OutgoingRow]) -> None:
        path = self.destination(rows[0].values)
        try:
            if self._target.is_parquet:
                body, kind = parquet_file(self._columns, rows), MEDIA_TYPE
            else:
                messages = [self._writer.write(row.values) for row in rows]
                body, kind = self._writer.join(messages), self._writer.media_type
        except ValueError as error:
            raise RowsRefusedError(str(error)) from None
        name = re.sub(r"[^A-Za-z0-9_.-]", "-", rows[0].id)
        ending = ENDINGS.get(kind.partition(";")[0], "txt")
        await self._bucket.put(f"{path}/{name}.{ending}", body, kind, self._target.storage_class)


@dataclass(slots=True)
class BucketReceiver:
    """A `Receiver`: objects below a prefix, each once, as lines or whole, as the format has them."""

    objects: BucketObjects
    reader: RowReader
    bucket: ObjectBucket
    place: SourcePlace
    warnings: CountedWarnings

    async def run(self, intake: Intake) -> None:
        kept = self.place.load()
        done: dict[str, str] = dict(kept) if isinstance(kept, dict) else {}
        while True:
            found = await self.bucket.names(self.objects.prefix)
            # of those that were deleted nothing has to be known
            done = {one.key: done[one.key] for one in found if one.key in done}
            new = [one for one in found if done.get(one.key) != one.mark]
            try:
                for number, one in enumerate(new, 1):
                    await self._take(one, intake)
                    done[one.key] = one.mark
                    if number % OBJECTS_BETWEEN_SAVES == 0:
                        self.place.save(done)
            finally:
                if new:
                    self.place.save(done)
            await SystemClock().sleep(self.objects.seconds)

    async def _take(self, one: ObjectName, intake: Intake) -> None:
        if one.size > MOST_OBJECT_BYTES:
            reason = f"{one.key} has more than {MOST_OBJECT_BYTES:,} bytes"
            self.warnings.tell("object left out", reason)
            return
        body = await self.bucket.get(one.key, MOST_OBJECT_BYTES)
        properties = {"bucket": self.objects.server.removeprefix("s3://"), "key": one.key}
        if not self.reader.by_line:
            await intake.take([IncomingMessage(body, properties)])
            return
        lines = [line for line in lines_of(body) if line]
        for first in range(0, len(lines), LINES_AT_ONCE):
            batch = lines[first : first + LINES_AT_ONCE]
            await intake.take([IncomingMessage(line, properties) for line in batch])


def _in_path(value: str) -> str:
    """Return a value as one part of a path: no row may name another one."""
    return re.sub(r"[^A-Za-z0-9_=.-]", "-", value).strip(".") or "-"
