"""What each step was decided on is kept with it, by both adapters: from it alone the arbitrage follows again."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from backtest.verify.decisions import Decisions
from market.trade.arbitrages import LegRole
from market.trade.decision_record import step_of
from market.trade.leases import UNFENCED, Actor
from market.trade.order_results import result_of
from market.trade.reservation_state import ReservationState, rows_read_to_reserve
from market.trade.unwinding import EndAsResidual, advancing
from session.session import Services, Session
from store.memory.store import MemoryTradeStore
from store.ports.trading import TradeStore
from store.queries.session_export import ExportedArbitrage, ExportedFill, exporting
from tests.market.samples import EUR_MARKET, USD_MARKET
from tests.store.booking import finish_leg, record_sent
from tests.store.reservation_requests import (
    OPENING,
    SETTINGS,
    close,
    filled,
    granted,
    leg_of,
    open_books,
    opportunity,
    ready_bot,
    request,
)

BY = Actor("somebody", None, 0)
Story = Callable[[TradeStore], Awaitable[None]]
Kept = Callable[[TradeStore], Awaitable[list[ExportedArbitrage]]]


@pytest.fixture(params=["memory", "mongo"])
def store(request: pytest.FixtureRequest) -> TradeStore:
    """Return the one in memory told to keep steps, too."""
    if request.param == "memory":
        memory = MemoryTradeStore()
        memory.are_steps_recorded = True
        return memory
    mongo: TradeStore = request.getfixturevalue("mongo_store")
    return mongo


@pytest.fixture
def kept(request: pytest.FixtureRequest) -> Kept:
    async def of(store: TradeStore) -> list[ExportedArbitrage]:
        if isinstance(store, MemoryTradeStore):
            steps = store.steps
            return [ExportedArbitrage(one, tuple(steps[one.arbitrage_id])) for one in await store.session_arbitrages()]
        database: str = request.getfixturevalue("database")
        async with exporting(session_of(request.getfixturevalue("mongodb_uri"), database)) as export:
            return [one async for one in export.arbitrages()]

    return of


def session_of(uri: str, database: str) -> Session:
    return Session("session-1", "paper", Path(), Services("", uri, database), (USD_MARKET, EUR_MARKET), "USD")


async def reserved(store: TradeStore) -> None:
    await store.reserve(request("1.5"), BY)


async def closed(store: TradeStore) -> None:
    await reserved(store)
    orders: tuple[tuple[LegRole, str], ...] = (("sell", "y"), ("buy", "x"))
    for side, order in orders:
        leg = await granted(store, "opportunity-1", side)
        await record_sent(store, "opportunity-1", side, order, BY)
        await finish_leg(store, "opportunity-1", side, filled(leg), close, BY)


async def restated(store: TradeStore) -> None:
    """Half of the buy was reported in place of all of it."""
    await reserved(store)
    advance = advancing((USD_MARKET, EUR_MARKET))
    roles: tuple[LegRole, ...] = ("sell", "buy")
    for role in roles:
        leg = await granted(store, "opportunity-1", role)
        await finish_leg(
            store, "opportunity-1", role, filled(leg, leg.amount / (2 if role == "buy" else 1)), advance, BY
        )
    buy = leg_of(await store.arbitrage("opportunity-1"), "buy")
    true = replace(filled(buy), fills=(replace(filled(buy).fills[0], fill_id=buy.fills[0].fill_id),))
    await store.report_order(replace(result_of("opportunity-1", buy, true), instead_of=buy.fills), BY)
    assert leg_of(await store.book("opportunity-1", advance, BY), "buy").fills == true.fills


async def held(store: TradeStore) -> None:
    await reserved(store)
    roles: tuple[LegRole, ...] = ("buy", "sell")
    for role in roles:
        await finish_leg(store, "opportunity-1", role, None, EndAsResidual("order_lost"), BY)


async def reserved_by_bots(store: TradeStore) -> None:
    alpha = await ready_bot(store, "alpha")
    await ready_bot(store, "beta")
    assert (await store.reserve(request("1.5"), alpha)).arbitrage is not None


async def granted_later(store: TradeStore) -> None:
    """Grant the sale of the rest on beta, which gets a bot only then."""
    await reserved(store)
    alpha, advance = await ready_bot(store, "alpha"), advancing((USD_MARKET, EUR_MARKET))
    buy, sell = await granted(store, "opportunity-1", "buy"), await granted(store, "opportunity-1", "sell")
    await finish_leg(store, "opportunity-1", "buy", filled(buy), advance, alpha)
    await finish_leg(store, "opportunity-1", "sell", filled(sell, Decimal("0.5")), advance, alpha)
    assert await store.grant("opportunity-1", "complete", alpha) is None
    beta = await ready_bot(store, "beta")
    assert await store.grant("opportunity-1", "complete", beta) is not None


@pytest.mark.parametrize(
    ("story", "steps"),
    [
        (reserved, ["reserve"]),
        (reserved_by_bots, ["reserve"]),
        (held, ["reserve", "book", "book"]),
        (restated, ["reserve", "book", "book", "book"]),
        (granted_later, ["reserve", "book", "book", "grant"]),
    ],
)
async def test_an_arbitrage_follows_from_its_steps(
    store: TradeStore, kept: Kept, story: Story, steps: list[str]
) -> None:
    await open_books(store)
    await story(store)
    (one,) = await kept(store)
    assert [step_of(text).request.kind for text in one.steps] == steps
    decisions = Decisions((USD_MARKET, EUR_MARKET), {1: SETTINGS}, {}, {})
    assert decisions.arbitrage_difference(one) is None
    assert decisions.arbitrage_difference(replace(one, steps=one.steps[:-1])) is not None


async def test_each_step_says_who_took_it_when_and_what_the_exchange_answered(store: TradeStore, kept: Kept) -> None:
    await open_books(store)
    await closed(store)
    (one,) = await kept(store)
    taken = [step_of(text) for text in one.steps]
    told = [[(one.role, one.is_final) for one in step.request.results] for step in taken]
    assert told == [[], [("sell", False)], [("sell", True)], [("buy", False)], [("buy", True)]]
    assert {step.read.by for step in taken} == {BY}
    moments = [step.read.now for step in taken]
    assert moments == sorted(moments)
    assert set(moments) == {transition.at for transition in one.arbitrage.history}
    assert taken[2].request.results[0].report == filled(one.arbitrage.legs[1])
    known = [step.request.results[0].report for step in (taken[1], taken[3])]
    assert [None if report is None else report.exchange_order_id for report in known] == ["y", "x"]
    assert {step.read.settings_version for step in taken} == {1}


async def test_what_changes_nothing_is_no_step(store: TradeStore, kept: Kept) -> None:
    await open_books(store)
    await closed(store)
    before = await kept(store)
    leg = before[0].arbitrage.legs[0]
    await store.reserve(request(), BY)
    assert await store.grant("opportunity-1", "buy", BY) is None
    await record_sent(store, "opportunity-1", "buy", "again", BY)
    await finish_leg(store, "opportunity-1", "buy", filled(leg), close, BY)
    assert await kept(store) == before


async def test_a_rejected_reservation_says_what_it_was_rejected_on(store: TradeStore) -> None:
    await open_books(store)
    poor = await store.reserve(request("2", minimum="50"), BY)
    assert poor.rejection is not None
    assert poor.read is not None
    assert (poor.read.by, poor.read.settings_version, poor.read.has_arbitrage) == (BY, 1, False)
    assert {(row.exchange, row.currency): row.free for row in poor.read.balances} == {
        (exchange, currency): amount for exchange, row in OPENING.items() for currency, amount in row.items()
    }


async def test_a_reservation_that_a_bot_was_lacking_for_says_whose_leases_there_were(store: TradeStore) -> None:
    await open_books(store)
    alpha, beta = await ready_bot(store, "alpha"), await ready_bot(store, "beta")
    await store.leases.set_veto(beta, "bot_draining")
    await ready_bot(store, "gamma")
    vetoed = await store.reserve(request(), alpha)
    assert vetoed.rejection == "bot_draining"
    assert vetoed.read is not None
    leases = vetoed.read.leases or {}
    assert {name: (lease.holder, lease.veto) for name, lease in leases.items()} == {
        "alpha": ("alpha-1", None),
        "beta": ("beta-1", "bot_draining"),
    }


def test_of_the_rows_only_those_of_the_opportunity_are_kept() -> None:
    rows = ReservationState(
        now=1, opportunity=opportunity(), settings=SETTINGS, paused_until={"gamma": 5, "alpha": 7}, by=UNFENCED
    )
    assert rows_read_to_reserve(rows).paused_until == {"alpha": 7}


async def test_the_ledger_and_the_rejections_of_a_session_can_be_taken_out(
    mongo_store: TradeStore, mongodb_uri: str, database: str
) -> None:
    await open_books(mongo_store)
    await closed(mongo_store)
    async with exporting(session_of(mongodb_uri, database)) as export:
        fills = [row async for row in export.fills()]
        versions = [version.version async for version in export.settings()]
        rejections = [rejection async for rejection in export.rejections()]
    assert [row.arbitrage_id for row in fills] == ["opportunity-1", "opportunity-1"]
    assert all(isinstance(row, ExportedFill) for row in fills)
    assert (versions, rejections) == ([1], [])
