"""The most profitable first, of each pair its newest; the oldest are pushed out."""

import asyncio
from dataclasses import replace

import pytest

from bots.decide.opportunity_queue import OpportunityQueue
from market.instruments.markets import Market
from market.prices.opportunities import Opportunity
from tests.market.samples import EUR_MARKET, USD_MARKET, levels, opportunity_of


def opportunity(identity: str, profit: float = 1.0, buy: Market = USD_MARKET, sell: Market = EUR_MARKET) -> Opportunity:
    made = opportunity_of((buy, levels(("100", "1"))), (sell, levels(("100", "1"))), identity=identity)
    return replace(made, expected_profit=profit)


def other_way(identity: str, profit: float) -> Opportunity:
    return opportunity(identity, profit, EUR_MARKET, USD_MARKET)


@pytest.mark.parametrize(
    ("pushed", "order"),
    [
        ([opportunity("1"), opportunity("2"), opportunity("3")], ["3", "2", "1"]),
        ([opportunity("small", 1.0), other_way("large", 9.0)], ["large", "small"]),
        ([other_way("large", 9.0), opportunity("small", 1.0)], ["large", "small"]),
        ([opportunity("old", 9.0), opportunity("new", 1.0), other_way("other", 5.0)], ["other", "new", "old"]),
        ([opportunity("first", 5.0), other_way("second", 5.0)], ["second", "first"]),
    ],
)
async def test_in_order_of_profit(pushed: list[Opportunity], order: list[str]) -> None:
    queue = OpportunityQueue()
    for one in pushed:
        queue.push(one)
    assert [(await queue.best()).opportunity_id for _ in pushed] == order
    assert not queue.has_any()


async def test_the_oldest_is_pushed_out() -> None:
    queue = OpportunityQueue(size=2)
    for identity in ("1", "2", "3"):
        queue.push(opportunity(identity))
    assert [(await queue.best()).opportunity_id for _ in range(2)] == ["3", "2"]


async def test_waits_while_there_is_none() -> None:
    queue = OpportunityQueue()
    waiting = [asyncio.create_task(queue.best()) for _ in range(2)]
    await asyncio.sleep(0)
    queue.push(opportunity("1"))
    done, pending = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    assert len(done) == len(pending) == 1
    queue.push(opportunity("2"))
    assert {(await task).opportunity_id for task in waiting} == {"1", "2"}
