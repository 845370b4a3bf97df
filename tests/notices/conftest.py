"""A session's database with open books, and what writes to it and reads it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from session.session import Services, Session
from store.mongo.store import MongoTradeStore, open_store
from store.queries.notice_events import NoticeEventReader
from tests.databases import lent_database
from tests.market.samples import EUR_MARKET, USD_MARKET
from tests.store.reservation_requests import open_books


@pytest.fixture
async def session(tmp_path: Path, mongodb_uri: str) -> AsyncIterator[Session]:
    async with lent_database(mongodb_uri) as name:
        yield Session("session-1", "paper", tmp_path, Services("", mongodb_uri, name), (USD_MARKET, EUR_MARKET), "USD")


@pytest.fixture
async def store(session: Session) -> AsyncIterator[MongoTradeStore]:
    async with await open_store(session) as opened:
        await open_books(opened)
        yield opened


@pytest.fixture
async def reader(session: Session, store: MongoTradeStore) -> AsyncIterator[NoticeEventReader]:
    opened = NoticeEventReader(session)
    yield opened
    await opened.close()
