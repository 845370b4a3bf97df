"""Several MongoDB reads in one round trip: within a transaction round trips cost more than the reads."""

from collections.abc import Sequence
from dataclasses import dataclass

from store.server.client import Document
from store.server.clock import NOW, time_in
from store.server.documents import CLAIMS, SESSION_CLAIM
from store.server.transactions import Transaction


@dataclass(frozen=True, slots=True)
class BatchedRead:
    """Documents of one collection."""

    collection: str
    wanted: Document
    without: str | None = None
    """A field that is left out."""

    @property
    def pipeline(self) -> list[Document]:
        match: Document = {"$match": self.wanted}
        return [match] if self.without is None else [match, {"$unset": self.without}]


def read_batch(transaction: Transaction, reads: Sequence[BatchedRead]) -> tuple[int, list[list[Document]]]:
    """Return the server's time, and the documents of each read, in the order of `reads`.

    The session's counter, which is always there, stands in for a query without a collection; a transaction takes no
    `$unionWith` (mongodb.com, "Transactions and Operations"). Raises StoreError in a database never prepared.
    """
    lookups: list[Document] = [
        {"$lookup": {"from": read.collection, "pipeline": read.pipeline, "as": str(number)}}
        for number, read in enumerate(reads)
    ]
    start: list[Document] = [{"$match": {"_id": SESSION_CLAIM}}, {"$project": NOW}]
    found = next(iter(transaction.aggregate(CLAIMS, [*start, *lookups])), None)
    now = time_in(found)
    return now, [_documents((found or {})[str(number)]) for number in range(len(reads))]


def _documents(result: object) -> list[Document]:
    return result if isinstance(result, list) else []
