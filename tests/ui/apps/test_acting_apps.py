"""Halts of apps, read from Kafka: what was written before the process began, and what comes."""

import asyncio
from pathlib import Path

import orjson

from runtime.clock import SystemClock, wall_now
from session.access_terms import AccessTerms
from session.session import PageTerms, Services, Session
from store.memory.parts import MemorySettings
from streams.topic_admin import ensure_topics
from streams.topic_writer import TopicWriter
from streams.topics import APPS
from tests.market.samples import MARKETS, settings_of
from tests.ui.waiting import until
from ui.services.app_halts import follow_halts

OWN = "halts followed"
"""Name of an app that no other test on this broker has."""


def row(number: int, exchange: str) -> bytes:
    values = {"exchange": exchange}
    at = wall_now() // 1_000
    return orjson.dumps({"id": f"{OWN}-1:0:{number}:0", "app": OWN, "stream": "Halts", "time": at, "values": values})


async def enabled(settings: MemorySettings) -> tuple[str, ...]:
    current = await settings.current()
    assert current is not None
    return current.enabled_exchanges


async def test_rows_of_the_last_minute_and_later_ones(kafka_address: str) -> None:
    await ensure_topics(kafka_address, 1)
    settings, access = MemorySettings(SystemClock()), AccessTerms(halting_apps=(OWN,))
    session = Session(
        "s", "paper", Path(), Services(kafka_address, "", ""), MARKETS, "USD", page=PageTerms(access=access)
    )
    await settings.create(settings_of(enabled_exchanges=("alpha", "beta", "gamma")))
    writer = TopicWriter(kafka_address)
    await writer.open()
    writer.write(APPS, row(1, "alpha"), OWN, 0)
    await writer.flush()
    following = asyncio.create_task(follow_halts(session, settings, lambda _: None))
    await until(lambda: len(settings.audited) == 1)
    writer.write(APPS, row(2, "beta"), OWN, 0)
    await until(lambda: len(settings.audited) == 2)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    await writer.close()
    assert await enabled(settings) == ("gamma",)


async def test_where_no_app_may_halt_nothing_is_read() -> None:
    session = Session("s", "paper", Path(), Services("nowhere:1", "", ""), MARKETS, "USD")
    await asyncio.wait_for(follow_halts(session, MemorySettings(SystemClock()), lambda _: None), 5)
