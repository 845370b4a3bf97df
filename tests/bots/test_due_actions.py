"""What is due about open arbitrages."""

from dataclasses import replace
from decimal import Decimal

import pytest

from bots.execute.due_actions import DueAction, Executing, due_actions, has_leg_at, is_in_flight_at
from market.trade.arbitrages import Arbitrage, ArbitrageState, Leg, LegState
from market.trade.leg_planning import Markets, markets_by_symbol
from tests.market.samples import EUR_MARKET, USD_MARKET, arbitrage_of, levels, opportunity_of, order_leg

ONE = Decimal(1)
ZERO = Decimal(0)
NOW = 200
"""The last moment of `send_by`."""
TOKEN = 7
"""Of the lease of the process that asks."""
SYMBOLS = markets_by_symbol((USD_MARKET, EUR_MARKET))
OPPORTUNITY = opportunity_of((USD_MARKET, levels(("100", "1"))), (EUR_MARKET, levels(("100", "1"))))


def leg(state: LegState, held: Decimal = ONE, token: int = TOKEN) -> Leg:
    return replace(order_leg(USD_MARKET, "buy", ONE, ONE), state=state, held=held, token=token)


def other(state: LegState) -> Leg:
    return replace(order_leg(EUR_MARKET, "sell", ONE, ONE), state=state)


def arbitrage(state: ArbitrageState, *legs: Leg) -> Arbitrage:
    return replace(arbitrage_of(OPPORTUNITY, *legs), state=state, send_by=NOW)


def due(
    one: Arbitrage,
    exchange: str = "alpha",
    now: int = NOW,
    markets: Markets = SYMBOLS,
    posted: frozenset[str] = frozenset(),
) -> list[DueAction]:
    return due_actions([one], Executing(exchange, TOKEN, markets, posted), now)


@pytest.mark.parametrize(
    ("mine", "theirs", "expected"),
    [
        (leg("granted"), other("granted"), "execute"),
        (leg("granted"), other("done"), "execute"),
        # the process before it may have posted it, or is about to
        (leg("granted", token=TOKEN - 1), other("granted"), "resolve"),
        # so may one that has taken over since
        (leg("granted", token=TOKEN + 1), other("granted"), "resolve"),
        (leg("reserved"), other("done"), "grant"),
        (leg("done", ZERO), other("granted"), None),
        (leg("not_sent", ZERO), other("granted"), None),
        (leg("not_sent"), other("granted"), "settle"),
        (leg("done", ZERO), other("done"), "settle"),
    ],
)
def test_own_legs(mine: Leg, theirs: Leg, expected: str | None) -> None:
    things = due(arbitrage("reserved", mine, theirs))
    assert [thing.what for thing in things] == ([] if expected is None else [expected])
    assert all(thing.leg is mine for thing in things)


def test_what_it_has_begun_to_post_is_looked_up_only() -> None:
    mine = leg("granted")
    one = arbitrage("reserved", mine, other("granted"))
    assert [thing.what for thing in due(one, posted=frozenset({mine.client_order_id}))] == ["resolve"]


@pytest.mark.parametrize(("mine", "expected"), [(leg("reserved"), "grant"), (leg("granted"), "execute")])
def test_an_own_leg_past_its_time_is_still_its_own(mine: Leg, expected: str) -> None:
    """The store ends the one, the wire the other: nobody else may be there."""
    one = arbitrage("single_leg", mine, other("done"))
    assert [thing.what for thing in due(one, now=NOW + 1)] == [expected]


@pytest.mark.parametrize(
    ("mine", "theirs", "expected"),
    [
        (leg("reserved"), other("done"), "grant"),
        # only the account there can look it up
        (leg("granted"), other("done"), None),
        (leg("not_sent"), other("granted"), "settle"),
        (leg("done", ZERO), other("granted"), None),
    ],
)
def test_what_another_left_past_its_time(mine: Leg, theirs: Leg, expected: str | None) -> None:
    one = arbitrage("reserved", mine, theirs)
    assert not any(thing.leg is mine for thing in due(one, "beta"))
    things = [thing.what for thing in due(one, "beta", NOW + 1) if thing.leg is mine]
    assert things == ([] if expected is None else [expected])


@pytest.mark.parametrize(
    ("mine", "expected"),
    [(leg("reserved"), True), (leg("granted"), True), (leg("not_sent"), True), (leg("done", ZERO), False)],
)
def test_a_leg_of_a_market_that_is_gone_is_abandoned_by_anybody_once_late(mine: Leg, expected: bool) -> None:
    one = arbitrage("reserved", mine, other("granted"))
    gone = markets_by_symbol((EUR_MARKET,))
    for exchange in ("alpha", "gamma"):
        assert due(one, exchange, markets=gone) == []
        assert [thing.what for thing in due(one, exchange, NOW + 1, gone)] == (["abandon"] if expected else [])


@pytest.mark.parametrize(("state", "expected"), [("granted", "execute"), ("reserved", "grant")])
def test_an_added_leg_is_due_at_its_exchange_alone(state: LegState, expected: str) -> None:
    added = replace(order_leg(EUR_MARKET, "sell", ONE, ONE), role="complete", state=state, held=ONE, token=TOKEN)
    one = arbitrage("single_leg", leg("done", ZERO), other("done"), added)
    assert due(one) == []
    assert [(thing.what, thing.leg) for thing in due(one, "beta")] == [(expected, added)]


def test_of_an_ended_arbitrage_nothing_is_due() -> None:
    assert due(arbitrage("residual", leg("granted"), other("reserved")), now=NOW + 1) == []


def test_what_is_open_at_an_exchange_and_what_is_in_flight_there() -> None:
    one = arbitrage("single_leg", leg("done"), other("granted"))
    assert [has_leg_at([one], name) for name in ("alpha", "beta", "gamma")] == [True, True, False]
    assert [is_in_flight_at([one], name) for name in ("alpha", "beta", "gamma")] == [False, True, False]
    assert not has_leg_at([], "alpha")
    assert is_in_flight_at([arbitrage("single_leg", leg("reserved"))], "alpha")
