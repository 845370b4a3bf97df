import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import pytest

from exchanges.simulated_markets import paper_markets
from market.decide.settings import Settings
from pricefeeds.feed.startup_retry import retry_until_available
from pricefeeds.settings_publisher import SettingsPublisher, last_version, run_settings_publisher
from runtime.clock import SystemClock
from session.session import Services, Session
from store.errors import StoreUnavailableError
from store.memory.parts import MemorySettings
from store.memory.store import MemoryTradeStore
from store.mongo.store import open_store
from streams.message_format import row_of, settings_row
from streams.records import Record
from streams.topic_admin import ensure_topics
from streams.topic_reader import TopicReader
from streams.topics import TICKS

DEADLINE_SECONDS = 20.0
FIRST = Settings(enabled_exchanges=("kraken",), taker_fees={"kraken": Decimal("0.001")})


@dataclass
class Rows:
    """What was written: (version, received time)."""

    written: list[tuple[int, int]] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def write(self, settings: Settings, received_time: int) -> None:
        self.written.append((settings.version, received_time))
        self.changed.set()

    @property
    def versions(self) -> list[int]:
        return [version for version, _ in self.written]

    async def until(self, versions: list[int]) -> None:
        async with asyncio.timeout(DEADLINE_SECONDS):
            while self.versions[: len(versions)] != versions:
                self.changed.clear()
                await self.changed.wait()


@asynccontextmanager
async def following(publisher: SettingsPublisher, repeats: bool = False) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(publisher.follow())]
    if repeats:
        tasks.append(asyncio.create_task(publisher.repeat()))
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            await publisher.has_begun.wait()
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def nothing_between(after: int, before: int) -> list[Settings]:
    raise AssertionError(f"asked for what lies between {after} and {before}")


def publisher_of(store: MemoryTradeStore, rows: Rows) -> SettingsPublisher:
    return SettingsPublisher(store.settings, nothing_between, rows.write, SystemClock())


async def change(store: MemoryTradeStore, version: int) -> None:
    await store.settings.change(FIRST.model_copy(update={"min_net_bps": 5.0 + version}), version, "test")


async def test_each_version_is_written_in_order() -> None:
    store, rows = MemoryTradeStore(), Rows()
    await store.settings.create(FIRST)
    before = SystemClock().now()
    async with following(publisher_of(store, rows)):
        for version in (1, 2, 3):
            await change(store, version)
        await rows.until([1, 2, 3, 4])
    assert all(before <= time <= SystemClock().now() for _, time in rows.written)


async def test_the_newest_is_written_again_each_second() -> None:
    store, rows = MemoryTradeStore(), Rows()
    await store.settings.create(FIRST)
    async with following(publisher_of(store, rows), repeats=True):
        await rows.until([1, 1])
        await change(store, 1)
        await rows.until([1, 1, 2, 2])


class FailingSettings(MemorySettings):
    """Its stream breaks after each row; what is delivered again then includes what is known."""

    breaks = 0

    async def watch(self) -> AsyncGenerator[Settings]:
        async for settings in super().watch():
            yield settings
            self.breaks += 1
            raise StoreUnavailableError("the connection was lost")


async def test_an_outage_of_the_store_neither_ends_nor_repeats_anything() -> None:
    store, rows = MemoryTradeStore(), Rows()
    store.settings = failing = FailingSettings(SystemClock())
    await store.settings.create(FIRST)
    async with following(publisher_of(store, rows)):
        await rows.until([1])
        await change(store, 1)
        await rows.until([1, 2])
        await change(store, 2)
        await rows.until([1, 2, 3])
    assert rows.versions == [1, 2, 3]
    assert failing.breaks >= 3


@pytest.mark.parametrize(
    ("in_the_log", "expected"),
    [
        (None, [5]),
        (5, [5]),
        (4, [5]),
        (2, [3, 4, 5]),
        (9, [5]),
    ],
    ids=["empty log", "nothing missed", "one later", "two missed", "log of another store"],
)
async def test_a_bridge_started_again_skips_no_version(in_the_log: int | None, expected: list[int]) -> None:
    store, rows = MemoryTradeStore(), Rows()
    await store.settings.create(FIRST)
    for version in (1, 2, 3, 4):
        await change(store, version)

    async def between(after: int, before: int) -> list[Settings]:
        return [settings for settings, _ in store.settings.versions if after < settings.version < before]

    async with following(SettingsPublisher(store.settings, between, rows.write, SystemClock(), in_the_log)):
        await rows.until(expected)
    assert rows.versions == expected


@pytest.mark.parametrize(
    ("rows", "expected"),
    [([], None), ([(0, 4), (0, 5)], 5), ([(0, 4), (1, 4), (0, 5)], 4), ([(0, 9), (0, 2)], 2)],
    ids=["no rows", "one partition", "a partition behind", "log of another store before"],
)
def test_the_last_version_is_one_that_every_partition_has(rows: list[tuple[int, int]], expected: int | None) -> None:
    records = [
        Record(
            TICKS, partition, offset, "settings", settings_row(FIRST.model_copy(update={"version": version}), 1, ()), 1
        )
        for offset, (partition, version) in enumerate(rows)
    ]
    assert last_version(records) == expected


async def test_on_real_services_no_version_is_skipped_over_a_restart(kafka_address: str, mongodb_uri: str) -> None:
    await ensure_topics(kafka_address, 1)
    session = Session(
        session_id="publisher",
        mode="paper",
        home=Path(),
        services=Services(kafka=kafka_address, mongodb=mongodb_uri, database="publisher"),
        markets=paper_markets(),
        settlement_currency="USD",
    )
    log = TopicReader(kafka_address, (TICKS,), "latest")
    await retry_until_available(log.open)  # a loaded machine's broker may not answer in time at once
    async with log, await open_store(session) as store:
        await store.settings.create(FIRST)
        async with publishing(session):
            await store.settings.change(FIRST, 1, "test")
            assert await versions_until(log, 2) == [1, 2]
        for version in (2, 3, 4):
            await store.settings.change(FIRST, version, "test")
        async with publishing(session):
            assert await versions_until(log, 5) in ([3, 4, 5], [2, 3, 4, 5])


@asynccontextmanager
async def publishing(session: Session) -> AsyncIterator[None]:
    ready = asyncio.Event()
    task = asyncio.create_task(run_settings_publisher(session, ready.set))
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            await ready.wait()
        yield
    finally:
        task.cancel()
        _, late = await asyncio.wait({task}, timeout=DEADLINE_SECONDS)
        assert late == set()


async def versions_until(log: TopicReader, last: int) -> list[int]:
    """Distinct versions in the log, in their order, up to `last`."""
    versions: list[int] = []
    async with asyncio.timeout(DEADLINE_SECONDS):
        async for record in log.records():
            row = row_of(record.value)
            if row["kind"] != "settings":
                continue
            assert row["bases"] == ["BTC"]
            if row["settings_version"] not in versions:
                versions.append(row["settings_version"])
            if versions[-1] == last:
                return versions
    return versions
