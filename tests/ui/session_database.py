"""A session with a database of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from session.session import Session
from tests.databases import lent_database
from tests.ui.samples import session_of


@asynccontextmanager
async def session_database(folder: Path, mongodb_uri: str) -> AsyncIterator[Session]:
    """Yield a session whose database is emptied at the end."""
    async with lent_database(mongodb_uri) as name:
        yield session_of(folder, mongodb_uri, name)
