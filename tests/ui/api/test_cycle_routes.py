"""Cycles that detection has found, through REST: the newest first, each once, of this session alone."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from market.instruments.cycles import CycleTerms
from runtime.clock import wall_now
from store.mongo.store import open_store
from streams.cycle_messages import cycle_leg_row, cycle_opportunity_message, marker_message
from streams.message_format import marker_row, row_of
from streams.topic_admin import ensure_topics
from streams.topic_writer import TopicWriter
from streams.topics import CYCLE_OPPORTUNITIES
from tests.services import empty_topics
from tests.store.reservation_requests import open_books
from tests.streams.test_cycle_messages import CYCLE, FOUND, QUOTES
from tests.ui.clients import client_of
from tests.ui.samples import SETTINGS
from tests.ui.session_database import session_database
from ui.server.application import build_app

PATH = "/api/opportunities/cycles"
TERMS = CycleTerms(3, frozenset({"alpha"}), frozenset())


def message(identity: str, net_bps: float, legs: int = 3) -> bytes:
    sides = zip(QUOTES[:legs], ("buy", "buy", "sell"), strict=False)
    rows = [cycle_leg_row(quote, "buy" if side == "buy" else "sell", 500) for quote, side in sides]
    return cycle_opportunity_message(identity, CYCLE, rows, {**FOUND, "net_bps": net_bps})


@pytest.fixture
async def written(kafka_address: str) -> TopicWriter:
    """Return what detection writes with, to a topic of the test's own."""
    empty_topics(kafka_address)
    await ensure_topics(kafka_address, 1, (CYCLE_OPPORTUNITIES,))
    return TopicWriter(kafka_address)


@pytest.fixture
async def api(
    tmp_path: Path, mongodb_uri: str, kafka_address: str, written: TopicWriter
) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a client of a session with cycles, before which another one found some."""
    written.write(CYCLE_OPPORTUNITIES, message("before", 1.0), CYCLE, 0)
    await written.flush()
    async with session_database(tmp_path, mongodb_uri) as made:
        reached = replace(made.services, kafka=kafka_address)
        session = replace(made, services=reached, cycles=TERMS, started_at=wall_now() + 1_000)
        async with await open_store(session) as store:
            await open_books(store, SETTINGS)
        app = build_app(session, with_pages=False)
        async with app.router.lifespan_context(app), client_of(app) as client:
            yield client


async def found(api: httpx.AsyncClient, **parameters: Any) -> list[Any]:
    answer = (await api.get(PATH, params=parameters)).raise_for_status().json()
    assert isinstance(answer, list)
    return answer


async def test_the_newest_come_first_each_once_and_those_of_this_session_alone(
    api: httpx.AsyncClient, written: TopicWriter
) -> None:
    marker = marker_message(row_of(marker_row("probe", "BTC", "x", 0)), 3)
    for value in (message("one", 4.0), marker, message("two", 9.0), message("one", 4.0), b"no message"):
        written.write(CYCLE_OPPORTUNITIES, value, CYCLE, 0)
    await written.flush()
    rows = await found(api)
    assert [row["opportunity_id"] for row in rows] == ["two", "one"]
    assert [(leg["side"], leg["symbol"], leg["price"], leg["age"]) for leg in rows[0]["legs"]] == [
        ("buy", "BTC/USD", "60001", 500),
        ("buy", "ETH/BTC", "0.051", 500),
        ("sell", "ETH/USD", "3100", 500),
    ]
    assert [row["opportunity_id"] for row in await found(api, min_net_bps=5)] == ["two"]
    assert [row["opportunity_id"] for row in await found(api, limit=1)] == ["two"]
    assert await found(api, exchange="alpha") == []
    assert await found(api, legs=4) == []
    assert (await api.get(PATH, params={"legs": 2})).status_code == 422
    assert (await api.get(PATH, params={"exchange": "nowhere"})).status_code == 422


async def test_without_cycles_there_are_none_and_nobody_is_asked(tmp_path: Path, mongodb_uri: str) -> None:
    async with session_database(tmp_path, mongodb_uri) as session:
        async with await open_store(session) as store:
            await open_books(store, SETTINGS)
        app = build_app(session, with_pages=False)
        async with app.router.lifespan_context(app), client_of(app) as client:
            assert await found(client) == []


async def test_a_kafka_that_is_away_is_said(tmp_path: Path, mongodb_uri: str) -> None:
    async with session_database(tmp_path, mongodb_uri) as made:
        session = replace(made, cycles=TERMS)
        async with await open_store(session) as store:
            await open_books(store, SETTINGS)
        app = build_app(session, with_pages=False)
        async with app.router.lifespan_context(app), client_of(app) as client:
            answer = await client.get(PATH)
    assert answer.status_code == 503
    assert "Kafka at 127.0.0.1:1 is unreachable" in answer.json()["detail"]
