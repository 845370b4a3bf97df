"""The newest burst first, of it the most profitable; one of each pair; the last in order is dropped."""

import asyncio
from dataclasses import replace

import pytest

from bots.decide.opportunity_queue import BURST, OpportunityQueue
from market.instruments.markets import Market
from market.money import decimal_of
from market.prices.opportunities import Opportunity
from tests.market.samples import EUR_MARKET, USD_MARKET, levels, opportunity_of

LATER = 5 + BURST


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


def order_in(queue: OpportunityQueue) -> list[str]:
    found = []
    while queue.has_any():
        best = queue.take()
        assert best is not None
        found.append(best.opportunity_id)
    return found


@pytest.mark.parametrize(
    ("pushed", "order"),
    [
        ([opportunity("1"), opportunity("2"), opportunity("3")], ["3"]),
        ([opportunity("small", 1.0), other_way("large", 9.0)], ["large", "small"]),
        ([other_way("large", 9.0), opportunity("small", 1.0)], ["large", "small"]),
        ([opportunity("gone", 9.0), opportunity("new", 1.0, LATER), other_way("other", 5.0)], ["new", "other"]),
        ([opportunity("new", 1.0, 6), opportunity("late", 9.0)], ["new"]),
        (
            [other_way("old", 9.0), opportunity("new", 1.0, LATER), elsewhere("best", 2.0, LATER)],
            ["best", "new", "old"],
        ),
        # of one burst the most profitable, whichever came first
        ([other_way("early", 9.0), opportunity("last", 1.0, LATER - 1)], ["early", "last"]),
        ([opportunity("last", 1.0, LATER - 1), other_way("early", 9.0)], ["early", "last"]),
        ([opportunity("first", 5.0), other_way("second", 5.0)], ["second", "first"]),
    ],
)
def test_the_order(pushed: list[Opportunity], order: list[str]) -> None:
    assert order_in(queue_of(pushed)) == order


@pytest.mark.parametrize(
    ("pushed", "order"),
    [
        ([opportunity("large", 9.0), other_way("small", 1.0), elsewhere("middle", 5.0)], ["large", "middle"]),
        ([opportunity("large", 9.0), other_way("middle", 5.0), elsewhere("small", 1.0)], ["large", "middle"]),
        (
            [opportunity("old", 9.0, 5), other_way("small", 1.0, LATER), elsewhere("middle", 5.0, LATER)],
            ["middle", "small"],
        ),
        ([opportunity("1"), opportunity("2"), opportunity("3"), other_way("4", 0.5)], ["3", "4"]),
    ],
)
def test_of_too_many_the_last_in_order_is_dropped(pushed: list[Opportunity], order: list[str]) -> None:
    assert order_in(queue_of(pushed, size=2)) == order


@pytest.mark.parametrize(("at", "left"), [(4, ["other", "known"]), (5, ["other"]), (6, ["other"])])
def test_a_newer_find_of_its_pair_removes_it(at: int, left: list[str]) -> None:
    queue = queue_of([opportunity("known", 1.0), other_way("other", 2.0)])
    queue.remove_older(opportunity("seen", at=at))
    assert order_in(queue) == left


async def test_waits_while_there_is_none() -> None:
    queue = queue_of([])
    assert queue.take() is None
    waiting = asyncio.create_task(queue.filled())
    await asyncio.sleep(0)
    assert not waiting.done()
    queue.push(opportunity("1"))
    await waiting
    assert queue.has_any(), "it is taken when it is decided on"
