"""Rows of apps that act, read from Kafka: what was written before the process began, and what comes."""

import asyncio
from pathlib import Path

import orjson

from runtime.clock import SystemClock, wall_now
from session.access_terms import AccessTerms
from session.app_actions import AppActionTerms
from session.session import PageTerms, Services, Session
from store.memory.parts import MemorySettings
from streams.topic_admin import ensure_topics
from streams.topic_writer import TopicWriter
from streams.topics import APPS
from tests.market.samples import MARKETS, settings_of
from tests.ui.waiting import until
from ui.apps.acting_apps import follow_acting_apps

OWN = "acting apps followed"
"""Name of an app that no other test on this broker has."""


def row(number: int, stream: str, **values: str) -> bytes:
    at = wall_now() // 1_000
    return orjson.dumps({"id": f"{OWN}-1:0:{number}:0", "app": OWN, "stream": stream, "time": at, "values": values})


async def enabled(settings: MemorySettings) -> tuple[str, ...]:
    current = await settings.current()
    assert current is not None
    return current.enabled_exchanges


async def test_rows_of_the_last_minute_and_later_ones(kafka_address: str) -> None:
    await ensure_topics(kafka_address, 1)
    acting = AppActionTerms(OWN, pause=True)
    settings, access = MemorySettings(SystemClock()), AccessTerms(halting_apps=(OWN,), acting_apps=(acting,))
    session = Session(
        "s", "paper", Path(), Services(kafka_address, "", ""), MARKETS, "USD", page=PageTerms(access=access)
    )
    await settings.create(settings_of(enabled_exchanges=("alpha", "beta", "gamma")))
    writer = TopicWriter(kafka_address)
    await writer.open()
    writer.write(APPS, row(1, "Halts", exchange="alpha"), OWN, 0)
    await writer.flush()
    following = asyncio.create_task(follow_acting_apps(session, settings, lambda _: None))
    await until(lambda: len(settings.audited) == 1)
    writer.write(APPS, row(2, "Halts", exchange="beta"), OWN, 0)
    writer.write(APPS, row(3, "AssetPauses", asset="BTC"), OWN, 0)
    await until(lambda: len(settings.audited) == 3)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    await writer.close()
    assert await enabled(settings) == ("gamma",)
    assert settings.in_force().disabled_assets == ("BTC",)


async def test_where_no_app_may_act_nothing_is_read() -> None:
    session = Session("s", "paper", Path(), Services("nowhere:1", "", ""), MARKETS, "USD")
    await asyncio.wait_for(follow_acting_apps(session, MemorySettings(SystemClock()), lambda _: None), 5)
