"""Puts a copied database back, and compares what is stored with what was copied."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import IO

from bson.raw_bson import RawBSONDocument

from store.backups.database_dump import BATCH_BYTES, DatabaseSnapshot, blocking_database, documents_of
from store.errors import StoreError
from store.server.client import BlockingDatabase, connect, database_of, translated_errors
from store.server.indexes import create_indexes


def load_database(uri: str, name: str, collections: Mapping[str, Path]) -> int:
    """Fill an empty database with the collections that were copied to these files; how many documents.

    Raises StoreError, also if what is stored then is not byte by byte what was copied.
    """
    documents = 0
    with blocking_database(uri, name) as database, database.client.start_session() as session:
        for collection, file in collections.items():
            with file.open("rb") as source:
                documents += load_collection(database, collection, source)
        # in the order in which they were inserted, which is the order of the copy
        stored = DatabaseSnapshot(database, session)
        for collection, file in collections.items():
            copied, again = _Digest(), _Digest()
            stored.copy(collection, again)
            with file.open("rb") as source:
                while chunk := source.read(BATCH_BYTES):
                    copied.write(chunk)
            if copied.digest.digest() != again.digest.digest():
                raise StoreError(f"{name}.{collection} is not stored as it was copied")
    return documents


def load_collection(database: BlockingDatabase, name: str, source: IO[bytes]) -> int:
    """Insert what was copied, in its order; how many. Raises StoreError if it is no BSON, or is cut off."""
    count, size = 0, 0
    batch: list[RawBSONDocument] = []
    with translated_errors():
        database.create_collection(name)
        for document in documents_of(source):
            batch.append(document)
            size += len(document.raw)
            if size >= BATCH_BYTES:
                count += _inserted(database, name, batch)
                batch, size = [], 0
        return count + _inserted(database, name, batch)


async def make_indexes(uri: str, name: str) -> None:
    """As a session does at its start. Raises StoreError."""
    client = connect(uri)
    try:
        with translated_errors():
            await create_indexes(database_of(client, name))
    finally:
        client.close()


def _inserted(database: BlockingDatabase, name: str, batch: list[RawBSONDocument]) -> int:
    if batch:
        database[name].insert_many(batch)
    return len(batch)


class _Digest:
    def __init__(self) -> None:
        self.digest = sha256()

    def write(self, chunk: bytes) -> None:
        self.digest.update(chunk)
