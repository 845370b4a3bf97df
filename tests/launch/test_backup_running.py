"""A backup of a session that trades: database and records of the accounts are of one moment."""

import asyncio
import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from launch.backup.journal_cut import until_first_unknown
from launch.backup.make import BackupOptions, run_backup
from launch.backup.restore import run_restore
from launch.backup.temporary_mongod import temporary_mongod
from launch.errors import CannotStartError
from launch.setup.data_dir import locked
from market.trade.arbitrages import Leg
from market.trade.leases import UNFENCED
from market.trade.unwinding import client_order_id
from session.session import Session
from simulators.matching.exchange_journal import Entry, Journal, read_journal
from simulators.matching.order_records import SimulatedOrder
from store.backups.database_dump import blocking_database, granted_orders
from store.errors import StoreError
from store.mongo.store import MongoTradeStore, open_store
from store.server.embedded_mongod import mongod_program
from tests.cep.logs import session as session_of
from tests.launch.audited_world import booked_fill
from tests.launch.traded_folder import DATABASE
from tests.services import note_session
from tests.store.booking import finish_leg
from tests.store.reservation_requests import FREE, close, filled, open_books, opportunity, reserved

SOME = 5
AT = 1_700_000_000_000_000


def order_of(leg: Leg) -> SimulatedOrder:
    names = (f"order-{leg.client_order_id}", 1, leg.client_order_id, leg.symbol, leg.side)
    return SimulatedOrder(*names, leg.amount, leg.limit_price, True, AT)


class Accounts:
    """Two exchanges that fill each order at once, and record it."""

    def __init__(self, home: Path) -> None:
        self.journals = {name: Journal(home / "exchanges" / f"{name}.jsonl") for name in ("alpha", "beta")}

    def fill(self, leg: Leg) -> None:
        (fill,) = filled(leg).fills
        booked = replace(booked_fill(fill, f"order-{leg.client_order_id}"), number=1, filled_at=AT)
        self.journals[leg.exchange].write(Entry(orders=(order_of(leg),), fills=(booked,)))

    def close(self) -> None:
        for journal in self.journals.values():
            journal.close()


async def trade(store: MongoTradeStore, accounts: Accounts, begun_some: asyncio.Event, ended: asyncio.Event) -> int:
    """Make one arbitrage after the other. Returns how many."""
    number = 0
    while not ended.is_set():
        number += 1
        begun = await reserved(store, opportunity(f"opportunity-{number}", number), "0.001")
        for leg in begun.legs:
            accounts.fill(leg)
            await finish_leg(store, begun.arbitrage_id, leg.role, filled(leg), close, UNFENCED)
        if number == SOME:
            begun_some.set()
    return number


async def backup_while_trading(session: Session, file: Path) -> int:
    begun_some, ended, accounts = asyncio.Event(), asyncio.Event(), Accounts(session.home)
    async with await open_store(session) as store:
        await store.prepare()
        await open_books(store, FREE)
        trading = asyncio.create_task(trade(store, accounts, begun_some, ended))
        await begun_some.wait()
        assert await asyncio.to_thread(run_backup, session.home, BackupOptions(file), print) == 0
        ended.set()
        number = await trading
    accounts.close()
    return number


def test_a_session_that_trades_is_copied_as_of_one_moment(tmp_path: Path) -> None:
    try:
        mongod_program()
    except StoreError as reason:
        pytest.skip(str(reason))
    home, file, restored = tmp_path / "home", tmp_path / "backup", tmp_path / "restored"
    home.mkdir()
    with temporary_mongod(home, DATABASE) as address, locked(home):
        made = session_of(home)
        session = replace(made, services=replace(made.services, mongodb=address, database=DATABASE))
        note_session(session)
        number = asyncio.run(backup_while_trading(session, file))
    assert run_restore(restored, file, print) == 0
    with temporary_mongod(restored, DATABASE) as address, blocking_database(address, DATABASE) as database:
        granted = granted_orders(database, 0)
    recorded = {
        (exchange, order.client_order_id)
        for exchange in ("alpha", "beta")
        for entry in read_journal(restored / "exchanges" / f"{exchange}.jsonl")
        for order in entry.orders
    }
    assert recorded <= granted
    assert 2 * SOME <= len(recorded) < 2 * number


def test_a_session_that_is_starting_is_told(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(CannotStartError, match="is starting"):
        run_backup(tmp_path, BackupOptions(tmp_path / "backup"), print)


def line(**names: str) -> bytes:
    return json.dumps({"orders": [names], "amount": str(Decimal(17))}).encode() + b"\n"


FIRST, SECOND = line(client_order_id="a", order_id="1"), line(client_order_id="b", order_id="2")
OURS = client_order_id("an arbitrage", "buy")
BARE = line(client_order_id=OURS.replace("-", ""), order_id="3")


@pytest.mark.parametrize(
    ("lines", "unknown", "kept"),
    [
        ([FIRST, SECOND], frozenset(), [FIRST, SECOND]),
        ([FIRST, SECOND], frozenset({"b"}), [FIRST]),
        ([FIRST, SECOND], frozenset({"2"}), [FIRST]),
        ([FIRST, SECOND, FIRST], frozenset({"b"}), [FIRST]),
        ([FIRST, SECOND], frozenset({"17"}), [FIRST, SECOND]),
        ([FIRST, SECOND[:-3]], frozenset(), [FIRST]),
        # the exchange takes no hyphens
        ([FIRST, BARE], frozenset({OURS}), [FIRST]),
        ([FIRST, BARE], frozenset({OURS.replace("-", "")}), [FIRST]),
    ],
)
def test_a_record_is_cut_before_the_first_unknown_order(
    lines: list[bytes], unknown: frozenset[str], kept: list[bytes]
) -> None:
    assert list(until_first_unknown(lines, unknown)) == kept
