"""Rows that a published app cannot compute, on a real Kafka and a real MongoDB: kept through a kill, edited, and given
again with their ids."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from runtime.app_door import AppDoorRefusedError, AppDoorSilentError
from runtime.clock import SystemClock, wall_now
from session.session import Session
from store.memory.apps import MemoryApps
from store.operations.failed_rows import open_failed_rows
from store.records.failed_rows import FailedChoice, FailedRow
from streams.topic_admin import ensure_topics
from tests.launch.published.published_world import PublishedWorld, log_begins, published
from tests.launch.published.test_published_apps import source_of
from tests.store.traded_session import new_session

pytestmark = pytest.mark.slow
KEPT = """@App:name('kept-errors') @OnError(action = 'store') define stream Raw (text string);
from Raw select convert(str:unhex(text), 'string') as text insert into Texts;
"""


@pytest.fixture
async def session(mongodb_uri: str, kafka_address: str, tmp_path: Path) -> AsyncIterator[Session]:
    await ensure_topics(kafka_address, 1)
    async with new_session(mongodb_uri) as (opened, _):
        services = replace(opened.services, kafka=kafka_address, partitions=1)
        yield replace(opened, services=services, home=tmp_path, started_at=wall_now(), mode="paper")


async def kept(session: Session, attempts: list[int]) -> list[FailedRow]:
    """Return the app's failed rows, once they were tried so often."""
    async with asyncio.timeout(90), open_failed_rows(session) as failed:
        while True:
            found = await failed.page("kept-errors", FailedChoice())
            if [one.attempts for one in found] == attempts:
                return found
            await SystemClock().sleep(0.05)


async def given_again(world: PublishedWorld, text: str, row: str) -> None:
    """Give a row again, to an app that may be starting."""
    async with asyncio.timeout(90):
        while True:
            with suppress(AppDoorSilentError):
                await world.door.replay("kept-errors", "Raw", {"text": text}, row)
                return
            await SystemClock().sleep(0.05)


async def test_a_row_that_fails_is_kept_edited_and_given_again_with_its_id(session: Session) -> None:
    apps, first = MemoryApps(SystemClock()), await log_begins(session)
    source = source_of(session, "kept-errors", KEPT)
    async with published(session, apps, first) as world:
        await world.publish("kept-errors", KEPT)
        await world.until("kept-errors", "running")
        for text in ("xyz", "4869", "q"):
            await world.door.inject("kept-errors", "Raw", {"text": text})
        one, other = await kept(session, [1, 1])
        assert [(row.stream, row.values, row.state) for row in (one, other)] == [
            ("Raw", {"text": "xyz"}, "waiting"),
            ("Raw", {"text": "q"}, "waiting"),
        ]
        assert "hexadecimal" in one.error or "hex" in one.error
        await world.door.replay("kept-errors", "Raw", {"text": "zz"}, one.id)
        again, _ = await kept(session, [2, 1])
        assert (again.id, again.values) == (one.id, {"text": "zz"})
        with pytest.raises(AppDoorRefusedError, match="keeps no failed rows of 'Texts'"):
            await world.door.replay("kept-errors", "Texts", {}, one.id)
        with pytest.raises(AppDoorRefusedError, match="which is string"):
            await world.door.replay("kept-errors", "Raw", {"text": 5}, one.id)
    # a host that begins again knows where it was: nothing is counted twice
    async with published(session, apps, first) as world:
        await given_again(world, "4f6b", one.id)
        messages = await world.written(source.label, lambda found: b'"Ok"' in found[-1])
    assert [orjson.loads(message)["values"]["text"] for message in messages][-1] == "Ok"
    assert [row.attempts for row in await kept(session, [2, 1])] == [2, 1]
