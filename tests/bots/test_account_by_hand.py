"""A person, or another program, uses the account that a bot trades on: on the simulated exchanges over HTTP, with the
books in MongoDB."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pytest

from bots.reconcile.reconciler import Reconciliation
from exchanges.accounts.exchange_account import ExchangeAccount, open_account
from exchanges.simulated_markets import taker_fees
from market.accounting.differences import PersonsVerdict
from market.decide.settings import Settings
from market.money import ZERO
from market.trade.leases import UNFENCED
from market.trade.reservation_state import BalanceRow
from market.trade.unwinding import advancing
from store.mongo.store import MongoTradeStore
from store.server.client import connect
from tests.databases import lent_database
from tests.exchanges.served import TRADED, Served, order_on, served

EXCHANGE = "kraken"
MARKET = next(market for market in TRADED if market.exchange == EXCHANGE and market.base == "BTC")
SETTINGS = Settings(enabled_exchanges=tuple(taker_fees()), taker_fees=taker_fees())


@dataclass
class Desk:
    world: Served
    store: MongoTradeStore
    account: ExchangeAccount
    reconciliation: Reconciliation

    async def rounds(self, count: int) -> list[str]:
        return [one.kind for _ in range(count) for one in await self.reconciliation.round()]

    async def row(self, currency: str) -> BalanceRow:
        rows = await self.store.balances.rows()
        return next(row for row in rows if (row.exchange, row.currency) == (EXCHANGE, currency))

    async def reduce_only(self) -> list[str]:
        return [one.exchange for one in await self.store.health.all() if one.unexplained_since]

    async def settle_all(self, verdict: PersonsVerdict = "acknowledged") -> None:
        for one in await self.store.differences.stored():
            if one.is_open:
                is_balance = one.kind == "balance_unexplained"
                await self.store.differences.settle(
                    one.difference_id, verdict if is_balance else "acknowledged", "owner"
                )

    async def are_books_exact(self) -> bool:
        rows = await self.store.balances.rows()
        own = {row.currency: row.free for row in rows if row.exchange == EXCHANGE and row.free}
        theirs = {name: amount for name, amount in (await self.account.balances()).items() if amount}
        opening, _ = await self.store.balances.of_session()
        booked = {name: amount for name, amount in opening[EXCHANGE].items() if amount}
        return own == theirs == booked and all(row.held == ZERO == row.unexplained for row in rows)


@pytest.fixture
async def desk(tmp_path: Path, mongodb_uri: str) -> AsyncIterator[Desk]:
    async with (
        lent_database(mongodb_uri) as name,
        served(tmp_path, only=(EXCHANGE,)) as world,
        MongoTradeStore(connect(mongodb_uri), name, "session-1") as store,
    ):
        await store.prepare()
        await store.settings.create(SETTINGS)
        account = open_account(world.config(EXCHANGE), TRADED)
        await store.balances.replace(EXCHANGE, await account.balances(), "before", UNFENCED)
        reconciliation = Reconciliation(store, account, advancing(TRADED), lambda: SETTINGS, UNFENCED)
        yield Desk(world, store, account, reconciliation)
        await account.close()


async def sell_everything_by_hand(desk: Desk) -> Decimal:
    """By another program with the same account: at the market's best price, again until nothing is left that a book
    takes."""
    hand = open_account(desk.world.config(EXCHANGE), TRADED)
    try:
        before = (await hand.balances())["BTC"]
        await hand.place(order_on(MARKET, "sell", before, MARKET.tick_size))
        return before - (await hand.balances())["BTC"]
    finally:
        await hand.close()


async def test_what_a_person_sold_is_not_sold_again(desk: Desk) -> None:
    sold = await sell_everything_by_hand(desk)
    assert sold > 0
    ours = (await desk.row("BTC")).free
    await desk.rounds(1)
    assert (await desk.row("BTC")).usable == ours - sold
    found = await desk.rounds(1)
    assert {"fill_foreign", "balance_unexplained"} <= set(found)
    assert await desk.reduce_only() == [EXCHANGE]
    await desk.settle_all()
    assert await desk.reduce_only() == []
    assert await desk.are_books_exact()
    await desk.rounds(3)
    assert await desk.reduce_only() == []


@pytest.mark.parametrize(("amount", "verdict"), [("1.23456789", "deposit"), ("-1.23456789", "withdrawal")])
async def test_deposits_and_withdrawals_are_adopted(desk: Desk, amount: str, verdict: PersonsVerdict) -> None:
    desk.world.world.gateways[EXCHANGE].exchange.customer.balances["BTC"] += Decimal(amount)
    assert await desk.rounds(2) == ["balance_unexplained"]
    assert await desk.reduce_only() == [EXCHANGE]
    await desk.settle_all(verdict)
    assert await desk.reduce_only() == []
    assert await desk.are_books_exact()
    await desk.rounds(3)
    assert await desk.reduce_only() == []
