"""From what happens in a real database to the queue: each thing once, over restarts and a history that is lost."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from market.accounting.differences import StoredDifference
from market.decide.circuit_breaker import Failure
from market.decide.market_rules import rules_of
from notices.event_reader import EventReader
from runtime.clock import wall_now
from session.notice_destinations import Destination
from session.session import Services, Session
from store.mongo.store import MongoTradeStore, open_store
from store.queries.notice_events import NoticeEventReader
from store.server.client import connect
from store.server.documents import ARBITRAGES
from tests.market.samples import EUR_MARKET, USD_MARKET
from tests.notices.running import running, traded
from tests.notices.samples import webhook
from tests.services import mongod_process, wait_primary
from tests.store.reservation_requests import SETTINGS, open_books, opportunity, reserved
from tests.store.rolling import SMALL_OPLOG, roll_oplog
from tests.ui.waiting import until

DESK = webhook()
TRADING_ALONE = replace(DESK, name="trading", events=("trading",))


@asynccontextmanager
async def followed(
    reader: NoticeEventReader, session: Session, destination: Destination = DESK
) -> AsyncIterator[EventReader]:
    """Once nothing that follows can be missed."""
    reading = EventReader(reader, session, destination)
    async with running(reading.run()):
        await asyncio.wait_for(reading.begun.wait(), 20)
        yield reading


async def events(reader: NoticeEventReader, destination: str = "desk") -> list[str]:
    return [row.notice.event for row in await reader.notices.waiting(destination)]


async def is_kept(reader: NoticeEventReader, destination: Destination, after: str | None = None) -> bool:
    return (await reader.notices.place(destination)).token not in (None, after)


async def test_trades_switches_and_pauses(reader: NoticeEventReader, session: Session, store: MongoTradeStore) -> None:
    await traded(store, 1)
    async with followed(reader, session) as desk, followed(reader, session, TRADING_ALONE):
        await traded(store, 2)
        settings = await store.settings.change(SETTINGS.model_copy(update={"trading_state": "halted"}), 1, "erika")
        for number in range(settings.breaker_failures):
            await store.health.record("beta", Failure(str(number), "order_rejected"))

        async def are_put() -> bool:
            return len(await events(reader)) == 3 and await events(reader, "trading") == ["trading_halted"]

        await until(are_put)
        assert desk.news.is_set()
    assert await events(reader) == ["trade_closed", "trading_halted", "breaker_opened"], "the first trade is history"
    closed = (await reader.notices.waiting("desk"))[0].notice
    assert closed.line == "Closed BTC alpha → beta 0.01: +1.00 USD net"


async def test_differences_and_what_follows_from_them(
    reader: NoticeEventReader, session: Session, store: MongoTradeStore
) -> None:
    now = wall_now() + 1_000_000
    foreign = StoredDifference("1", "fill_foreign", "beta", "fill-1", "unknown", "sell 1", "reported", now)
    async with followed(reader, session):
        await store.differences.store(foreign)
        await store.differences.store(replace(foreign, difference_id="2", kind="fill_late", handled="healed"))
        await store.differences.settle("1", "acknowledged", "erika")
        closing = {"alpha|BTC/USD": rules_of(USD_MARKET, "cancel_only")}
        await store.settings.amend(lambda now: now.model_copy(update={"market_rules": closing}), "alpha")

        async def are_put() -> bool:
            return "market_closed" in await events(reader)

        await until(are_put)
    assert sorted(await events(reader)) == [
        "difference_found",
        "difference_settled",
        "exchange_reduce_only",
        "market_closed",
    ]


async def test_what_happens_while_it_is_away_is_reported_and_nothing_twice(
    reader: NoticeEventReader, session: Session, store: MongoTradeStore
) -> None:
    async with followed(reader, session):
        await traded(store, 1)
        await until(lambda: is_kept(reader, DESK))
    await traded(store, 2)
    async with followed(reader, session):
        await traded(store, 3)

        async def are_put() -> bool:
            return len(await events(reader)) == 3

        await until(are_put)
    ids = [row.notice.facts["arbitrage_id"] for row in await reader.notices.waiting("desk")]
    assert ids == ["opportunity-1", "opportunity-2", "opportunity-3"]


async def test_the_present_is_reported_once_however_often_it_is_looked_at(
    reader: NoticeEventReader, session: Session, store: MongoTradeStore
) -> None:
    halting = SETTINGS.model_copy(update={"max_daily_loss": Decimal("0.5"), "breaker_pause_ms": 1})
    await store.settings.change(halting, 1, "erika")
    async with followed(reader, session):
        for number in range(SETTINGS.breaker_failures):
            await store.health.record("beta", Failure(str(number), "order_rejected"))
    for _ in range(2):
        async with followed(reader, session) as reading:
            present = await reader.present()
            lost = replace(present, counters=replace(present.counters, day_net=-present.settings.max_daily_loss))  # type: ignore[union-attr]  # there are settings
            await reading.check_alerts(lost)
            await reading.check_alerts(lost)
    assert sorted(await events(reader)) == ["breaker_closed", "breaker_opened", "daily_loss_reached"]


async def test_all_else_is_reported_if_the_disk_cannot_be_asked(
    reader: NoticeEventReader, session: Session, store: MongoTradeStore
) -> None:
    async with followed(reader, replace(session, home=session.home / "gone")) as reading:
        present = await reader.present()
        loss = -SETTINGS.max_daily_loss
        await reading.check_alerts(replace(present, counters=replace(present.counters, day_net=loss)))
    assert await events(reader) == ["daily_loss_reached"]


async def test_a_single_leg_is_reported_once_it_has_lasted_and_at_once_where_asked_for(
    reader: NoticeEventReader, session: Session, store: MongoTradeStore
) -> None:
    at_once = replace(DESK, name="at-once", single_leg_seconds=0)
    async with followed(reader, session) as desk, followed(reader, session, at_once):
        made = await reserved(store, opportunity("opportunity-1", sequence=1), "0.01")
        client = connect(session.services.mongodb)
        arbitrages = client[session.services.database][ARBITRAGES]
        stands = {"what": "single_leg", "at": wall_now(), "actor": "bot", "token": 1, "reason": None}
        await arbitrages.update_one(
            {"_id": made.arbitrage_id}, {"$set": {"state": "single_leg"}, "$push": {"history": stands}}
        )

        async def is_reported_at_once() -> bool:
            return await events(reader, "at-once") == ["single_leg_opened"]

        await until(is_reported_at_once)
        present = await reader.present()
        assert [one.arbitrage_id for one in present.single_legs] == [made.arbitrage_id]
        for seconds, reported in ((5, []), (30, ["single_leg_opened"]), (31, ["single_leg_opened"])):
            now = present.counters.now + seconds * 1_000_000
            await desk.check_alerts(replace(present, counters=replace(present.counters, now=now)))
            assert await events(reader) == reported
    client.close()


async def test_lost_history_is_said_once_and_it_goes_on_from_the_present(tmp_path: Path) -> None:
    with mongod_process(tmp_path, SMALL_OPLOG) as process:
        await wait_primary(process)
        session = Session(
            "session-1", "paper", tmp_path, Services("", process.address, "rolled"), (USD_MARKET, EUR_MARKET), "USD"
        )
        client = connect(process.address)
        reader = NoticeEventReader(session)
        async with await open_store(session) as store:
            await open_books(store)
            async with followed(reader, session):
                await traded(store, 1)
                await until(lambda: is_kept(reader, DESK))
            await traded(store, 2)
            await store.settings.change(SETTINGS.model_copy(update={"trading_state": "reduce_only"}), 1, "erika")
            await roll_oplog(client)
            for number in (3, 4):
                async with followed(reader, session):

                    async def is_said() -> bool:
                        return "history_lost" in await events(reader)

                    await until(is_said)
                    if number == 3:
                        await store.settings.change(SETTINGS.model_copy(update={"version": 2}), 2, "erika")

                        async def is_resumed() -> bool:
                            return "trading_resumed" in await events(reader)

                        await until(is_resumed)
        reported = [row.notice for row in await reader.notices.waiting("desk")]
        await reader.close()
        client.close()
    assert sorted(notice.event for notice in reported) == [
        "history_lost",
        "trade_closed",
        "trading_reduce_only",
        "trading_resumed",
    ]
    (lost,) = [notice for notice in reported if notice.event == "history_lost"]
    assert "MongoDB no longer has the changes" in lost.line
    assert lost.line.endswith("trading is reduce_only, 0 single legs open")
