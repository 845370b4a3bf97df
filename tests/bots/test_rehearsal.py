"""A rehearsed trade goes as far as a real one, and leaves nothing behind."""

import asyncio
import threading
from collections.abc import AsyncIterator
from decimal import Decimal

import pytest
from pymongo import UpdateOne

from bots.rehearsal import BUY, MESSAGE, SELL, rehearse, rehearse_steps, rehearsed_reservation
from exchanges.paper.account import PaperAccount
from exchanges.ports.account import TradingAccount
from market.trade.leases import Actor
from store.errors import FencedOutError, StoreUnavailableError
from store.mongo.store import MongoTradeStore
from store.server.client import connect, database_of
from store.server.documents import CLAIMS, SESSION_CLAIM
from store.server.transactions import Transaction, in_transaction
from store.unit_of_work import Work
from streams.message_format import opportunity_of, row_of
from tests.bots.opportunity_rows import opportunity_row
from tests.databases import lent_database
from tests.store.command_trace import CommandTrace

WRITTEN = ["insert", "insert", "update", "update", "abortTransaction"]
"""The arbitrage and its step, balances, claims."""


@pytest.fixture
async def database(mongodb_uri: str) -> AsyncIterator[str]:
    async with lent_database(mongodb_uri) as name:
        yield name


def test_its_message_is_as_detection_writes_one() -> None:
    read = opportunity_of(row_of(MESSAGE), 1_000_000)
    assert opportunity_of(row_of(opportunity_row(read)), 1_000_000) == read  # type: ignore[arg-type]  # no marker
    assert row_of(MESSAGE).keys() == row_of(opportunity_row(read)).keys()  # type: ignore[arg-type]


def test_both_legs_are_asked_for() -> None:
    reservation = rehearsed_reservation("one")
    assert [(one.leg.exchange, one.leg.side) for one in reservation.legs] == [(BUY, "buy"), (SELL, "sell")]
    assert reservation.amount == Decimal("0.0162")
    assert reservation.context is not None


async def contents(mongodb_uri: str, name: str) -> dict[str, list[object]]:
    client = connect(mongodb_uri)
    found = database_of(client, name)
    names = await found.list_collection_names()
    rows: dict[str, list[object]] = {one: [row async for row in found[one].find().sort("_id", 1)] for one in names}
    client.close()
    return rows


async def test_both_transactions_write_all_that_a_trade_writes_and_nothing_stays(
    mongodb_uri: str, database: str
) -> None:
    trace = CommandTrace()
    async with MongoTradeStore(connect(mongodb_uri, listeners=[trace]), database, "session-1") as store:
        await store.prepare()
        lease = await store.leases.acquire("kraken", "one")
        assert lease is not None
        before = await contents(mongodb_uri, database)
        trace.sent.clear()
        await rehearse_steps(store, lease.actor)
        names = [one.name for one in trace.sent]
        # reads, then what a reservation writes; reads, then what a booking writes: fills are inserted, too
        assert [name for name in names if name != "aggregate"][:5] == WRITTEN
        assert names.count("abortTransaction") == 2
        assert names.count("insert") == 5
        assert "commitTransaction" not in names
        assert await contents(mongodb_uri, database) == before


async def test_a_real_trade_beside_it_meets_nothing_of_it(mongodb_uri: str, database: str) -> None:
    """While another transaction has written the row that all trades count on, the rehearsal goes through."""
    async with MongoTradeStore(connect(mongodb_uri), database, "session-1") as store:
        await store.prepare()
        lease = await store.leases.acquire("kraken", "one")
        assert lease is not None
        is_written, may_end = asyncio.Event(), threading.Event()
        loop = asyncio.get_running_loop()

        def hold(transaction: Transaction) -> None:
            transaction.write(CLAIMS, [UpdateOne({"_id": SESSION_CLAIM}, {"$set": {"open_arbitrages": 1}})])
            loop.call_soon_threadsafe(is_written.set)
            may_end.wait(30)

        client = connect(mongodb_uri)
        holding = asyncio.create_task(in_transaction(database_of(client, database), hold))
        await is_written.wait()
        try:
            await rehearse_steps(store, lease.actor)
        finally:
            may_end.set()
        await holding
        client.close()


class StoreAway:
    """A store that fails as it is told."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error

    async def in_discarded_unit_of_work(self, work: Work[object]) -> None:
        if self.error is not None:
            raise self.error


class NoAccount(PaperAccount):
    """Has nothing to rehearse."""

    def __init__(self) -> None:
        """Open nothing: it is never asked."""

    @property
    def exchange(self) -> str:
        return "alpha"


async def test_what_fails_keeps_no_bot_from_starting(caplog: pytest.LogCaptureFixture) -> None:
    account: TradingAccount = NoAccount()
    await rehearse(StoreAway(StoreUnavailableError("away")), account, Actor("one", "alpha", 1))
    assert "not rehearsed" in caplog.text


async def test_a_process_that_was_fenced_out_goes_no_further() -> None:
    with pytest.raises(FencedOutError):
        await rehearse(StoreAway(FencedOutError("gone")), NoAccount(), Actor("one", "alpha", 1))
