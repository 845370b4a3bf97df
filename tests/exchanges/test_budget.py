"""What a bot has of an exchange's rate limits: how many legs may begin, what is kept for open ones, who waits."""

import asyncio
from dataclasses import dataclass
from decimal import Decimal

import pytest

from exchanges.budget import RateBudget, account_budget, asking_for
from exchanges.errors import NotPostedError
from exchanges.limits import BOTS_SHARE, BOTS_SHARES, LEGS, LIMITS, OF_THE_ADDRESS, Asked, Weights, weights_of
from market.clock import MICROSECONDS

POSTS = {
    "coinbaseexchange": Asked(True, "POST", "orders", {}),
    "bitstamp": Asked(True, "POST", "buy/{pair}/", {}),
    "bitflyer": Asked(True, "POST", "sendchildorder", {"size": 0.01}),
    "kraken": Asked(True, "POST", "AddOrder", {}),
    "binance": Asked(True, "POST", "order", {}, 0.2),
}


@dataclass
class Clock:
    now: int = 0

    def __call__(self) -> int:
        return self.now


def at(exchange: str) -> tuple[RateBudget, Clock]:
    clock = Clock()
    return account_budget(exchange, clock), clock


def less(weights: Weights, others: Weights) -> dict[str, int]:
    return {name: weight - others.get(name, 0) for name, weight in weights.items()}


async def traded(budget: RateBudget, *, is_unwinding: bool = False) -> None:
    """One leg, and what follows it."""
    post = weights_of(budget.exchange, POSTS[budget.exchange])
    budget.spend(post, is_unwinding=is_unwinding)
    with asking_for("follow"):
        await budget.turn(less(LEGS[budget.exchange], post))


# legs at once, then one by one over ten minutes with all of it used up before
@pytest.mark.parametrize(
    ("exchange", "at_once", "in_ten_minutes"),
    [
        ("coinbaseexchange", 4, 1_796),
        ("bitstamp", 40, 1_000),
        ("bitflyer", 33, 66),
        ("kraken", 4, 90),
        ("binance", 48, 480),
    ],
)
async def test_as_many_legs_begin_as_the_limits_bear(exchange: str, at_once: int, in_ten_minutes: int) -> None:
    budget, clock = at(exchange)
    assert budget.legs_left() == at_once
    for left in range(at_once, 0, -1):
        assert budget.legs_left() == left
        await traded(budget)
    assert budget.legs_left() == 0
    begun = 0
    for _ in range(6_000):
        clock.now += MICROSECONDS // 10
        while budget.legs_left():
            await traded(budget)
            begun += 1
    assert begun == pytest.approx(in_ten_minutes, rel=0.02)


@pytest.mark.parametrize("exchange", LIMITS)
async def test_new_trades_leave_room_for_those_that_are_open(exchange: str) -> None:
    budget, _ = at(exchange)
    while budget.legs_left():
        await traded(budget)
    post = weights_of(exchange, POSTS[exchange])
    unwound = 0
    async with asyncio.timeout(20):
        while not any(used.left(0) < LEGS[exchange].get(name, 0) for name, used in budget.trades.items()):
            await traded(budget, is_unwinding=True)
            unwound += 1
    assert unwound >= 2
    assert all(used.left(0) >= 0 for used in budget.trades.values())
    with pytest.raises(NotPostedError, match=exchange):
        budget.spend(dict.fromkeys(post, 10_000), is_unwinding=False)


@pytest.mark.parametrize("exchange", LIMITS)
async def test_polls_take_nothing_from_trades_and_trades_nothing_from_polls(exchange: str) -> None:
    budget, _ = at(exchange)
    before = budget.legs_left()
    read = dict.fromkeys(budget.polls, 1)
    async with asyncio.timeout(20):
        while all(used.left(0) >= 1 for used in budget.polls.values()):
            await budget.turn(read)
    assert budget.legs_left() == before
    waiting = asyncio.create_task(budget.turn(read))
    async with asyncio.timeout(20):
        with asking_for("follow"):
            await budget.turn(read)
    assert not waiting.done()
    waiting.cancel()


@pytest.mark.parametrize("exchange", LIMITS)
def test_all_parts_together_are_no_more_than_the_exchange_allows(exchange: str) -> None:
    budget, _ = at(exchange)
    for name, limit in LIMITS[exchange].items():
        share = BOTS_SHARES.get(exchange, BOTS_SHARE) if name in OF_THE_ADDRESS[exchange] else 1
        parts = [purse[name].limit for purse in (budget.polls, budget.trades) if name in purse]
        assert sum(part.most for part in parts) <= limit.most * share
        assert sum(part.most / part.seconds for part in parts) <= limit.most / limit.seconds * share


def test_after_too_many_nothing_begins_until_the_exchange_wants_it() -> None:
    budget, clock = at("binance")
    budget.shut(30)
    assert budget.legs_left() == 0
    clock.now = 30 * MICROSECONDS
    assert budget.legs_left() == 48


@pytest.mark.parametrize(
    ("exchange", "asked", "weights"),
    [
        ("coinbaseexchange", Asked(False, "GET", "time", {}), {"public": 1}),
        ("coinbaseexchange", Asked(True, "GET", "fills", {}), {"private": 1, "fills": 1}),
        ("bitflyer", Asked(False, "GET", "getticker", {}), {"address": 1}),
        ("bitflyer", Asked(True, "GET", "getbalance", {}), {"address": 1, "private": 1}),
        (
            "bitflyer",
            Asked(True, "POST", "sendchildorder", {"size": 0.1}),
            {"address": 1, "private": 1, "orders": 1, "small orders": 1},
        ),
        (
            "bitflyer",
            Asked(True, "POST", "sendchildorder", {"size": Decimal("0.1001")}),
            {"address": 1, "private": 1, "orders": 1},
        ),
        ("kraken", Asked(True, "POST", "AddOrder", {}), {"engine": 1}),
        ("kraken", Asked(True, "POST", "CancelOrder", {}), {}),
        ("kraken", Asked(True, "POST", "TradesHistory", {}), {"private": 2}),
        ("kraken", Asked(True, "POST", "CancelAllOrdersAfter", {}), {"private": 1}),
        ("binance", Asked(True, "POST", "order", {}, 0.2), {"weight": 1, "orders": 1}),
        ("binance", Asked(True, "GET", "order", {}, 0.8), {"weight": 4}),
        ("binance", Asked(True, "GET", "myTrades", {}, 4), {"weight": 20}),
    ],
)
def test_what_a_request_counts_for(exchange: str, asked: Asked, weights: dict[str, int]) -> None:
    assert weights_of(exchange, asked) == weights
