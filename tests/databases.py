"""Databases for tests, one after the other: laying one out costs half a second, emptying it a few milliseconds."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

from pymongo import WriteConcern

from store.server.client import DURABLE, connect
from store.server.documents import COLLECTIONS

QUICKLY = WriteConcern(w=1)
_FREE: dict[str, list[str]] = {}
"""Server → names of empty databases that nobody of this process uses."""


@asynccontextmanager
async def lent_database(uri: str) -> AsyncIterator[str]:
    """Return the name of a database that is nobody else's meanwhile, empty but perhaps laid out; emptied afterwards."""
    free = _FREE.setdefault(str(uri), [])
    name = free.pop() if free else f"test_{uuid4().hex}"
    yield name
    client = connect(uri)
    try:
        strangers = set(await client[name].list_collection_names()) - set(COLLECTIONS)
        await asyncio.gather(*(client[name].drop_collection(one) for one in strangers))
        await asyncio.gather(
            *(client[name].get_collection(one, write_concern=QUICKLY).delete_many({}) for one in COLLECTIONS)
        )
        # acknowledged by a majority, and with it all before
        await client[name].get_collection(COLLECTIONS[0], write_concern=DURABLE).delete_many({})
    finally:
        client.close()
    free.append(name)
