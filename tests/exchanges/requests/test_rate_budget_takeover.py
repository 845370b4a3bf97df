"""What an account's bot has used of the exchange's rate limits is known to the process that takes over from it."""

import asyncio
from dataclasses import dataclass
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exchanges.catalogue import EXCHANGES
from exchanges.errors import ExchangeUnavailableError, NotPostedError
from exchanges.rate_counters import Limit
from exchanges.requests.rate_budget import RateBudget, account_budget, requests_for
from exchanges.requests.rate_limits import rules_of
from market.time_units import MICROSECONDS

SPENDS = ("order", "look")
TAKEN_OVER = "taken over"
Event = tuple[str, int]
"""What, and how many milliseconds later than the last."""

EVENTS = st.lists(
    st.tuples(st.sampled_from((*SPENDS, *SPENDS, TAKEN_OVER)), st.sampled_from((0, 1, 700, 4_000, 59_999, 61_000))),
    max_size=25,
)
MANY = 40
"""Requests of one kind at a time, so that limits are reached within few events."""


@dataclass
class Clock:
    now: int = 0
    """The time of all processes together; each one's own clock began at another time."""


def process_at(clock: Clock, exchange: str) -> RateBudget:
    """Return the budget of a process that has just been started, on a machine that has been up for five seconds."""
    began = clock.now - 5 * MICROSECONDS
    return account_budget(exchange, lambda: clock.now - began)


def successor(budget: RateBudget, clock: Clock, ago: int = 0) -> RateBudget:
    """Return the budget of another process, which takes over `ago` microseconds after this one wrote what it had
    used."""
    used = budget.used()
    clock.now += ago
    following = process_at(clock, budget.exchange)
    following.take_over(used, ago)
    return following


def spent(budget: RateBudget, what: str) -> dict[str, int]:
    """By limit, of as many as there is room for."""
    weights = rules_of(budget.exchange).order if what == "order" else rules_of(budget.exchange).leg
    sums = dict.fromkeys(weights, 0)
    for _ in range(MANY):
        try:
            budget.spend(weights)
        except NotPostedError:
            break
        sums = {name: sums[name] + weight for name, weight in weights.items()}
    return sums


def most_in(limit: Limit, spends: list[tuple[int, int]]) -> Fraction:
    """Return the most in any window; of a counter, the highest that the exchange would have seen it."""
    if limit.how == "window":
        length = limit.seconds * MICROSECONDS
        return Fraction(max(sum(w for when, w in spends if 0 <= end - when < length) for end, _ in spends))
    level = highest = Fraction(0)
    last = spends[0][0]
    for when, weight in spends:
        level = max(Fraction(0), level - Fraction(when - last, MICROSECONDS) * limit.maximum / limit.seconds) + weight
        highest, last = max(highest, level), when
    return highest


@pytest.mark.parametrize("exchange", EXCHANGES)
@given(EVENTS)
def test_all_holders_together_never_use_more_than_one_may(exchange: str, events: list[Event]) -> None:
    clock = Clock()
    budget = process_at(clock, exchange)
    limits = {name: used.limit for name, used in budget.trades.items()}
    spends: dict[str, list[tuple[int, int]]] = {}
    for what, later in events:
        clock.now += later * 1_000
        if what == TAKEN_OVER:
            budget = successor(budget, clock, later * 250)
            continue
        for name, weight in spent(budget, what).items():
            spends.setdefault(name, []).append((clock.now, weight))
    for name, of_one in spends.items():
        assert most_in(limits[name], of_one) <= limits[name].maximum


async def used_up(exchange: str, clock: Clock) -> RateBudget:
    budget = process_at(clock, exchange)
    while budget.has_room():
        budget.spend(rules_of(exchange).order)
    read = dict.fromkeys(budget.polls, 1)
    while all(used.left(budget.clock()) >= 1 for used in budget.polls.values()):
        await budget.wait_for(read)
    return budget


@pytest.mark.parametrize("exchange", EXCHANGES)
async def test_what_is_used_up_is_so_for_the_next_and_back_in_the_limits_own_time(exchange: str) -> None:
    clock = Clock()
    budget = await used_up(exchange, clock)
    following = successor(budget, clock)
    assert not following.has_room()
    assert following.legs_left() == 0
    polling = asyncio.create_task(following.wait_for(dict.fromkeys(following.polls, 1)))
    await asyncio.sleep(0)
    assert not polling.done(), "the clock stands still, so that it waits for ever"
    polling.cancel()
    longest = max(limit.seconds for limit in rules_of(exchange).limits.values())
    later = successor(budget, clock, int(longest * MICROSECONDS))
    assert later.legs_left() == process_at(clock, exchange).legs_left()


def test_a_window_is_written_in_few_numbers() -> None:
    """It goes with every renewal of a lease, and the lease is read in every transaction."""
    clock = Clock()
    budget = process_at(clock, "bitstamp")
    for _ in range(1_500):
        clock.now += 390_000
        budget.spend({"second": 1, "all": 1})
    assert len(budget.used()) < 400


def test_after_too_many_the_next_stays_away_for_the_rest_and_twice_as_long_the_next_time() -> None:
    clock = Clock()
    budget = process_at(clock, "binance")
    for _ in range(7):
        # the last is for 64 s
        clock.now += 60 * MICROSECONDS
        budget.pause(None)
    following = successor(budget, clock, 24 * MICROSECONDS)
    assert not following.has_room()
    clock.now += 39_999_999
    with pytest.raises(NotPostedError, match="asked for a pause"):
        following.spend(rules_of("binance").order)
    clock.now += 1
    assert following.has_room()
    following.pause(None)
    clock.now += 119_999_999
    assert not following.has_room()


async def test_a_look_up_stays_away_as_well() -> None:
    clock = Clock()
    budget = process_at(clock, "bitflyer")
    budget.pause(30)
    following = successor(budget, clock)
    with requests_for("follow"), pytest.raises(ExchangeUnavailableError, match="asked for a pause"):
        await following.wait_for({"address": 1})


@pytest.mark.parametrize("used", ["", "nonsense", "{}", '{"trades":{"another limit":[[0,7]]}}'])
def test_of_another_version_nothing_is_known(used: str) -> None:
    clock = Clock()
    budget = process_at(clock, "kraken")
    budget.take_over(used, 0)
    assert budget.legs_left() == process_at(clock, "kraken").legs_left()
