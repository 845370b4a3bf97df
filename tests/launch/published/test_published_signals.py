"""Signals of a published app, on a real Kafka: its table is read where it runs."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from runtime.clock import SystemClock, wall_now
from session.session import Session
from store.memory.apps import MemoryApps
from streams.topic_admin import ensure_topics
from tests.launch.published.published_world import log_begins, published
from tests.store.traded_session import new_session
from ui.apps.app_signals import AppSignals

pytestmark = pytest.mark.slow
NAME = "entity-signals"
TEXT = (Path(__file__).parents[3] / "apps" / f"{NAME}.app").read_text()


@pytest.fixture
async def session(mongodb_uri: str, kafka_address: str, tmp_path: Path) -> AsyncIterator[Session]:
    await ensure_topics(kafka_address, 1)
    async with new_session(mongodb_uri) as (opened, _):
        services = replace(opened.services, kafka=kafka_address, partitions=1)
        yield replace(opened, services=services, home=tmp_path, started_at=wall_now(), mode="paper")


async def test_the_signals_of_an_app_that_runs_are_known(session: Session) -> None:
    apps, first = MemoryApps(SystemClock()), await log_begins(session)
    signals = AppSignals(session.home)
    assert await signals.now() == {"apps": [], "signals": []}
    async with published(session, apps, first) as world:
        await world.publish(NAME, TEXT)
        await world.until(NAME, "running")
        for value in (50.0, 51.0, 49.0, 50.0, 50.0, 20.0):
            await world.door.inject(NAME, "Measurements", {"entity": "Adams", "value": value})
        await world.door.inject(NAME, "Measurements", {"entity": "Berger", "value": 40.0})
        async with asyncio.timeout(90):
            while len((found := await signals.now())["signals"]) < 2:
                await SystemClock().sleep(0.05)
        assert found["apps"] == [NAME]
        assert [(one["entity"], one["level"], one["value"]) for one in found["signals"]] == [
            ("Adams", "warning", 20.0),
            ("Berger", "none", 40.0),
        ]
        assert [one["entity"] for one in await signals.alerting()] == ["Adams"]
