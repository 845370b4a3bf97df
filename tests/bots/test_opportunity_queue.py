"""Newest first, oldest pushed out."""

import asyncio

from bots.decide.opportunity_queue import OpportunityQueue
from market.prices.opportunities import Opportunity
from tests.market.samples import EUR_MARKET, USD_MARKET, levels, opportunity_of


def opportunity(identity: str) -> Opportunity:
    return opportunity_of((USD_MARKET, levels(("100", "1"))), (EUR_MARKET, levels(("100", "1"))), identity=identity)


async def test_newest_first_and_the_oldest_pushed_out() -> None:
    queue = OpportunityQueue(size=2)
    for identity in ("1", "2", "3"):
        queue.push(opportunity(identity))
    assert [(await queue.newest()).opportunity_id for _ in range(2)] == ["3", "2"]


async def test_waits_where_there_is_none() -> None:
    queue = OpportunityQueue()
    waiting = [asyncio.create_task(queue.newest()) for _ in range(2)]
    await asyncio.sleep(0)
    queue.push(opportunity("1"))
    done, pending = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    assert len(done) == len(pending) == 1
    queue.push(opportunity("2"))
    assert {(await task).opportunity_id for task in waiting} == {"1", "2"}
