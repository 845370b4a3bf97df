"""What ended long ago goes with its steps and fills; every sum that pages, the ledger and the end of a session show
stays, to the last digit."""

import asyncio
from dataclasses import replace
from decimal import Decimal

import pytest

from launch.sessions.summary import balance_differences
from launch.supervisor.trade_retention import remove_all_before
from market.accounting.equity_curve import Equity
from market.accounting.profit_groups import GroupedBy, ProfitLine, profit_by, profit_from
from market.decide.settings import Settings
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Arbitrage, ArbitrageState, ProfitAndLoss, ProfitShare
from market.trade.leases import UNFENCED
from store.aggregates.average_sums import AverageSum
from store.aggregates.month_sums import MonthSums, Sums
from store.aggregates.session_totals import KeptSums, RunningSums
from store.mongo.ended_arbitrages import remove_ended_before
from store.mongo.store import MongoTradeStore
from store.queries.trade_reader import TradeReader
from store.server.client import Database, Moment
from store.server.documents import ARBITRAGES, FILLS, MONTH_SUMS, ORDER_RESULTS, STEPS
from tests.market.samples import EUR_MARKET, USD_MARKET
from tests.store.booking import finish_leg
from tests.store.reservation_requests import OPENING, filled, leg_of, opportunity, reserved

DAY = 86_400 * MICROSECONDS
START = 1_693_526_400 * MICROSECONDS
"""2023-09-01."""
CUT = START + 70 * DAY
ROWS: tuple[tuple[int, ArbitrageState, str], ...] = (
    (0, "closed", "1.00000000000000000001"),
    (1, "closed", "-2.5"),
    (20, "residual", "-0.125"),
    (29, "unfilled", "0"),
    (35, "unwound", "-0.7"),
    (40, "closed", "3.000000000000000000000007"),
    (75, "closed", "0.5"),
    (80, "unwound", "-0.25"),
)
"""Day of the end, state, net. Before the cut there are two months, and one that stays in the first of them."""
REMOVED, KEPT = 5, 3
Lines = dict[GroupedBy, list[ProfitLine]]


async def end_one(store: MongoTradeStore, number: int, day: int, state: ArbitrageState, net: str) -> None:
    """End an arbitrage and overwrite its time: no test can set the server's clock."""

    def end(arbitrage: Arbitrage, _: Settings, now: int) -> Arbitrage:
        return replace(arbitrage, state=state, profit=profit(Decimal(net)), times=arbitrage.times | {"ended": now})

    identity, at = f"opportunity-{number}", START + day * DAY
    begun = await reserved(store, opportunity(identity, number), "0.01")
    for leg in begun.legs:
        await finish_leg(store, identity, leg.role, filled(leg_of(begun, leg.role)), end, UNFENCED)
    changes = {"times.ended": at, "at": at, "strategy": "ma" if number % 3 == 0 else "arbitrage"}
    await store._database[ARBITRAGES].update_one({"_id": identity}, {"$set": changes})


def profit(net: Decimal) -> ProfitAndLoss:
    nothing, third = Decimal(0), Decimal("0.001")
    shares = (
        ProfitShare("alpha", third, nothing, nothing, nothing, nothing, nothing, third),
        ProfitShare("beta", net - third, nothing, nothing, nothing, nothing, nothing, net - third),
    )
    return replace(profit_from("USD", {"gross": net, "net": net}), shares=shares)


async def shown(reader: TradeReader) -> tuple[ProfitAndLoss, dict[str, int], Lines, tuple[AverageSum, ...], Equity]:
    """Return what pages show in sum. Points, marks and drawdowns of the curve are those of months if only sums are
    kept."""
    totals, equity = await reader.totals("USD"), await reader.history.equity("USD")
    grouped: tuple[GroupedBy, ...] = ("exchange", "asset", "pair", "strategy")
    lines = {by: profit_by(totals.groups, by) for by in grouped}
    whole = replace(equity, points=(), marks=(), deepest=equity.current, current=equity.current)
    return totals.profit, totals.arbitrages, lines, await reader.history.average_sums(), whole


@pytest.fixture
async def traded(reader: TradeReader, mongo_store: MongoTradeStore) -> MongoTradeStore:
    """In open books."""
    for number, row in enumerate(ROWS, 1):
        await end_one(mongo_store, number, *row)
    return mongo_store


async def test_sums_stay_and_documents_go(reader: TradeReader, traded: MongoTradeStore) -> None:
    before, curve = await shown(reader), await reader.history.equity("USD")
    assert before[1] == {"closed": 4, "unwound": 2, "residual": 1, "unfilled": 1}
    assert await remove_all_before(traded, CUT, 0) == REMOVED
    assert await shown(reader) == before
    database = traded._database
    left = {str(row["_id"]) async for row in database[ARBITRAGES].find()}
    assert left == {"opportunity-3", "opportunity-7", "opportunity-8"}
    assert {str(row["arbitrage_id"]) async for row in database[FILLS].find()} == left
    assert {str(row["arbitrage_id"]) async for row in database[STEPS].find()} == left
    after = await reader.history.equity("USD")
    assert after.points[0].at == START + 20 * DAY
    assert after.points[-1].net == curve.points[-1].net
    assert {group.day for group in await reader.profit_groups("USD")} >= {"2023-09", "2023-10", "2023-09-21"}
    assert await remove_all_before(traded, CUT, 0) == 0


async def test_the_ledger_reconciles_with_the_sums(traded: MongoTradeStore) -> None:
    balances = {name: dict(row) for name, row in OPENING.items()}
    for row in await traded.balances.rows():
        balances[row.exchange][row.currency] = row.free + row.held
    await remove_all_before(traded, CUT, 0)
    removed, fills, markets = await traded.removed_trades(), await traded.fills(), (USD_MARKET, EUR_MARKET)
    assert len(fills) == 2 * KEPT
    assert balance_differences(OPENING, balances, fills, markets)
    assert balance_differences(OPENING, balances, fills, markets, removed.changes) == []
    assert removed.arbitrages == {"closed": 3, "unwound": 1, "unfilled": 1}
    assert removed.profits["USD"].net == Decimal("0.800000000000000000010007")


async def test_whoever_reads_meanwhile_counts_each_arbitrage_once(reader: TradeReader, traded: MongoTradeStore) -> None:
    before = await shown(reader)
    ended = asyncio.Event()

    async def remove() -> None:
        for _ in range(REMOVED):
            assert await remove_ended_before(traded._database, CUT, 1) == 1
        ended.set()

    removing = asyncio.create_task(remove())
    while not ended.is_set():
        assert await shown(reader) == before
    await removing


class OvertakenSums(RunningSums):
    """Whenever they were read, something else has been removed meanwhile; nobody need read them again."""

    reads = 0

    def __init__(self, database: Database) -> None:
        super().__init__(database, ARBITRAGES, {}, ("$state", "$profit.currency"), [1])
        self._database = database

    async def read(self, moment: Moment | None = None) -> Sums:
        self.reads += 1
        assert self.reads == 1, "summed again"
        sums = await super().read(moment)
        assert await remove_ended_before(self._database, CUT, 1) == 1
        return sums


async def test_one_pass_is_enough_while_more_is_removed(traded: MongoTradeStore) -> None:
    database = traded._database
    kept = KeptSums(database, OvertakenSums(database), MonthSums(database, {}, "states"))
    assert sum(count for count, *_ in (await kept.read()).values()) == len(ROWS)


async def test_what_cannot_be_removed_keeps_nothing_behind_it(traded: MongoTradeStore) -> None:
    database = traded._database
    await database[ORDER_RESULTS].insert_one({"_id": "waiting", "arbitrage_id": "opportunity-1"})
    await database[ARBITRAGES].update_one({"_id": "opportunity-2"}, {"$set": {"legs": "torn"}})
    removed = 0
    while await remove_ended_before(database, CUT, 1):
        removed += 1
    assert removed == REMOVED - 2
    left = {str(row["_id"]) async for row in database[ARBITRAGES].find()}
    assert left == {f"opportunity-{number}" for number in (1, 2, 3, 7, 8)}


async def test_a_month_is_added_to(traded: MongoTradeStore) -> None:
    await remove_all_before(traded, START + DAY // 2, 0)
    first = await traded.removed_trades()
    await remove_all_before(traded, CUT, 0)
    both = await traded.removed_trades()
    assert (first.arbitrages, both.arbitrages["closed"]) == ({"closed": 1}, 3)
    months = traded._database[MONTH_SUMS].find({"name": "equity"})
    assert [row["month"] async for row in months.sort("month", 1)] == ["2023-09", "2023-10"]
