"""Faults of orders as a plain client meets them, on every exchange."""

import asyncio
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from market.money import ZERO
from simulators.matching.exchange_journal import Journal
from simulators.matching.listings import listings_of, opening_balances
from simulators.matching.order_records import SimulatedAccountEvent
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.matching.venue import Venue
from tests.simulators.test_faults_http import EVERYWHERE, asleep
from tests.simulators.test_simulated_exchange import NAMES
from tests.simulators.visitor import Answer, Visitor, visiting
from tests.simulators.wire_clients import WIRE_CLIENTS, WireClient


@pytest.fixture
async def visitor(tmp_path: Path, wire: WireClient) -> AsyncIterator[Visitor]:
    async with visiting(tmp_path, wire) as visitor:
        yield visitor


def only_order(exchange: SimulatedExchange) -> Any:
    [order] = exchange.customer.orders.values()
    return order


REJECTIONS = {
    "coinbaseexchange": (400, "Limit only mode"),
    "bitstamp": (400, "rejected by matching engine"),
    "bitflyer": (400, "error_message"),
    "kraken": (200, "EOrder:Orders limit exceeded"),
    "binance": (400, "-2010"),
    "bybit": (200, "170210"),
    "okx": (200, "51025"),
    "coinbase": (200, "COMMANDER_REJECTED_NEW_ORDER"),
}


@EVERYWHERE
async def test_a_rejected_order_does_not_exist(visitor: Visitor) -> None:
    visitor.fault("rejected_order", count=1, symbol=visitor.wire.symbol)
    answer = await visitor.bought()
    status, piece = REJECTIONS[visitor.wire.exchange]
    assert (answer.status, piece in str(answer.body)) == (status, True), answer
    assert visitor.exchange.customer.orders == {}
    await visitor.bought()
    assert only_order(visitor.exchange).state == "done"


@EVERYWHERE
async def test_a_dropped_acknowledgement_leaves_a_live_order(visitor: Visitor) -> None:
    visitor.fault("lost_acknowledgement", count=1, manner="dropped")
    with pytest.raises(aiohttp.ClientError):
        await visitor.bought(lifetime="GTC")
    assert only_order(visitor.exchange).state == "done"


@EVERYWHERE
async def test_an_acknowledgement_that_never_comes_leaves_a_live_order(visitor: Visitor) -> None:
    visitor.fault("lost_acknowledgement", count=1, manner="timeout")
    answer = asyncio.ensure_future(visitor.bought())
    await asleep(visitor, answer)
    assert only_order(visitor.exchange).state == "done"
    assert not answer.done()
    visitor.clock.advance(60)
    with pytest.raises(aiohttp.ClientError):
        await answer


@EVERYWHERE
@pytest.mark.parametrize("taken", [True, False])
async def test_a_disconnect_cuts_streams_and_the_order_may_have_come_in(visitor: Visitor, taken: bool) -> None:
    async with visitor.reading() as reader:
        visitor.fault("disconnect_during_order", count=1, taken=taken)
        with pytest.raises(aiohttp.ClientError):
            await visitor.bought()
        message = await reader.socket.receive(timeout=20)
        assert message.type in (aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.ERROR)
        assert reader.socket.close_code in (None, 1006)
    assert len(visitor.exchange.customer.orders) == taken
    assert (await visitor.bought()).status == 200


@EVERYWHERE
async def test_reads_lose_no_acknowledgement(visitor: Visitor) -> None:
    visitor.fault("lost_acknowledgement", count=1)
    visitor.fault("disconnect_during_order", count=1)
    assert (await visitor.public()).status == 200
    assert {active.injected for active in visitor.outside.faults.active()} == {0}


@EVERYWHERE
async def test_a_part_fills_and_the_rest_hangs_until_the_time_is_over(visitor: Visitor) -> None:
    visitor.fault("partial_fill_then_nothing", seconds=30, share=0.25)
    await visitor.bought("0.04")
    order = only_order(visitor.exchange)
    assert (order.state, order.filled) == ("open", Decimal("0.01"))
    held = visitor.exchange.customer.held()
    visitor.rounds(20)
    assert only_order(visitor.exchange) == order
    assert any(amount > 0 for amount in held.values())
    visitor.clock.advance(30)
    visitor.rounds(1)
    order = only_order(visitor.exchange)
    assert (order.state, order.filled) == ("cancelled", Decimal("0.01"))
    assert set(visitor.exchange.customer.held().values()) == {ZERO}
    await visitor.bought("0.04")
    assert [row.state for row in visitor.exchange.customer.orders.values()] == ["cancelled", "done"]


@EVERYWHERE
@pytest.mark.parametrize("is_cleared", [True, False])
async def test_an_order_that_may_rest_goes_on_in_the_book(visitor: Visitor, is_cleared: bool) -> None:
    visitor.fault("partial_fill_then_nothing", count=1, hold_seconds=5, share=0)
    await visitor.bought("0.04", "GTC")
    assert only_order(visitor.exchange).filled == 0
    visitor.rounds(1)
    assert only_order(visitor.exchange).filled == 0
    if is_cleared:
        visitor.outside.faults.clear()
    else:
        visitor.clock.advance(5)
    visitor.rounds(1)
    assert only_order(visitor.exchange).state == "done"


@EVERYWHERE
async def test_a_hanging_order_can_be_cancelled_by_its_owner(visitor: Visitor) -> None:
    visitor.fault("partial_fill_then_nothing", seconds=30)
    await visitor.bought("0.04")
    visitor.exchange.cancel(only_order(visitor.exchange).order_id)
    visitor.clock.advance(30)
    visitor.rounds(1)
    assert only_order(visitor.exchange).state == "cancelled"


@EVERYWHERE
async def test_what_hung_when_the_exchange_died_is_gone_when_it_comes_back(visitor: Visitor) -> None:
    visitor.fault("partial_fill_then_nothing", seconds=30)
    await visitor.bought("0.04")
    name = visitor.wire.exchange
    order = only_order(visitor.exchange)
    journal = Journal(visitor.outside.home / "exchanges" / f"{name}.jsonl")
    again = SimulatedExchange(Venue(name, listings_of(name), NAMES, visitor.clock), opening_balances(name), journal)
    journal.close()
    assert only_order(again).state == "cancelled"
    assert only_order(again).filled == order.filled
    assert set(again.customer.held().values()) == {ZERO}


# Kraken's lists are mappings by id, in which nothing comes twice
@pytest.mark.parametrize("wire", [wire for wire in WIRE_CLIENTS if wire.fills], ids=lambda wire: wire.exchange)
async def test_a_list_of_fills_shows_the_newest_twice(visitor: Visitor) -> None:
    await visitor.bought()
    assert visitor.wire.fills is not None
    once = fills_in(await visitor.signed(visitor.wire.fills))
    visitor.clock.advance(1)
    visitor.fault("duplicate_fill_report", count=1)
    assert fills_in(await visitor.signed(visitor.wire.fills)) == [once[0], *once]
    visitor.clock.advance(1)
    assert fills_in(await visitor.signed(visitor.wire.fills)) == once


def fills_in(answer: Answer) -> list[object]:
    if isinstance(answer.body, list):
        return answer.body
    if "fills" in answer.body:
        fills: list[object] = answer.body["fills"]
        return fills
    # OKX's, or Bybit's
    rows: list[object] = answer.body["data"] if "data" in answer.body else answer.body["result"]["list"]
    return rows


@EVERYWHERE
async def test_listeners_receive_a_fill_twice(visitor: Visitor) -> None:
    events: list[SimulatedAccountEvent] = []
    visitor.exchange.listen(events.append)
    visitor.fault("duplicate_fill_report", count=1)
    await visitor.bought()
    kinds = [event.kind for event in events]
    assert kinds[:3] == ["opened", "filled", "filled"]
    assert events[1] == events[2]
    assert len(visitor.exchange.customer.fills) == kinds.count("filled") - 1
