"""Whose fills are whose: a session's ledger and its balances must be about the same trades."""

from collections.abc import AsyncIterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from market.instruments.orders import OrderReport
from market.money import Amount
from market.trade.arbitrages import Arbitrage
from market.trade.leases import UNFENCED
from market.trade.unwinding import advancing
from session.session import Services, Session
from store.mongo.store import MongoTradeStore
from store.queries.session_export import exporting
from store.server.client import connect
from store.server.documents import BALANCES
from tests.market.samples import MARKETS, settings_of
from tests.store.booking import finish_leg
from tests.store.reservation_requests import filled, granted, open_books, opportunity, ready_bot, reserved

ID = "opportunity-1"
ADVANCE = advancing(MARKETS)


@pytest.fixture
async def later(mongodb_uri: str, database: str, mongo_store: MongoTradeStore) -> AsyncIterator[MongoTradeStore]:
    """Return the next session on the same database."""
    store = MongoTradeStore(connect(mongodb_uri), database, "session-2")
    yield store
    await store.close()


async def left_by_a_halt(store: MongoTradeStore) -> Arbitrage:
    """Bought on alpha, not sold on beta."""
    await open_books(store)
    await reserved(store, opportunity(), "2")
    buy = await granted(store, ID, "buy")
    await store.settings.change(settings_of(trading_state="halted"), 1, "switch")
    await finish_leg(store, ID, "buy", filled(buy), ADVANCE, UNFENCED)
    refused = OrderReport("", True, Amount(Decimal(0)), (), is_posted=False, reason="halted")
    held = await finish_leg(store, ID, "sell", refused, ADVANCE, UNFENCED)
    assert (held.state, held.reason) == ("residual", "halted")
    return held


async def resumed(store: MongoTradeStore) -> OrderReport:
    """Sold again on alpha."""
    await store.settings.change(settings_of(), 2, "switch")
    assert await store.resume(ID, ADVANCE, UNFENCED)
    leg = await granted(store, ID, "flatten")
    report = filled(leg)
    await finish_leg(store, ID, "flatten", report, ADVANCE, UNFENCED)
    return report


async def test_what_a_halt_left_is_gone_on_with_in_the_books_of_the_session_that_does(
    mongo_store: MongoTradeStore, later: MongoTradeStore
) -> None:
    (bought,) = (await left_by_a_halt(mongo_store)).legs[0].fills
    for exchange in ("alpha", "beta"):
        await later.balances.replace(
            exchange, {"BTC": Decimal(5), "USD": Decimal(700), "EUR": Decimal(5)}, "before", UNFENCED
        )
    report = await resumed(later)
    assert await mongo_store.fills() == [bought]
    assert await later.fills() == list(report.fills)


async def test_what_lies_with_an_earlier_session_is_not_taken_out_with_this_one(
    mongo_store: MongoTradeStore, later: MongoTradeStore, mongodb_uri: str, database: str
) -> None:
    await left_by_a_halt(mongo_store)
    await later.balances.replace("alpha", {"BTC": Decimal(5), "USD": Decimal(700)}, "before", UNFENCED)
    await resumed(later)
    kept = {}
    for name in ("session-1", "session-2"):
        session = Session(name, "paper", Path(), Services("", mongodb_uri, database), MARKETS, "USD")
        async with exporting(session) as export:
            kept[name] = [row.arbitrage_id async for row in export.fills()]
    assert kept == {"session-1": [ID], "session-2": []}


async def test_fills_that_two_exchanges_number_alike_are_not_taken_for_each_other(
    mongo_store: MongoTradeStore, later: MongoTradeStore
) -> None:
    """Both call it 7: bought on alpha by the session before, sold on beta in the next one, which opened beta alone."""
    await open_books(mongo_store)
    await reserved(mongo_store, opportunity(), "2")
    buy, alpha = await granted(mongo_store, ID, "buy"), await ready_bot(mongo_store, "alpha")
    await finish_leg(mongo_store, ID, "buy", numbered(filled(buy), "7"), ADVANCE, alpha)
    # what is left is to be sold once beta has a bot
    await finish_leg(mongo_store, ID, "sell", None, ADVANCE, alpha)
    await later.balances.replace("beta", {"BTC": Decimal(5), "EUR": Decimal(5)}, "before", UNFENCED)
    beta = await ready_bot(later, "beta")
    sell = await later.grant(ID, "complete", beta)
    assert sell is not None
    report = numbered(filled(sell), "7")
    await finish_leg(later, ID, "complete", report, ADVANCE, beta)
    assert await later.fills() == list(report.fills)


def numbered(report: OrderReport, fill_id: str) -> OrderReport:
    return replace(report, fills=tuple(replace(fill, fill_id=fill_id) for fill in report.fills))


async def test_what_was_sent_before_the_opening_belongs_to_the_session_before(
    mongo_store: MongoTradeStore, later: MongoTradeStore
) -> None:
    (bought,) = (await left_by_a_halt(mongo_store)).legs[0].fills
    report = await resumed(later)
    late = replace(report, fills=(replace(report.fills[0], fill_id="late", amount=Amount(Decimal("0.01"))),))
    await later.balances.replace("alpha", {"BTC": Decimal(5), "USD": Decimal(5)}, "before", UNFENCED)
    await finish_leg(later, ID, "flatten", late, ADVANCE, UNFENCED)
    assert await later.fills() == []
    assert {fill.fill_id for fill in await mongo_store.fills()} == {bought.fill_id, report.fills[0].fill_id, "late"}
    rows = {(row.exchange, row.currency): row.free for row in await later.balances.rows()}
    assert (rows["alpha", "BTC"], rows["alpha", "USD"]) == (Decimal(5), Decimal(5))


async def test_a_late_fill_moves_the_balances_of_the_session_that_has_it_whatever_the_clock_said(
    mongo_store: MongoTradeStore, mongodb_uri: str, database: str
) -> None:
    """A server whose clock is ahead opened the books; by that time, the order was granted before."""
    (bought,) = (await left_by_a_halt(mongo_store)).legs[0].fills
    ahead = {"$set": {"opened_at": await mongo_store.server_now() + 3_600_000_000}}
    client = connect(mongodb_uri)
    await client[database][BALANCES].update_many({}, ahead)
    client.close()
    before = await btc_of(mongo_store)
    late = replace(bought, fill_id="late", amount=Amount(Decimal("0.01")))
    await finish_leg(
        mongo_store, ID, "buy", OrderReport("late", True, Amount(Decimal("0.01")), (late,)), ADVANCE, UNFENCED
    )
    assert {fill.fill_id for fill in await mongo_store.fills()} == {bought.fill_id, "late"}
    assert await btc_of(mongo_store) == before + late.amount


async def btc_of(store: MongoTradeStore) -> Decimal:
    return next(row.free for row in await store.balances.rows() if (row.exchange, row.currency) == ("alpha", "BTC"))
