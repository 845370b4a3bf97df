"""A dry run gives what the published app gave over the same log, row for row with ids: all shipped apps, on a real
Kafka and MongoDB, over the running log and over what was recorded of it."""

import asyncio
import math
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson
import pytest

from cep.apps.hosts.hosted_app import AppSource
from launch.dry_runs.dry_run import ran_over
from launch.dry_runs.recorded_app_log import recorded_partitions
from launch.dry_runs.running_app_log import LogRow, running_log
from launch.published.hosted import published_source
from launch.setup.asked_work import Row
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Rejection
from runtime.clock import SystemClock, wall_now
from session.session import Session
from store.mongo.store import MongoTradeStore
from store.records.apps import AppVersion
from streams.message_format import marker_row, row_of
from streams.topic_admin import ensure_topics
from streams.topics import TICKS
from tests.cep.logs import write_ticks
from tests.launch.published.published_world import (
    TERMS,
    TIMEOUT_SECONDS,
    PublishedWorld,
    log_begins,
    published,
)
from tests.services import note_session
from tests.store.traded_session import new_session, traded

pytestmark = pytest.mark.slow
FOLDER = Path(__file__).parents[3] / "apps"
TEXTS = {path.stem: path.read_text() for path in sorted(FOLDER.glob("*.app"))}
MARKETS = (("alpha", "BTC/USD", "USD"), ("beta", "BTC/EUR", "EUR"), ("gamma", "BTC/USD", "USD"))
MINUTES = 60.0
STEP = MICROSECONDS // 4
STEPS = 640
AHEAD = 3_600 * MICROSECONDS
"""The log's time is ahead of the wall's, so that rows that users send come at the time of the last quote."""
HOURS = 24 * 15
SENT: Mapping[str, tuple[tuple[str, dict[str, Any]], ...]] = {
    "duplicate-order": tuple(
        ("Orders", {"order_id": one, "exchange": "alpha", "symbol": "BTC/USD", "side": "buy", "amount": 1.5})
        for one in ("first", "second")
    ),
    "loyal-customer": (
        *(("Purchases", {"customer": "ada", "amount": 5.0}) for _ in range(3)),
        ("Clicks", {"customer": "ada", "offer": "=1+1"}),
    ),
    "milestone": tuple(("Purchases", {"customer": "ada", "amount": one}) for one in (60.0, 70.0)),
    "entity-signals": tuple(("Measurements", {"entity": "pump", "value": one}) for one in (1.0, 3.0)),
    "payment-patterns": tuple(
        ("Payments", {"payment": one, "payer": "ada", "amount": 20.0}) for one in ("first", "second")
    ),
    "windowed-counters": tuple(("Events", {"entity": "pump", "value": one}) for one in (1.0, 3.0)),
    "overdue-escalation": (("Invoices", {"invoice": "7", "payer": "ada", "amount": 12.5}),),
    "churn": (("SignIns", {"customer": "ada"}),),
    "overdue-payment": (("Reminders", {"invoice": "7", "amount": 12.5}),),
}
"""By app, what users send into its plain streams."""
LATE = ("churn", "overdue-payment", "overdue-escalation")
"""Their rows come after days of the log."""
SILENT = ("regional-average", "exchange-signals")
"""The one gives rows in a session with regions alone, the other if delays of minutes rise and fall."""


@dataclass(frozen=True, slots=True)
class World:
    session: Session
    store: MongoTradeStore
    published: PublishedWorld
    begin: int
    """The time of the log's first row, microseconds."""

    def source(self, name: str) -> AppSource:
        return published_source(self.session, AppVersion(name, 1, TEXTS[name], "ada", 1), TERMS)


@pytest.fixture
async def world(
    mongodb_uri: str, kafka_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[World]:
    await ensure_topics(kafka_address, 1)
    async with new_session(mongodb_uri) as (opened, store):
        session = replace(
            opened,
            services=replace(opened.services, kafka=kafka_address, partitions=1),
            home=tmp_path,
            started_at=wall_now(),
            mode="paper",
            upkeep=replace(opened.upkeep, recordings_mb=100),
        )
        note_session(session)
        monkeypatch.setenv("ARBITRAGE_HOME", str(tmp_path))
        begin = wall_now() + AHEAD
        # rows of the session from before its detection began, which are no app's
        await write_ticks(kafka_address, [quote(*MARKETS[0], begin, number, 55.5, 1.0) for number in range(5)])
        first = await log_begins(session)
        async with published(session, store.apps, first) as running:
            yield World(session, store, running, begin)


def quote(exchange: str, symbol: str, currency: str, at: int, number: int, bid: float, bps: float) -> bytes:
    market = {"kind": "quote", "exchange": exchange, "symbol": symbol, "base": "BTC", "quote_currency": currency}
    best = {"bid": f"{bid:.4f}", "bid_amount": "1", "ask": f"{bid * (1 + bps / 10_000):.6f}", "ask_amount": "2"}
    return orjson.dumps({**market, **best, "exchange_time": at, "received_time": at, "sequence": number})


def probe(at: int) -> bytes:
    return marker_row("probe", "BTC", f"probe-{at}", at)


def quotes(begin: int) -> Iterator[bytes]:
    """Yield prices that go up and down, with one that is four times too high, a market that is silent for a while, and
    spreads that double twice."""
    yield probe(begin)
    for step in range(STEPS):
        at, bps = begin + step * STEP, 2.0 ** ((step - 100) // 20) if 100 <= step < 180 else 1.0
        for number, (exchange, symbol, currency) in enumerate(MARKETS):
            if exchange == "beta" and 200 <= step < 260:
                continue
            bid = 100.0 + 5.0 * math.sin(step / 40 + number) + step % 3 / 100
            is_odd = exchange == "alpha" and step == 400
            yield quote(exchange, symbol, currency, at, step, bid * (4.0 if is_odd else 1.0), bps)


def rejections(begin: int) -> list[Rejection]:
    return [
        Rejection(
            *(f"rejection-{number}", f"opportunity-{number}", "BTC", "alpha", partner, "alpha", "exchange_paused"),
            *(7.5, Decimal(1), begin + number * MICROSECONDS),
        )
        for number, partner in enumerate(("beta", "gamma", "beta"))
    ]


async def until_taken(world: PublishedWorld, name: str) -> None:
    """Wait until the app has had a row, so that its clock is the log's."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while not (await world.door.status(name))["offsets"].get("0"):
            await SystemClock().sleep(0.02)


async def log_up_to(world: World, source: AppSource, last: int) -> list[LogRow]:
    """Return the app's log as a dry run over the last minutes reads it, once it has the row `last` of `ticks`."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while True:
            log = [*await running_log(source, MINUTES)]
            if any(_offset_in_ticks(source, row) >= last for row in log):
                return log
            await SystemClock().sleep(0.05)


def _offset_in_ticks(source: AppSource, row: LogRow) -> int:
    _, offset, _, values = row
    if not source.is_merged:
        return offset
    return int(values["offset"]) if values["topic"] == TICKS else -1


def dry(source: AppSource, log: Iterable[LogRow]) -> list[Row]:
    return ran_over(source, iter(log), lambda _, __: None).rows


def given(messages: Iterable[bytes], until: int) -> list[Row]:
    """Return the rows of a published app up to that row of its log, each once, as a dry run shows them."""
    rows = {row["id"]: row for row in map(row_of, messages) if int(row["id"].split(":")[2]) <= until}
    return [
        {"id": one["id"], "stream": one["stream"], "time": one["time"] * 1_000, "values": one["values"]}
        for one in rows.values()
    ]


async def check(world: World, name: str, last: int) -> None:
    """Compare the dry run over the running log with what the published app has written."""
    source = world.source(name)
    log = await log_up_to(world, source, last)
    tried = dry(source, log)
    assert (name, bool(tried)) == (name, name not in SILENT)
    wanted = {row["id"] for row in tried}
    if not wanted:
        return
    found = await world.published.written(source.label, lambda rows: wanted <= {row_of(one)["id"] for one in rows})
    assert (name, given(found, log[-1][1])) == (name, tried)


async def stop(world: World, name: str) -> None:
    await world.published.apps.order(name, "stopped", "ada")
    await world.published.until(name, "stopped")


async def check_recorded(world: World, name: str) -> None:
    """Compare the dry run over the recorded session, which kept the app's input log, with what the app had written."""
    source = world.source(name)
    (partition,) = recorded_partitions(world.session.home, source, world.session.session_id)
    log = [(partition.partition, *message) for message in partition.messages()]
    tried, until = dry(source, log), log[-1][1]
    wanted = {row["id"] for row in tried}
    found = await world.published.written(source.label, lambda rows: wanted <= {row_of(one)["id"] for one in rows})
    assert (name, given(found, until)) == (name, tried)


async def send(world: World, names: Iterable[str]) -> None:
    for name in names:
        await until_taken(world.published, name)
        for stream, values in SENT.get(name, ()):
            await world.published.door.inject(name, stream, values)


async def test_all_shipped_apps_gave_what_their_dry_runs_give(world: World) -> None:
    live, log = world.published, [*quotes(world.begin)]
    soon = [name for name in TEXTS if name not in LATE]
    for name, text in TEXTS.items():
        await live.publish(name, text)
    for name in TEXTS:
        await live.until(name, "running")
    await live.write(log)
    await send(world, soon)
    await traded(world.store)
    await world.store.reject(rejections(world.begin))
    end = world.begin + STEPS * STEP
    ends = [probe(end + number * 60 * MICROSECONDS) for number in range(1, 4)]
    await live.write(ends)
    last = live.first + len(log) + len(ends) - 1
    for name in soon:
        await check(world, name, last)
        await stop(world, name)
    await send(world, LATE)
    await live.write(probe(end + number * 3_600 * MICROSECONDS) for number in range(1, HOURS))
    for name in LATE:
        await check(world, name, last + HOURS - 1)
        await stop(world, name)
    for name in TEXTS:
        if world.source(name).is_merged:
            await check_recorded(world, name)
