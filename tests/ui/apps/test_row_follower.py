"""In which order rows of the topic `apps` are taken: fresh ones first, each once, whatever fails meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from confluent_kafka import Producer

from market.decide.settings_entries import EntryChange
from runtime.clock import SystemClock, wall_now
from session.session import Services, Session
from store.app_actions import AppAction, app_author
from store.errors import StoreError
from store.memory.parts import MemorySettings
from store.records.audit_entry import AuditEntry
from streams.topic_admin import client_settings, ensure_input_log
from tests.market.samples import MARKETS, settings_of
from tests.ui.waiting import until
from ui.apps.app_actions import AppActions
from ui.apps.left_out_actions import LeftOutActions
from ui.apps.row_follower import ROWS_BETWEEN_LOOKS, RowFollower

TIMEOUT_SECONDS = 20
HOURS = 2
"""So old is what lies behind."""


@dataclass
class Taken:
    """Takes rows into a list; fails once at each of `fails`."""

    rows: list[bytes] = field(default_factory=list)
    fails: set[bytes] = field(default_factory=set)

    async def take(self, row: bytes) -> None:
        if row in self.fails:
            self.fails.discard(row)
            raise StoreError("not as this version writes it")
        self.rows.append(row)


@dataclass(frozen=True)
class Log:
    """A topic of its own, of two partitions."""

    kafka: str
    topic: str

    async def write(self, *rows: bytes, hours: float = 0, partition: int = 0) -> None:
        """Write rows that came so long ago."""
        producer = Producer(client_settings(self.kafka))
        at = wall_now() // 1_000 - int(hours * 3_600_000)
        for row in rows:
            producer.produce(self.topic, row, partition=partition, timestamp=at)
        await asyncio.to_thread(producer.flush, TIMEOUT_SECONDS)


async def log_of(kafka: str, name: str) -> Log:
    await ensure_input_log(kafka, f"app-rows-followed-{name}", 2)
    return Log(kafka, f"app-rows-followed-{name}")


async def actions_with_an_old_entry() -> AppActions:
    """Return those of a session whose settings have had a pause by an app for long."""
    clock = SystemClock()
    settings = MemorySettings(clock)
    await settings.create(settings_of())
    pause = AppAction(EntryChange("disabled_assets", "BTC", value=True), clock.now(), 6)
    entry = AuditEntry("action row 1", app_author("guard"), "app", "app", "", "app.pause", "disabled_assets BTC")
    await settings.act(pause, entry)
    session = Session("s", "paper", Path(), Services("nowhere:1", "", ""), MARKETS, "USD")

    class LongSince(AppActions):
        """Its entry was made before all rows of the topic."""

        async def since(self) -> int:
            return await super().since() - int(2 * HOURS * 3_600_000_000)

    return LongSince(session, settings, clock, lambda _: None, lambda _: None, LeftOutActions(), clock.now())


@asynccontextmanager
async def reading(follower: RowFollower) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(follower.read())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def numbered(count: int, what: str = "old") -> list[bytes]:
    return [f"{what} {number}".encode() for number in range(count)]


async def test_a_fresh_row_does_not_wait_behind_hours_of_old_ones(kafka_address: str) -> None:
    log, taken = await log_of(kafka_address, "fresh-first"), Taken()
    old = numbered(2 * ROWS_BETWEEN_LOOKS + 10)
    await log.write(*old, hours=HOURS)
    await log.write(b"fresh")
    async with reading(RowFollower(log.kafka, taken.take, await actions_with_an_old_entry(), log.topic)):
        await until(lambda: len(taken.rows) >= len(old) + 1)
    assert taken.rows == [b"fresh", *old]


async def test_rows_that_come_meanwhile_do_not_wait_either(kafka_address: str) -> None:
    log = await log_of(kafka_address, "meanwhile")
    old = numbered(3 * ROWS_BETWEEN_LOOKS)

    class Writes(Taken):
        async def take(self, row: bytes) -> None:
            await super().take(row)
            if row == old[10]:
                await log.write(b"fresh", partition=1)

    taken = Writes()
    await log.write(*old, hours=HOURS)
    async with reading(RowFollower(log.kafka, taken.take, await actions_with_an_old_entry(), log.topic)):
        await until(lambda: len(taken.rows) > len(old))
    assert taken.rows.index(b"fresh") <= ROWS_BETWEEN_LOOKS
    assert [row for row in taken.rows if row != b"fresh"] == old


async def test_without_old_entries_old_rows_are_left_out(kafka_address: str) -> None:
    log, halts, acts = await log_of(kafka_address, "old"), Taken(), Taken()
    await log.write(*numbered(3), hours=HOURS)
    await log.write(b"fresh")
    actions = await actions_with_an_old_entry()
    none = AppActions(
        actions.session, actions.settings, actions.clock, actions.changed, actions.waits, LeftOutActions(), 0
    )
    followers = RowFollower(log.kafka, halts.take, None, log.topic), RowFollower(log.kafka, acts.take, none, log.topic)
    async with reading(followers[0]), reading(followers[1]):
        await until(lambda: bool(halts.rows and acts.rows))
        await log.write(b"last")
        await until(lambda: b"last" in halts.rows and b"last" in acts.rows)
    assert halts.rows == acts.rows == [b"fresh", b"last"]


async def test_after_a_failure_each_row_is_taken_once(kafka_address: str) -> None:
    log, old = await log_of(kafka_address, "failures"), numbered(50)
    taken = Taken(fails={b"fresh 1", old[20]})
    await log.write(*old, hours=HOURS)
    await log.write(*numbered(3, "fresh"))
    follower = RowFollower(log.kafka, taken.take, await actions_with_an_old_entry(), log.topic)
    for _ in range(2):
        with pytest.raises(StoreError):
            await follower.read()
    async with reading(follower):
        await until(lambda: len(taken.rows) >= len(old) + 3)
    assert taken.rows == [*numbered(3, "fresh"), *old]


async def test_what_came_in_an_outage_is_taken_behind_what_is_fresh_after_it(kafka_address: str) -> None:
    log, taken = await log_of(kafka_address, "outage"), Taken()
    await log.write(*numbered(3), hours=HOURS)
    follower = RowFollower(log.kafka, taken.take, await actions_with_an_old_entry(), log.topic)
    async with reading(follower):
        await until(lambda: len(taken.rows) == 3)
        await log.write(b"last before", hours=1.5)
        await until(lambda: len(taken.rows) == 4)
    missed = numbered(5, "missed")
    await log.write(*missed, hours=1)
    await log.write(b"fresh")
    async with reading(follower):
        await until(lambda: len(taken.rows) >= 10)
    assert taken.rows == [*numbered(3), b"last before", b"fresh", *missed]
    halts = replace(follower, actions=None)
    async with reading(halts):
        await log.write(b"end")
        await until(lambda: b"end" in taken.rows)
    assert taken.rows[10:] == [b"end"]


async def test_rows_are_read_since_the_oldest_entry_of_an_app_was_made() -> None:
    actions = await actions_with_an_old_entry()
    (entry,) = await actions.settings.entries_of_apps()
    assert await AppActions.since(actions) == entry.at - 60_000_000
