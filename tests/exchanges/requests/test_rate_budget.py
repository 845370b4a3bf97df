"""What a bot has of an exchange's rate limits: how many legs may begin, what is kept for open ones, who waits."""

import asyncio
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exchanges.catalogue import EXCHANGES
from exchanges.errors import ExchangeUnavailableError, NotPostedError
from exchanges.ports.limits import CountedRequest, Weights
from exchanges.requests.rate_budget import (
    OPEN_TRADES_SHARE,
    RESERVED_ORDERS,
    Purpose,
    RateBudget,
    account_budget,
    requests_for,
)
from exchanges.requests.rate_limits import rules_of
from market.decide.place_values import LegPace
from market.time_units import MICROSECONDS
from tests.market.samples import settings_of

POSTS = {
    "coinbaseexchange": CountedRequest(True, "POST", "orders", {}),
    "bitstamp": CountedRequest(True, "POST", "buy/{pair}/", {}),
    "bitflyer": CountedRequest(True, "POST", "sendchildorder", {"size": 0.01}),
    "kraken": CountedRequest(True, "POST", "AddOrder", {}),
    "binance": CountedRequest(True, "POST", "order", {}, 0.2),
    "bybit": CountedRequest(True, "POST", "v5/order/create", {}),
    "okx": CountedRequest(True, "POST", "trade/order", {}),
    "coinbase": CountedRequest(True, "POST", "brokerage/orders", {}),
}


PURPOSES: tuple[Purpose, ...] = ("poll", "follow", "close")
DEFAULTS = settings_of()


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


async def traded(budget: RateBudget) -> None:
    """One leg, and what follows it."""
    post = rules_of(budget.exchange).count(POSTS[budget.exchange])
    budget.spend(post)
    with requests_for("follow"):
        await budget.wait_for(less(rules_of(budget.exchange).leg, post))


# legs at once, then one by one over ten minutes with all of it used up before
@pytest.mark.parametrize(
    ("exchange", "at_once", "in_ten_minutes"),
    [
        ("coinbaseexchange", 4, 1_796),
        ("bitstamp", 40, 1_000),
        ("bitflyer", 6, 66),
        ("kraken", 3, 60),
        ("binance", 9, 480),
        ("bybit", 14, 4_800),
        ("okx", 24, 7_200),
        ("coinbase", 4, 2_400),
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


async def test_a_window_of_five_minutes_is_not_gone_in_two() -> None:
    """Whenever prices jump, bitFlyer has places: a tenth of a minute's wait brings another leg."""
    budget, clock = at("bitflyer")
    begun: list[int] = []
    for second in range(240):
        clock.now = second * MICROSECONDS
        while budget.legs_left():
            await traded(budget)
            begun.append(second)
    assert [sum(start <= second < start + 60 for second in begun) for start in (0, 60, 120, 180)] == [13, 6, 7, 7]
    assert max(later - second for second, later in pairwise(begun)) <= 9


@dataclass
class Leg:
    at: int
    weights: Weights


WAITS = st.lists(st.tuples(st.integers(0, 90), st.integers(0, 20), st.integers(0, 20)), max_size=20)
"""Seconds, then so many new legs and further orders, as far as there is room."""


@pytest.mark.parametrize("exchange", EXCHANGES)
@given(waits=WAITS)
def test_new_trades_never_go_beyond_their_part_and_are_never_starved(
    exchange: str, waits: list[tuple[int, int, int]]
) -> None:
    budget, clock = at(exchange)
    begun: list[Leg] = []
    for seconds, legs, further in waits:
        clock.now += seconds * MICROSECONDS
        for _ in range(min(legs, budget.legs_left() or 0)):
            budget.record_leg()
            begun.append(Leg(clock.now, rules_of(exchange).leg))
        for _ in range(further):
            if budget.has_room():
                budget.spend(rules_of(exchange).order)
    for name, spread in budget.entries.items():
        part, length = budget.trades[name].limit, budget.trades[name].limit.seconds * MICROSECONDS
        for first in begun:
            within = [leg for leg in begun if 0 <= leg.at - first.at < length]
            assert sum(leg.weights[name] for leg in within) <= part.maximum * (1 - OPEN_TRADES_SHARE) + 1
            at_once = [leg for leg in within if leg.at == first.at]
            assert sum(leg.weights[name] for leg in at_once) <= spread.limit.maximum
    pace = budget.pace()
    assert pace is not None
    clock.now += int(max(used.limit.seconds for used in budget.trades.values()) * MICROSECONDS)
    assert budget.legs_left() == pace.at_once > 0


@pytest.mark.parametrize(
    ("exchange", "pace"),
    [
        ("coinbaseexchange", LegPace(4, Fraction(180))),
        ("bitstamp", LegPace(40, Fraction(100))),
        ("bitflyer", LegPace(6, Fraction(20, 3))),
        ("kraken", LegPace(3, Fraction(6))),
        ("binance", LegPace(9, Fraction(48))),
        ("bybit", LegPace(14, Fraction(480))),
        ("okx", LegPace(24, Fraction(720))),
        ("coinbase", LegPace(4, Fraction(240))),
    ],
)
def test_the_pace_is_what_an_unused_budget_allows(exchange: str, pace: LegPace) -> None:
    budget, _ = at(exchange)
    budget.record_leg()
    assert budget.pace() == pace


@pytest.mark.parametrize("exchange", EXCHANGES)
async def test_new_trades_leave_room_for_those_that_are_open(exchange: str) -> None:
    budget, _ = at(exchange)
    while budget.legs_left():
        await traded(budget)
    post = rules_of(exchange).count(POSTS[exchange])
    assert budget.has_room()
    unwound = 0
    while budget.has_room():
        # what is over half done is not rejected for what is kept from new trades
        budget.spend(post)
        unwound += 1
    assert unwound >= RESERVED_ORDERS
    assert all(used.left(0) >= 0 for used in budget.trades.values())
    with pytest.raises(NotPostedError, match=exchange):
        budget.spend(post)


@pytest.mark.parametrize("exchange", EXCHANGES)
async def test_no_row_of_look_ups_keeps_an_order_from_leaving(exchange: str) -> None:
    """They wait if they would use up the part that is left for orders that end a trade."""
    budget, _ = at(exchange)
    looks = less(rules_of(exchange).leg, rules_of(exchange).count(POSTS[exchange]))

    async def look_for_ever() -> None:
        with requests_for("follow"):
            for _ in range(10_000):
                await budget.wait_for(looks)

    looking = asyncio.create_task(look_for_ever())
    await asyncio.sleep(0)
    assert not looking.done(), "the clock stands still, so that it waits for ever"
    post = rules_of(exchange).count(POSTS[exchange])
    for _ in range(RESERVED_ORDERS):
        budget.spend(post)
    looking.cancel()


@pytest.mark.parametrize("exchange", EXCHANGES)
async def test_polls_take_nothing_from_trades_and_trades_nothing_from_polls(exchange: str) -> None:
    budget, _ = at(exchange)
    before = budget.legs_left()
    read = dict.fromkeys(budget.polls, 1)
    async with asyncio.timeout(20):
        while all(used.left(0) >= 1 for used in budget.polls.values()):
            await budget.wait_for(read)
    assert budget.legs_left() == before
    waiting = asyncio.create_task(budget.wait_for(read))
    async with asyncio.timeout(20):
        with requests_for("follow"):
            await budget.wait_for(read)
    assert not waiting.done()
    waiting.cancel()


@pytest.mark.parametrize("exchange", EXCHANGES)
@pytest.mark.parametrize("used", ["polls", "trades"])
async def test_the_last_read_takes_what_either_part_has_left(exchange: str, used: str) -> None:
    """Even what is reserved for orders: none follow. Closing balances would wait for a minute's window otherwise."""
    budget, _ = at(exchange)
    used_up, other = (budget.polls, budget.trades) if used == "polls" else (budget.trades, budget.polls)
    read = dict.fromkeys(budget.polls, 1)
    for count in used_up.values():
        count.add(count.limit.maximum, 0)
    if used == "polls":
        for name in read:
            # all but the reserve
            other[name].add(other[name].limit.maximum - 1, 0)
    before = {name: other[name].level(0) for name in read}
    async with asyncio.timeout(20):
        with requests_for("close"):
            await budget.wait_for(read)
    assert all(one.left(0) == 0 for one in used_up.values())
    assert {name: other[name].level(0) - before[name] for name in read} == dict.fromkeys(read, 1)


@pytest.mark.parametrize("exchange", EXCHANGES)
def test_all_parts_together_are_no_more_than_the_exchange_allows(exchange: str) -> None:
    budget, _ = at(exchange)
    for name, limit in rules_of(exchange).limits.items():
        share = rules_of(exchange).bots_share if name in rules_of(exchange).of_the_address else 1
        parts = [purse[name].limit for purse in (budget.polls, budget.trades) if name in purse]
        assert sum(part.maximum for part in parts) <= limit.maximum * share
        assert sum(part.maximum / part.seconds for part in parts) <= limit.maximum / limit.seconds * share


def test_after_too_many_nothing_begins_until_the_exchange_wants_it() -> None:
    budget, clock = at("binance")
    budget.pause(30)
    assert budget.legs_left() == 0
    assert not budget.has_room()
    clock.now = 30 * MICROSECONDS
    assert budget.legs_left() == 9
    assert budget.has_room()


async def test_after_too_many_nothing_at_all_leaves_until_the_exchange_wants_it() -> None:
    """A ban lengthens for who goes on asking."""
    budget, clock = at("binance")
    budget.pause(30)
    for purpose in PURPOSES:
        with requests_for(purpose), pytest.raises(ExchangeUnavailableError, match="asked for a pause"):
            await budget.wait_for({"weight": 1})
    with pytest.raises(NotPostedError, match="asked for a pause"):
        budget.spend({"weight": 1, "orders": 1})
    clock.now = 30 * MICROSECONDS
    await budget.wait_for({"weight": 1})
    budget.spend({"weight": 1, "orders": 1})


async def test_after_too_many_polls_begin_one_by_one_and_look_ups_at_once() -> None:
    """The exchange's count is fuller than ours: what was asked before a restart is in it."""
    budget, clock = at("bitflyer")
    look = {"address": 1, "private": 1}
    budget.pause(1)
    clock.now += MICROSECONDS
    polling = asyncio.create_task(budget.wait_for(look))
    async with asyncio.timeout(20):
        with requests_for("follow"):
            for _ in range(20):
                await budget.wait_for(look)
    assert not polling.done()
    polling.cancel()
    # one in 3.75 s
    clock.now += 4 * MICROSECONDS
    async with asyncio.timeout(20):
        await budget.wait_for(look)


def shut_for(budget: RateBudget, clock: Clock) -> int:
    """Seconds of a "too many" that says nothing; the clock stands at its end then."""
    since = clock.now
    budget.pause(None)
    while not budget.has_room():
        clock.now += MICROSECONDS
    return (clock.now - since) // MICROSECONDS


def test_without_a_word_how_long_each_pause_is_twice_the_last_until_an_answer() -> None:
    budget, clock = at("binance")
    pauses = [shut_for(budget, clock) for _ in range(9)]
    assert pauses == [1, 2, 4, 8, 16, 32, 64, 120, 120]
    budget.pause(None)
    # two that were asked together are rejected together, and answers to what went before are no sign of favour
    budget.pause(None)
    budget.record_answer()
    clock.now += 120 * MICROSECONDS
    assert budget.has_room()
    assert shut_for(budget, clock) == 120
    budget.record_answer()
    assert shut_for(budget, clock) == 1


def test_kraken_is_polled_as_often_as_reconciliation_needs() -> None:
    """Balances, open orders and fills, which count twice, once in `reconcile_ms`."""
    limit = at("kraken")[0].polls["private"].limit
    assert limit.maximum / limit.seconds >= Fraction(4 * 1_000, DEFAULTS.reconcile_ms)


@pytest.mark.parametrize(
    ("exchange", "asked", "weights"),
    [
        ("coinbaseexchange", CountedRequest(False, "GET", "time", {}), {"public": 1}),
        ("coinbaseexchange", CountedRequest(True, "GET", "fills", {}), {"private": 1, "fills": 1}),
        ("bitflyer", CountedRequest(False, "GET", "getticker", {}), {"address": 1}),
        ("bitflyer", CountedRequest(True, "GET", "getbalance", {}), {"address": 1, "private": 1}),
        (
            "bitflyer",
            CountedRequest(True, "POST", "sendchildorder", {"size": 0.1}),
            {"address": 1, "private": 1, "orders": 1, "small orders": 1},
        ),
        (
            "bitflyer",
            CountedRequest(True, "POST", "sendchildorder", {"size": Decimal("0.1001")}),
            {"address": 1, "private": 1, "orders": 1},
        ),
        ("kraken", CountedRequest(True, "POST", "AddOrder", {}), {"engine": 1}),
        ("kraken", CountedRequest(True, "POST", "CancelOrder", {}), {"engine": 8}),
        ("kraken", CountedRequest(True, "POST", "AmendOrder", {}), {"engine": 4}),
        ("kraken", CountedRequest(True, "POST", "EditOrder", {}), {"engine": 7}),
        ("kraken", CountedRequest(True, "POST", "TradesHistory", {}), {"private": 2}),
        ("kraken", CountedRequest(True, "POST", "CancelAllOrdersAfter", {}), {"private": 1}),
        ("binance", CountedRequest(True, "POST", "order", {}, 0.2), {"weight": 1, "orders": 1}),
        ("binance", CountedRequest(True, "GET", "order", {}, 0.8), {"weight": 4}),
        ("binance", CountedRequest(True, "GET", "myTrades", {}, 4), {"weight": 20}),
        ("binance", CountedRequest(False, "GET", "capital/withdraw/history", {}, 2), {"withdrawals": 1}),
        ("bybit", CountedRequest(True, "POST", "v5/order/cancel", {}), {"address": 1, "orders": 1}),
        ("bybit", CountedRequest(True, "GET", "v5/order/realtime", {}), {"address": 1, "states": 1}),
        ("bybit", CountedRequest(False, "GET", "v5/market/time", {}), {"address": 1}),
        ("okx", CountedRequest(True, "POST", "trade/cancel-order", {}), {"orders": 1}),
        ("okx", CountedRequest(True, "GET", "trade/order", {}), {"states": 1}),
        ("okx", CountedRequest(False, "GET", "market/books", {}), {"books": 1}),
        ("okx", CountedRequest(True, "GET", "account/bills", {}), {}),
        ("coinbase", CountedRequest(True, "POST", "brokerage/orders", {}), {"private": 1}),
        ("coinbase", CountedRequest(False, "GET", "brokerage/time", {}), {"public": 1}),
    ],
)
def test_what_a_request_counts_for(exchange: str, asked: CountedRequest, weights: dict[str, int]) -> None:
    assert rules_of(exchange).count(asked) == weights


@pytest.mark.parametrize("exchange", EXCHANGES)
def test_what_is_left_to_orders_is_counted_as_they_are(exchange: str) -> None:
    assert rules_of(exchange).count(POSTS[exchange]) == rules_of(exchange).order
