"""The newest first, of those found together the most profitable; one of each pair; the last in order is dropped."""

import asyncio
from dataclasses import replace

import pytest

from bots.decide.opportunity_queue import OpportunityQueue
from market.instruments.markets import Market
from market.money import decimal_of
from market.prices.opportunities import Opportunity
from tests.market.samples import EUR_MARKET, USD_MARKET, levels, opportunity_of


def opportunity(
    identity: str, profit: float = 1.0, at: int = 5, buy: Market = USD_MARKET, sell: Market = EUR_MARKET
) -> Opportunity:
    books = (buy, levels(("100", "1"))), (sell, levels(("100", "1")))
    return replace(opportunity_of(*books, identity=identity, event_time=at), expected_profit=profit)


def other_way(identity: str, profit: float = 1.0, at: int = 5) -> Opportunity:
    return opportunity(identity, profit, at, EUR_MARKET, USD_MARKET)


def elsewhere(identity: str, profit: float = 1.0, at: int = 5) -> Opportunity:
    return opportunity(identity, profit, at, replace(USD_MARKET, exchange="gamma"))


def queue_of(pushed: list[Opportunity], size: int = 64) -> OpportunityQueue:
    queue = OpportunityQueue(lambda one: decimal_of(one.expected_profit), size)
    for one in pushed:
        queue.push(one)
    return queue


async def order_in(queue: OpportunityQueue) -> list[str]:
    found = []
    while queue.has_any():
        found.append((await queue.best()).opportunity_id)
    return found


@pytest.mark.parametrize(
    ("pushed", "order"),
    [
        ([opportunity("1"), opportunity("2"), opportunity("3")], ["3"]),
        ([opportunity("small", 1.0), other_way("large", 9.0)], ["large", "small"]),
        ([other_way("large", 9.0), opportunity("small", 1.0)], ["large", "small"]),
        ([opportunity("gone", 9.0), opportunity("new", 1.0, 6), other_way("other", 5.0)], ["new", "other"]),
        ([opportunity("new", 1.0, 6), opportunity("late", 9.0)], ["new"]),
        ([other_way("old", 9.0), opportunity("new", 1.0, 6), elsewhere("best", 2.0, 6)], ["best", "new", "old"]),
        ([opportunity("first", 5.0), other_way("second", 5.0)], ["second", "first"]),
    ],
)
async def test_the_order(pushed: list[Opportunity], order: list[str]) -> None:
    assert await order_in(queue_of(pushed)) == order


@pytest.mark.parametrize(
    ("pushed", "order"),
    [
        ([opportunity("large", 9.0), other_way("small", 1.0), elsewhere("middle", 5.0)], ["large", "middle"]),
        ([opportunity("large", 9.0), other_way("middle", 5.0), elsewhere("small", 1.0)], ["large", "middle"]),
        ([opportunity("old", 9.0, 4), other_way("small", 1.0), elsewhere("middle", 5.0)], ["middle", "small"]),
        ([opportunity("1"), opportunity("2"), opportunity("3"), other_way("4", 0.5)], ["3", "4"]),
    ],
)
async def test_of_too_many_the_last_in_order_is_dropped(pushed: list[Opportunity], order: list[str]) -> None:
    assert await order_in(queue_of(pushed, size=2)) == order


@pytest.mark.parametrize(("at", "left"), [(4, ["other", "known"]), (5, ["other"]), (6, ["other"])])
async def test_a_newer_find_of_its_pair_removes_it(at: int, left: list[str]) -> None:
    queue = queue_of([opportunity("known", 1.0), other_way("other", 2.0)])
    queue.remove_older(opportunity("seen", at=at))
    assert await order_in(queue) == left


async def test_waits_while_there_is_none() -> None:
    queue = queue_of([])
    waiting = [asyncio.create_task(queue.best()) for _ in range(2)]
    await asyncio.sleep(0)
    queue.push(opportunity("1"))
    done, pending = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    assert len(done) == len(pending) == 1
    queue.push(opportunity("2"))
    assert {(await task).opportunity_id for task in waiting} == {"1", "2"}
