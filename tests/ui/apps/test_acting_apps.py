"""Rows of apps that act, read from Kafka: what was written before the process began, and what comes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import orjson

from market.decide.settings_entries import EntryChange
from runtime.clock import SystemClock, wall_now
from session.access_terms import AccessTerms
from session.app_actions import AppActionTerms
from session.session import PageTerms, Services, Session
from store.app_actions import AppAction, AppActionOutcome, app_author
from store.errors import StoreError
from store.memory.parts import MemorySettings
from store.records.audit_entry import AuditEntry
from streams.topic_admin import ensure_topics
from streams.topic_writer import TopicWriter
from streams.topics import APPS
from tests.market.samples import MARKETS, settings_of
from tests.ui.waiting import until
from ui.apps.acting_apps import follow_acting_apps
from ui.apps.app_actions import ACTION_SECONDS
from ui.apps.left_out_actions import LeftOutActions

OWN = "acting apps followed"
"""Name of an app that no other test on this broker has."""


def row(number: int, stream: str, app: str = OWN, age: int = 0, **values: str) -> bytes:
    """`age`: seconds."""
    at = wall_now() // 1_000 - 1_000 * age
    return orjson.dumps({"id": f"{app}-1:0:{number}:0", "app": app, "stream": stream, "time": at, "values": values})


def pause(row_time: int) -> AppAction:
    """`row_time`: microseconds."""
    return AppAction(EntryChange("disabled_assets", "BTC", value=True), row_time, 6)


def pause_entry(app: str) -> AuditEntry:
    return AuditEntry("action row 1", app_author(app), "app", "app", "", "app.pause", "disabled_assets BTC")


@asynccontextmanager
async def followed(kafka: str, settings: MemorySettings, app: str) -> AsyncIterator[Callable[..., None]]:
    """Follow this app, which may do all on alpha, beta and gamma; yield what writes a row of it."""
    await ensure_topics(kafka, 1)
    acting = AppActionTerms(app, pause=True, notices=True)
    access = AccessTerms(halting_apps=(app,), acting_apps=(acting,))
    session = Session("s", "paper", Path(), Services(kafka, "", ""), MARKETS, "USD", page=PageTerms(access=access))
    await settings.create(settings_of(enabled_exchanges=("alpha", "beta", "gamma")))
    writer = TopicWriter(kafka)
    await writer.open()
    following = asyncio.create_task(follow_acting_apps(session, settings, lambda _: None, LeftOutActions()))

    def write(number: int, stream: str, age: int = 0, **values: str) -> None:
        writer.write(APPS, row(number, stream, app, age, **values), app, 0)

    yield write
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    await writer.close()


async def test_rows_of_the_last_minute_and_later_ones(kafka_address: str) -> None:
    await ensure_topics(kafka_address, 1)
    settings, writer = MemorySettings(SystemClock()), TopicWriter(kafka_address)
    await writer.open()
    writer.write(APPS, row(1, "Halts", exchange="alpha"), OWN, 0)
    await writer.flush()
    await writer.close()
    async with followed(kafka_address, settings, OWN) as write:
        await until(lambda: len(settings.audited) == 1)
        write(2, "Halts", exchange="beta")
        write(3, "AssetPauses", asset="BTC")
        await until(lambda: len(settings.audited) == 3)
    assert settings.in_force().enabled_exchanges == ("gamma",)
    assert settings.in_force().disabled_assets == ("BTC",)


class Silent(MemorySettings):
    """Answers no action."""

    asked = 0

    async def act(self, action: AppAction, entry: AuditEntry) -> AppActionOutcome:
        self.asked += 1
        await asyncio.Event().wait()
        raise AssertionError


async def test_a_halt_does_not_wait_behind_an_action(kafka_address: str) -> None:
    settings = Silent(SystemClock())
    async with followed(kafka_address, settings, "acting apps that wait") as write:
        write(1, "AssetPauses", asset="BTC")
        await until(lambda: settings.asked == 1)
        write(2, "Halts", exchange="alpha")
        await until(lambda: settings.in_force().enabled_exchanges == ("beta", "gamma"))


class FailsOnce(MemorySettings):
    """Refuses the third question, as a store with an odd document would."""

    def __init__(self) -> None:
        super().__init__(SystemClock())
        self.asked: list[str] = []

    async def act(self, action: AppAction, entry: AuditEntry) -> AppActionOutcome:
        self.asked.append(str(entry.after["text"]))
        if len(self.asked) == 3:
            raise StoreError("not as this version writes it")
        return await super().act(action, entry)


async def test_after_a_failure_it_goes_on_where_it_was(kafka_address: str) -> None:
    settings = FailsOnce()
    async with followed(kafka_address, settings, "acting apps that fail once") as write:
        for number in range(1, 5):
            write(number, "OperatorNotices", text=str(number))
        await until(lambda: len(settings.asked) >= 5)
    assert settings.asked == ["1", "2", "3", "3", "4"]


async def test_an_old_resume_is_done_once_nothing_is_behind_it(kafka_address: str) -> None:
    app, settings = "acting apps that resume late", MemorySettings(SystemClock())
    await settings.create(settings_of())
    await settings.act(pause(wall_now() - 2 * ACTION_SECONDS * 1_000_000), pause_entry(app))
    assert settings.in_force().disabled_assets == ("BTC",)
    async with followed(kafka_address, settings, app) as write:
        write(2, "AssetResumes", age=ACTION_SECONDS + 5, asset="BTC")
        await until(lambda: settings.in_force().disabled_assets == ())


async def test_where_no_app_may_act_nothing_is_read() -> None:
    session = Session("s", "paper", Path(), Services("nowhere:1", "", ""), MARKETS, "USD")
    nobody = follow_acting_apps(session, MemorySettings(SystemClock()), lambda _: None, LeftOutActions())
    await asyncio.wait_for(nobody, 5)
