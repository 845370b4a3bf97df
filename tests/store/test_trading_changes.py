"""Trades, fills and rejections of a session, change by change, from its start and from any place after it."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from market.instruments.orders import Fill
from market.trade.arbitrages import Arbitrage
from session.session import Session
from store.mongo.store import MongoTradeStore
from store.queries.session_export import ExportedFill
from store.queries.trading_changes import ArbitrageSteps, RejectionCount, Trading, TradingChange, TradingChanges
from store.server.client import connect
from tests.services import mongod_process, wait_primary
from tests.store.rolling import SMALL_OPLOG, roll_oplog
from tests.store.traded_session import new_session, rejection, session_at, traded

DEADLINE_SECONDS = 60
EVERYTHING: tuple[Trading, ...] = ("trades", "fills", "rejections")


async def read(
    session: Session, wanted: Sequence[Trading], count: int, token: str | None = None
) -> list[TradingChange]:
    async with asyncio.timeout(DEADLINE_SECONDS), TradingChanges(session, wanted, token) as changes:
        found = [change for _ in range(count) if (change := await changes.next()) is not None]
    assert len(found) == count
    return found


def fills_of(arbitrage: Arbitrage) -> list[Fill]:
    return [fill for leg in arbitrage.legs for fill in leg.fills]


async def test_each_change_says_what_it_brought(mongodb_uri: str) -> None:
    async with new_session(mongodb_uri) as (session, store):
        ended = await traded(store)
        changes = [change.what for change in await read(session, EVERYTHING, 7)]
    steps = [number for what in changes if isinstance(what, ArbitrageSteps) for number in what.numbers]
    assert steps == list(range(len(ended.history)))
    assert [what.fill for what in changes if isinstance(what, ExportedFill)] == fills_of(ended)
    counted = [what for what in changes if isinstance(what, RejectionCount)]
    assert [(one.rejection.count, one.number, one.rejection.opportunity_id) for one in counted] == [
        (1, 0, "first"),
        (3, 1, "first"),
    ]


async def test_from_any_place_the_rest_is_read_and_nothing_else(mongodb_uri: str) -> None:
    async with new_session(mongodb_uri) as (session, store):
        await traded(store)
        # of a session that nobody asked for
        async with MongoTradeStore(connect(mongodb_uri), session.services.database, "another") as other:
            await other.reject([replace(rejection("third"), reason="crossed")])
        await store.reject([replace(rejection("fourth"), reason="crossed", rejected_at=0)])
        whole = await read(session, EVERYTHING, 8)
        assert [change.at for change in whole] == sorted(change.at for change in whole)
        for number in range(7):
            assert await read(session, EVERYTHING, 7 - number, whole[number].token) == whole[number + 1 :]
        fills = [change.what for change in whole if isinstance(change.what, ExportedFill)]
        assert [change.what for change in await read(session, ("fills",), 2)] == fills


async def test_what_the_server_no_longer_has_is_said(tmp_path: Path) -> None:
    with mongod_process(tmp_path, SMALL_OPLOG) as process:
        await wait_primary(process)
        client = connect(process.address)
        session = session_at(process.address, "rolled")
        async with MongoTradeStore(client, "rolled", session.session_id) as store:
            await store.prepare()
            await store.reject([rejection("first")])
            await roll_oplog(client)
            async with asyncio.timeout(DEADLINE_SECONDS), TradingChanges(session, EVERYTHING, None) as changes:
                assert changes.is_behind
                assert await changes.next() is None
                await store.reject([replace(rejection("second"), rejected_at=0)])
                change = await changes.next()
                assert change is not None
                assert isinstance(change.what, RejectionCount)
                assert change.what.rejection.opportunity_id == "second"
        client.close()
