"""The web application on a real MongoDB, without Kafka and without pages unless a test brings them."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from market.instruments.cycles import CycleTerms
from session.session import Session
from store.mongo.store import MongoTradeStore, open_store
from tests.store.reservation_requests import open_books
from tests.ui.clients import client_of
from tests.ui.loop_thread import loop_in_a_thread
from tests.ui.samples import SETTINGS
from tests.ui.session_database import session_database
from tests.ui.waiting import until
from ui.auth.api_keys import ensure_api_key
from ui.server.application import build_app
from ui.services.dashboard import Dashboard, dashboard_of, running

STARTED_SECONDS = 30


@pytest.fixture
async def session(tmp_path: Path, mongodb_uri: str) -> AsyncIterator[Session]:
    """Return a database of the test's own."""
    async with session_database(tmp_path, mongodb_uri) as made:
        yield made


@pytest.fixture
async def store(session: Session) -> AsyncIterator[MongoTradeStore]:
    """Return what bots and feeders write through; the books are open."""
    async with await open_store(session) as opened:
        await open_books(opened, SETTINGS)
        yield opened


@pytest.fixture
async def application(session: Session, store: MongoTradeStore) -> AsyncIterator[FastAPI]:
    """Yield a started application, and stop it at the end."""
    app = build_app(session, with_pages=False)
    async with app.router.lifespan_context(app):
        await until(lambda: dashboard_of(app).hub.live_state.sources.mongodb)
        yield app


@pytest.fixture
async def api(application: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(application) as client:
        yield client


@pytest.fixture
def key(session: Session) -> str:
    return ensure_api_key(session.home).read_text().strip()


async def _prepare(session: Session) -> None:
    async with await open_store(session) as store:
        await open_books(store, SETTINGS)


@pytest.fixture
def dashboard(tmp_path: Path, mongodb_uri: str, request: pytest.FixtureRequest) -> Iterator[Dashboard]:
    """Return a running one without a web server, for scripts of pages; with a parameter its session watches cycles."""
    terms: CycleTerms | None = getattr(request, "param", None)
    end = asyncio.Event()
    is_up = threading.Event()

    async def serve() -> None:
        async with session_database(tmp_path, mongodb_uri) as made:
            session = replace(made, cycles=terms)
            await _prepare(session)
            app = build_app(session, with_pages=False)
            async with app.router.lifespan_context(app):
                await until(lambda: dashboard_of(app).hub.settings is not None)
                is_up.set()
                await end.wait()

    with loop_in_a_thread() as loop:
        serving = asyncio.run_coroutine_threadsafe(serve(), loop)
        assert is_up.wait(STARTED_SECONDS)
        yield running()
        loop.call_soon_threadsafe(end.set)
        serving.result(STARTED_SECONDS)
