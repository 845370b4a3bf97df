"""A session with a database of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

from session.session import Session
from store.server.mongo_client import connect
from tests.ui.samples import session_of


@asynccontextmanager
async def session_database(folder: Path, mongodb_uri: str) -> AsyncIterator[Session]:
    """The database goes with it."""
    made = session_of(folder, mongodb_uri, f"test_{uuid4().hex}")
    try:
        yield made
    finally:
        client = connect(mongodb_uri)
        await client.drop_database(made.database)
        client.close()
