"""Fills a database of this layout from one of an earlier layout, beside it."""

from collections.abc import Iterator

from store.backups.database_dump import blocking_database
from store.backups.layout_steps import OPEN_STATES_IN, migrated
from store.server.client import STREAMED, BlockingDatabase, Document, translated_errors
from store.server.documents import ARBITRAGES

BATCH = 1_000


def open_in(uri: str, name: str, layout: int) -> int:
    """How many arbitrages are open in a database of that layout. Raises StoreError."""
    with blocking_database(uri, name) as database, translated_errors():
        count: int = database[ARBITRAGES].count_documents({"state": {"$in": list(OPEN_STATES_IN[layout])}})
        return count


def migrate_database(uri: str, old: tuple[str, int], new: tuple[str, int]) -> int:
    """From (name, layout) to (name, layout); how many documents. What was left of an earlier try goes.

    Raises StoreError.
    """
    documents = 0
    with blocking_database(uri, old[0]) as source, blocking_database(uri, new[0]) as target, translated_errors():
        target.client.drop_database(new[0])
        for collection in sorted(source.list_collection_names()):
            target.create_collection(collection)
            for batch in _batches(source, collection, old[1], new[1]):
                target[collection].insert_many(batch)
                documents += len(batch)
    return documents


def drop_database(uri: str, name: str) -> None:
    """Raise StoreError."""
    with blocking_database(uri, name) as database, translated_errors():
        database.client.drop_database(name)


def _batches(source: BlockingDatabase, collection: str, layout: int, wanted: int) -> Iterator[list[Document]]:
    batch: list[Document] = []
    for document in source[collection].find(batch_size=STREAMED):
        now = migrated(collection, document, layout, wanted)
        if now is not None:
            batch.append(now)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
