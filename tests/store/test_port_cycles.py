"""Trades on cycles, on both adapters: every step is one transaction, and what it grants its exchange's bot hears of."""

import asyncio
from dataclasses import replace
from decimal import Decimal

import pytest

from market.time_units import MICROSECONDS
from market.trade.cycle_reservations import CycleRequest, cycle_reserved
from market.trade.cycle_trades import CycleTrade
from market.trade.grants import Grant
from market.trade.leases import UNFENCED, Actor
from market.trade.lifecycle import IllegalStepError
from market.trade.order_results import result_of
from store.errors import FencedOutError, StoreError
from store.mongo.store import MongoTradeStore
from store.ports.trading import TradeStore
from store.records.cycle_step import cycle_rows_of, cycle_step_of
from store.server.client import connect
from store.server.documents import STEPS, grants_of
from tests.market.cycle_samples import report_on, triangle
from tests.store import reservation_requests
from tests.store.command_trace import CommandTrace, in_sequence
from tests.store.reservation_requests import balances, ready_bot
from tests.store.test_round_trips import DECIDED_BY

ID = "found"
PLENTY = {"USD": Decimal(100_000), "BTC": Decimal(10), "ETH": Decimal(100)}
DEADLINE_SECONDS = 20


def request(trade_id: str = ID, **changes: object) -> CycleRequest:
    """Return a request for the triangle: 12,000 USD buy 0.3 BTC, those 6 ETH, and those bring 12,120."""
    found = triangle().request
    return replace(found, trade_id=trade_id, quotes=tuple(f"{trade_id}:{one}" for one in found.quotes), **changes)  # type: ignore[arg-type] # as dataclasses.replace has it


async def open_books(store: TradeStore, free: dict[str, Decimal] = PLENTY, **changes: object) -> None:
    await store.settings.create(triangle(**changes).rows.settings)  # type: ignore[arg-type] # settings by name
    await store.balances.replace("alpha", free, "before", UNFENCED)


async def reserved(store: TradeStore, by: Actor = UNFENCED, trade_id: str = ID) -> CycleTrade:
    trade, reason = await store.reserve_cycle(request(trade_id), by)
    assert trade is not None, reason
    return trade


async def booked(
    store: TradeStore, name: str, share: str | None = "1", by: Actor = UNFENCED, trade_id: str = ID
) -> CycleTrade:
    """Report what became of an order, None: that it is unknown; and book it."""
    trade = await known(store, trade_id)
    order = trade.order(name)
    assert order is not None
    report = None if share is None else report_on(order, order.amount * Decimal(share))
    await store.report_order(result_of(trade_id, order.leg, report), by)
    return await store.book_cycle(trade_id, by)


async def known(store: TradeStore, trade_id: str = ID) -> CycleTrade:
    trade = await store.cycle_trade(trade_id)
    assert trade is not None
    return trade


def states(trade: CycleTrade) -> list[str]:
    return [f"{order.name} {order.state}" for order in trade.orders]


async def test_all_legs_are_reserved_granted_and_booked(store: TradeStore) -> None:
    await open_books(store)
    trade = await reserved(store)
    assert states(trade) == ["leg1 granted", "leg2 granted", "leg3 granted"]
    assert (await balances(store))["alpha", "USD"] == (Decimal(88_000), Decimal(12_000))
    assert await known(store) == trade
    assert await store.open_cycles() == [trade]
    # the same request again changes nothing
    assert await store.reserve_cycle(request(), UNFENCED) == (trade, None)
    for name in ("leg1", "leg2", "leg3"):
        ended = await booked(store, name)
    assert (ended.state, ended.reason) == ("closed", None)
    assert ended.profit is not None
    assert ended.profit.net == await store.transfers.net("USD") == 120
    assert await known(store) == ended
    assert await store.open_cycles() == []
    assert await store.order_results() == []
    assert await balances(store) == {
        ("alpha", "BTC"): (Decimal(10), Decimal(0)),
        ("alpha", "ETH"): (Decimal(100), Decimal(0)),
        ("alpha", "USD"): (Decimal(100_120), Decimal(0)),
    }
    assert sorted(fill.symbol for fill in await store.fills()) == ["BTC/USD", "ETH/BTC", "ETH/USD"]
    assert [step.what for step in ended.history][:4] == ["leg1 granted", "leg2 granted", "leg3 granted", "reserved"]
    assert ended.history[-1].what == "closed"
    # booking again changes nothing
    assert await store.book_cycle(ID, UNFENCED) == ended


async def test_a_leg_that_waits_is_granted_by_the_step_that_books_its_proceeds(store: TradeStore) -> None:
    await open_books(store, {"USD": Decimal(100_000)})
    trade = await reserved(store)
    assert states(trade) == ["leg1 granted", "leg2 waiting", "leg3 waiting"]
    trade = await booked(store, "leg1", "0.5")
    assert states(trade) == ["leg1 done", "leg2 granted", "leg3 waiting"]
    assert (await balances(store))["alpha", "BTC"] == (Decimal(0), Decimal("0.15"))
    await booked(store, "leg2")
    ended = await booked(store, "leg3")
    assert (ended.state, len(ended.orders)) == ("closed", 3)
    assert await known(store) == ended


async def test_bots_hear_of_each_grant_once_and_of_those_before_they_came(store: TradeStore) -> None:
    await open_books(store, {"USD": Decimal(100_000)})
    await reserved(store)
    heard = list[Grant]()

    async def listen() -> None:
        async for grant in store.watch_grants("alpha"):
            heard.append(grant)
            if len(heard) < 3:
                await booked(store, str(grant.leg.role))
            else:
                return

    async with asyncio.timeout(DEADLINE_SECONDS):
        await listen()
    assert [(grant.arbitrage_id, grant.leg.role) for grant in heard] == [(ID, "leg1"), (ID, "leg2"), (ID, "leg3")]


async def test_what_fails_is_unwound_and_a_late_fill_opens_it_again(store: TradeStore) -> None:
    await open_books(store, single_leg_policy="reverse")
    await reserved(store)
    await booked(store, "leg1")
    await booked(store, "leg2")
    trade = await booked(store, "leg3", None)
    assert states(trade)[2:] == ["leg3 not_sent", "reverse1 granted", "reverse2 granted"]
    assert "unconfirmed" in trade.legs[2].times
    await booked(store, "reverse1")
    over = await booked(store, "reverse2")
    assert over.state == "unwound"
    again = await booked(store, "leg3")
    assert (again.state, again.reason) == ("single_leg", "late_fill")
    assert states(again)[-1] == "flatten3 granted"
    assert await store.open_cycles() == [again]
    ended = await booked(store, "flatten3")
    assert ended.state == "unwound"
    assert all(row.held == 0 for row in await store.balances.rows())
    # five orders and the late one
    assert len(await store.fills()) == 6


async def test_limits_count_pairs_and_cycles_together_and_one_trade_on_a_cycle(store: TradeStore) -> None:
    await open_books(store)
    await reserved(store)
    assert await store.reserve_cycle(request("second"), UNFENCED) == (None, "cycle_busy")
    for name in ("leg1", "leg2", "leg3"):
        await booked(store, name)
    assert (await reserved(store, trade_id="second")).state == "reserved"
    await store.settings.amend(lambda now: now.model_copy(update={"max_open_arbitrages": 1}), "test")
    assert await store.reserve_cycle(request("third"), UNFENCED) == (None, "too_many_open")
    # the same quotes have nothing left
    for name in ("leg1", "leg2", "leg3"):
        await booked(store, name, trade_id="second")
    again = replace(request("second"), trade_id="fourth")
    assert await store.reserve_cycle(again, UNFENCED) == (None, "liquidity_used")
    await store.stop_reservations()
    assert await store.reserve_cycle(request("fifth"), UNFENCED) == (None, "stopping")


async def test_a_sighting_that_is_over_is_not_traded(store: TradeStore) -> None:
    await open_books(store)
    before = await store.server_now() - MICROSECONDS
    assert await store.reserve_cycle(request(valid_until=before), UNFENCED) == (None, "expired")


async def test_what_a_halt_stopped_can_be_resumed(store: TradeStore) -> None:
    await open_books(store)
    await reserved(store)
    await booked(store, "leg1")
    await booked(store, "leg2")
    await store.settings.amend(lambda now: now.model_copy(update={"trading_state": "halted"}), "test")
    held = await booked(store, "leg3", "0")
    assert (held.state, held.reason) == ("residual", "halted")
    assert await store.resumable_cycles() == list((await store.overview()).resumable_cycles) == [held]
    assert not await store.resume_cycle(ID, UNFENCED)
    await store.settings.amend(lambda now: now.model_copy(update={"trading_state": "running"}), "test")
    assert await store.resume_cycle(ID, UNFENCED)
    assert states(await known(store))[3:] == ["flatten1 granted", "flatten2 granted"]
    assert await store.resumable_cycles() == []


async def test_what_bots_and_reconciliation_read_has_trades_on_cycles_too(store: TradeStore) -> None:
    await open_books(store)
    trade = await reserved(store)
    seen = await store.overview()
    assert (seen.open_cycles, seen.open_arbitrages, seen.open_trades) == ((trade,), (), (trade,))
    assert await store.traded([ID, "another"]) == {ID}
    assert await store.differences.trades_since("alpha", 0) == [trade]
    assert await store.differences.trades_since("beta", 0) == []
    first, second = trade.legs[:2]
    await booked(store, "leg1")
    trade = await booked(store, "leg2", None)
    assert await store.unconfirmed_legs("alpha", 0) == [(ID, trade.leg("leg2"))]
    assert await store.unconfirmed_legs("beta", 0) == []
    assert await store.differences.orders_since("alpha", 0) == {first.client_order_id: "leg1"}
    assert second.client_order_id not in await store.differences.orders_since("alpha", 0)


async def test_what_is_open_is_of_pairs_and_of_cycles(store: TradeStore) -> None:
    await open_books(store)
    await store.balances.replace("beta", {"BTC": Decimal(10)}, "before", UNFENCED)
    assert await store.open_trades() == []
    cycle = await reserved(store)
    pair = (await store.reserve(reservation_requests.request(), UNFENCED)).arbitrage
    assert await store.open_trades() == [pair, cycle]
    for name in ("leg1", "leg2", "leg3"):
        await booked(store, name)
    assert await store.open_trades() == [pair]


async def test_only_who_holds_the_lease_takes_steps_and_grants_go_to_who_acts(store: TradeStore) -> None:
    await open_books(store)
    first = await ready_bot(store, "decider")
    assert await store.reserve_cycle(request(), first) == (None, "no_bot")
    bot = await ready_bot(store, "alpha")
    trade = await reserved(store, first)
    assert {leg.token for leg in trade.legs} == {bot.token}
    late = replace(first, token=first.token + 1)
    with pytest.raises(FencedOutError):
        await store.book_cycle(ID, late)
    with pytest.raises(FencedOutError):
        await store.reserve_cycle(request("second"), late)
    assert (await store.book_cycle(ID, first)) == trade


async def test_what_is_unknown_is_an_error(store: TradeStore) -> None:
    with pytest.raises(StoreError, match="no trade found"):
        await store.book_cycle(ID, UNFENCED)
    with pytest.raises(StoreError, match="no settings"):
        await store.reserve_cycle(request(), UNFENCED)
    await open_books(store)
    trade = await reserved(store)
    result = replace(result_of(ID, trade.legs[0], None), role="reverse1")
    await store.report_order(result, UNFENCED)
    with pytest.raises(IllegalStepError, match="no order reverse1"):
        await store.book_cycle(ID, UNFENCED)


async def test_two_deciders_at_once_reserve_it_once(mongo_store: MongoTradeStore) -> None:
    await open_books(mongo_store)
    answers = await asyncio.gather(*(mongo_store.reserve_cycle(request(f"{n}"), UNFENCED) for n in range(6)))
    assert sorted(reason or "reserved" for _, reason in answers) == ["cycle_busy"] * 5 + ["reserved"]
    assert len(await mongo_store.open_cycles()) == 1


async def test_two_bookers_at_once_book_and_grant_once(mongo_store: MongoTradeStore) -> None:
    await open_books(mongo_store, {"USD": Decimal(100_000)})
    first = (await reserved(mongo_store)).orders[0]
    await mongo_store.report_order(result_of(ID, first.leg, report_on(first, first.amount)), UNFENCED)
    answers = await asyncio.gather(*(mongo_store.book_cycle(ID, UNFENCED) for _ in range(6)))
    assert all(states(trade) == ["leg1 done", "leg2 granted", "leg3 waiting"] for trade in answers)
    assert len(await mongo_store.fills()) == 1
    steps = [step async for step in mongo_store._database[STEPS].find({"arbitrage_id": ID})]  # what bots follow
    assert [[grant.leg.role for grant in grants_of(step)] for step in steps] == [["leg1"], ["leg2"]]


async def test_each_step_is_recorded_with_what_it_was_decided_on(mongo_store: MongoTradeStore) -> None:
    """A step taken again on its record gives the same trade."""
    await open_books(mongo_store)
    trade = await reserved(mongo_store, await ready_decider(mongo_store))
    found = mongo_store._database[STEPS].find({"arbitrage_id": ID}).sort("number")  # what verification reads
    steps = [cycle_step_of(document["text"]) async for document in found]
    assert [step.request.kind for step in steps] == ["reserve"]
    settings = await mongo_store.settings.current()
    assert settings is not None
    assert steps[0].request.request == request()
    rows = cycle_rows_of(steps[0].read, settings, None)
    again, reason = cycle_reserved(rows, request())
    assert (again.trade, reason) == (trade, None)


async def ready_decider(store: TradeStore) -> Actor:
    await ready_bot(store, "alpha")
    return await ready_bot(store, "decider")


async def test_a_decision_costs_as_many_round_trips_as_one_on_a_pair(mongodb_uri: str, database: str) -> None:
    trace = CommandTrace()
    async with MongoTradeStore(connect(mongodb_uri, listeners=[trace]), database, "session-1") as store:
        await store.prepare()
        await open_books(store)
        by = await ready_decider(store)
        before = len(trace.sent)
        await reserved(store, by)
        assert [one.name for one in in_sequence(trace.sent[before:])] == DECIDED_BY
