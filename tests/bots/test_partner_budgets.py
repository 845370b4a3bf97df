"""What whoever decides makes of the rate limits of its own exchange and of the others'."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest

from bots.decide.partner_budgets import PartnerBudgets
from bots.decide.state_cache import StateCache
from exchanges.requests.rate_budget import RateBudget, account_budget
from market.decide.place_values import LegPace
from market.trade.arbitrages import Arbitrage, LegState
from market.trade.leases import Lease
from tests.market.samples import EUR_MARKET, USD_MARKET, arbitrage_of, levels, opportunity_of, order_leg, settings_of

OPPORTUNITY = opportunity_of((USD_MARKET, levels(("6000", "1"))), (EUR_MARKET, levels(("5618", "1"))))

EXCHANGE = "coinbaseexchange"


def budget(used: int = 0) -> RateBudget:
    """Return the budget of some exchange: four legs at once, by a clock that stands still."""
    made = account_budget(EXCHANGE, lambda: 0)
    for _ in range(used):
        made.record_leg()
    return made


def partners(used: int = 0) -> PartnerBudgets:
    return PartnerBudgets({EXCHANGE: budget(used)}, lambda: 0)


def arbitrage(number: int, state: LegState, ended_at: int = 5) -> Arbitrage:
    """With its leg at the exchange."""
    times = {"reserved": 1} if state == "reserved" else {"reserved": 1, "granted": 2}
    leg = order_leg(replace(USD_MARKET, exchange=EXCHANGE), "buy", Decimal(1), Decimal(6_000), identity=str(number))
    leg = replace(leg, state=state, times=times | ({"done": ended_at} if leg_ends(state) else {}))
    return replace(arbitrage_of(OPPORTUNITY, leg), arbitrage_id=str(number), state="reserved")


def leg_ends(state: LegState) -> bool:
    return state in ("done", "not_sent")


def reported(used: int, used_at: int) -> Lease:
    """By the exchange's own bot, with its lease."""
    return Lease(EXCHANGE, "bot", 1, 9_999, budget(used).used() or "", used_at)


def test_a_partner_has_less_with_each_leg_of_its_own_however_often_that_is_seen() -> None:
    known = partners()
    assert known.legs_left(EXCHANGE, ()) == 4
    for number in (1, 2, 2, 1):
        known.update(arbitrage(number, "done"))
    assert known.legs_left(EXCHANGE, ()) == 2
    assert known.legs_left("beta", ()) is None


@pytest.mark.parametrize("state", ["reserved", "granted"])
def test_an_open_leg_is_counted_while_it_is_open_and_once_when_it_has_ended(state: LegState) -> None:
    known, waiting = partners(), arbitrage(3, state)
    known.update(waiting)
    assert known.legs_left(EXCHANGE, (waiting,)) == 3
    assert known.legs_left(EXCHANGE, ()) == 4
    known.update(arbitrage(3, "done"))
    assert known.legs_left(EXCHANGE, ()) == 3


def test_what_was_never_granted_cost_nothing() -> None:
    known, ended = partners(), arbitrage(1, "not_sent")
    known.update(replace(ended, legs=tuple(replace(leg, times={"reserved": 1, "done": 5}) for leg in ended.legs)))
    assert known.legs_left(EXCHANGE, ()) == 4


def test_what_is_being_reserved_counts_before_it_is_known() -> None:
    assert partners().legs_left(EXCHANGE, (), reserving=3) == 1


def test_what_its_own_bot_reports_replaces_the_estimate() -> None:
    """It knows of its reads, its retries and what it was never asked for; legs that ended since then are added."""
    known = partners()
    known.update(arbitrage(1, "done", ended_at=5))
    known.update(arbitrage(2, "done", ended_at=11))
    known.observe(reported(2, used_at=10), now=20)
    assert known.legs_left(EXCHANGE, ()) == 1
    known.observe(reported(0, used_at=10), now=30)
    assert known.legs_left(EXCHANGE, ()) == 1, "the same report is read once"
    known.observe(reported(0, used_at=12), now=30)
    assert known.legs_left(EXCHANGE, ()) == 4


def test_a_bot_that_reports_nothing_is_estimated_on() -> None:
    known = partners(used=1)
    known.observe(replace(reported(0, used_at=10), used=""), now=20)
    known.observe(replace(reported(0, used_at=10), exchange="beta"), now=20)
    assert known.legs_left(EXCHANGE, ()) == 3
    assert known.legs_left("beta", ()) is None


@pytest.mark.parametrize("own", ["alpha", "beta", "gamma"])
@pytest.mark.parametrize(("alpha", "beta", "left"), [(4, 2, 2), (1, 4, 1), (0, 4, 0), (4, 0, 0)])
def test_both_exchanges_limit_a_trade_whoever_decides(own: str, alpha: int, beta: int, left: int) -> None:
    """The decider's own exchange is counted by its account, the others are estimated; it need have no leg."""
    room = {"alpha": alpha, "beta": beta, "gamma": 0}
    cache = StateCache(settings_of(), own, legs_left=lambda: room[own])
    cache.partners = PartnerBudgets({name: budget(4 - room[name]) for name in room if name != own})
    assert fewer(cache, 0) == left
    assert fewer(cache, 1) == left - 1
    leg = replace(order_leg(USD_MARKET, "buy", Decimal(1), Decimal(6_000)), state="granted")
    cache.open = {"1": arbitrage_of(OPPORTUNITY, leg)}
    assert fewer(cache, 0) == min(alpha - 1, beta)


def fewer(cache: StateCache, under_way: int) -> int:
    return min(left for left in cache.places_left(OPPORTUNITY, under_way) if left is not None)


def test_without_limits_there_is_no_estimate() -> None:
    assert StateCache(settings_of(), "alpha").places_left(OPPORTUNITY, 3) == (None, None)


def test_the_paces_are_those_of_the_exchanges_with_limits() -> None:
    paces = PartnerBudgets({EXCHANGE: budget(used=2)}, lambda: 0).paces()
    # four at once whatever is used now, three requests each of 9 a second that are for trades
    assert paces == {EXCHANGE: LegPace(at_once=4, a_minute=Fraction(180))}
