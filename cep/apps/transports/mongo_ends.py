"""Rows to and from collections of MongoDB: a document for each row, and a row for each change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cep.apps.ends.sink_ends import MongoTarget
from cep.apps.ends.source_ends import MongoChanges
from cep.apps.hosts.counted_warnings import CountedWarnings
from cep.apps.transports.file_receiver import SourcePlace
from cep.apps.transports.message_queue import MessageQueue
from cep.apps.transports.ports import IncomingMessage, Intake, NotTakenError, OutgoingRow, RowsRefusedError
from store.errors import StoreError, StoreUnavailableError
from store.server.outside_collections import DocumentRefusedError, OutsideChanges, OutsideCollection

ROWS_AT_ONCE = 500


class MongoSender:
    """A `SinkSender`. Its one destination is the collection. A row replaces the document with its id, or its key."""

    most_rows = ROWS_AT_ONCE
    linger_seconds = 0.0

    def __init__(self, target: MongoTarget, address: str) -> None:
        self._target, self._address = target, address
        self._opened: OutsideCollection | None = None

    def destination(self, values: Mapping[str, Any]) -> str:
        return f"{self._target.server}/{self._target.database}.{self._target.collection}"

    def server(self, destination: str) -> str:
        return self._target.server

    def shown(self, destination: str) -> str:
        return destination

    async def close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.close()

    async def send(self, destination: str, rows: Sequence[OutgoingRow]) -> None:
        documents = [self._document(row) for row in rows]
        try:
            if self._opened is None:
                self._opened = OutsideCollection(self._address, self._target.database, self._target.collection)
            await self._opened.replace(documents)
        except DocumentRefusedError as error:
            raise RowsRefusedError(str(error)) from None
        except StoreError as error:
            # a login, or a right that it does not have, is no fault of the rows
            raise NotTakenError(str(error)) from None

    def _document(self, row: OutgoingRow) -> Mapping[str, Any]:
        if self._target.key is None:
            return {**row.values, "_id": row.id}
        key = row.values.get(self._target.key)
        if key is None:
            raise RowsRefusedError(f"the row has no {self._target.key!r}, which is its key")
        return {**row.values, "_id": key}


@dataclass(slots=True)
class MongoReceiver:
    """A `Receiver` of a collection's changes."""

    changes: MongoChanges
    address: str
    place: SourcePlace
    warnings: CountedWarnings

    async def run(self, intake: Intake) -> None:
        kept = self.place.load()
        after = kept if isinstance(kept, str) else None
        try:
            collection = OutsideCollection(self.address, self.changes.database, self.changes.collection)
            try:
                async with collection.follow(self.changes.operations, after) as changes:
                    queue = MessageQueue(intake, lambda tokens: self.place.save(tokens[-1]))
                    await queue.keep(self._read(changes, queue, is_first=after is None))
            finally:
                await collection.close()
        except StoreUnavailableError as error:
            raise NotTakenError(str(error)) from None
        except StoreError as error:
            raise RowsRefusedError(str(error)) from None

    async def _read(self, changes: OutsideChanges, queue: MessageQueue, *, is_first: bool) -> None:
        while True:
            found = await changes.next()
            if found is not None:
                body, operation = found
                await queue.put(IncomingMessage(body, {"operation": operation}), changes.token)
            elif is_first:
                # what comes from here on is not missed, whenever this process is killed
                self.place.save(changes.token)
                is_first = False
            else:
                self.warnings.tell("changes are missing", "MongoDB does not have them any more")
