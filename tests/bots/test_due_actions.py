"""What is due about open arbitrages."""

from dataclasses import replace
from decimal import Decimal

import pytest

from bots.execute.due_actions import DueAction, due_actions, expired_awaiting_second_leg, is_open_at
from market.trade.arbitrages import Arbitrage, ArbitrageState, Leg, LegState
from market.trade.leg_planning import markets_by_symbol
from tests.market.samples import EUR_MARKET, USD_MARKET, arbitrage_of, levels, opportunity_of, order_leg

ONE = Decimal(1)
NOW = 200
"""The last moment of `send_by`."""
SYMBOLS = markets_by_symbol((USD_MARKET, EUR_MARKET))
OPPORTUNITY = opportunity_of((USD_MARKET, levels(("100", "1"))), (EUR_MARKET, levels(("100", "1"))))


def leg(state: LegState, held: Decimal = ONE) -> Leg:
    return replace(order_leg(USD_MARKET, "buy", ONE, ONE), state=state, held=held)


def other(state: LegState) -> Leg:
    return replace(order_leg(EUR_MARKET, "sell", ONE, ONE), state=state)


def arbitrage(state: ArbitrageState, *legs: Leg) -> Arbitrage:
    return replace(arbitrage_of(OPPORTUNITY, *legs), state=state, reserve_by=100, send_by=NOW)


@pytest.mark.parametrize(
    ("mine", "theirs", "expected"),
    [
        (leg("reserved"), other("reserved"), "execute"),
        (leg("reserved"), other("done"), "execute"),
        (leg("sending"), other("reserved"), "resolve"),
        (leg("done", Decimal(0)), other("sending"), None),
        (leg("not_sent", Decimal(0)), other("sending"), None),
        (leg("not_sent"), other("sending"), "settle"),
        (leg("done", Decimal(0)), other("done"), "settle"),
    ],
)
def test_own_legs(mine: Leg, theirs: Leg, expected: str | None) -> None:
    things = due_actions([arbitrage("reserved", mine, theirs)], "alpha", SYMBOLS, NOW)
    assert [thing.what for thing in things] == ([] if expected is None else [expected])
    assert all(thing.leg is mine for thing in things)


def test_an_own_leg_past_its_time_lapses() -> None:
    """While the exchange rejects the account nothing is executed, and nobody else may be there to end it."""
    one = arbitrage("reserved", leg("reserved"), other("done"))
    assert [thing.what for thing in due_actions([one], "alpha", SYMBOLS, NOW + 1)] == ["lapse"]


@pytest.mark.parametrize(
    ("mine", "theirs", "expected"),
    [
        (leg("reserved"), other("done"), "lapse"),
        (leg("sending"), other("done"), None),
        (leg("not_sent"), other("sending"), "settle"),
        (leg("done", Decimal(0)), other("sending"), None),
    ],
)
def test_what_another_left_past_its_time(mine: Leg, theirs: Leg, expected: str | None) -> None:
    one = arbitrage("reserved", mine, theirs)
    assert not any(thing.leg is mine for thing in due_actions([one], "beta", SYMBOLS, NOW))
    things = [thing.what for thing in due_actions([one], "beta", SYMBOLS, NOW + 1) if thing.leg is mine]
    assert things == ([] if expected is None else [expected])


@pytest.mark.parametrize(
    ("mine", "expected"),
    [(leg("reserved"), True), (leg("sending"), True), (leg("not_sent"), True), (leg("done", Decimal(0)), False)],
)
def test_a_leg_of_a_market_that_is_gone_is_abandoned_by_anybody_once_late(mine: Leg, expected: bool) -> None:
    one = arbitrage("reserved", mine, other("sending"))
    gone = markets_by_symbol((EUR_MARKET,))
    for exchange in ("alpha", "gamma"):
        assert due_actions([one], exchange, gone, NOW) == []
        assert [thing.what for thing in due_actions([one], exchange, gone, NOW + 1)] == (
            ["abandon"] if expected else []
        )


def test_an_added_leg_is_due_at_its_exchange_alone() -> None:
    added = replace(order_leg(EUR_MARKET, "sell", ONE, ONE), role="complete", state="reserved", held=ONE)
    one = arbitrage("single_leg", leg("done", Decimal(0)), other("done"), added)
    assert due_actions([one], "alpha", SYMBOLS, NOW) == []
    assert due_actions([one], "beta", SYMBOLS, NOW) == [DueAction("execute", "opportunity-1", added)]


def test_halves_expire_and_are_not_executed() -> None:
    half = arbitrage("awaiting_second_leg", leg("reserved"))
    assert due_actions([half], "alpha", SYMBOLS, NOW + 1) == []
    assert expired_awaiting_second_leg([half], 100) == []
    assert expired_awaiting_second_leg([half], 101) == [half]
    assert expired_awaiting_second_leg([arbitrage("reserved", leg("reserved"))], 101) == []


def test_is_open_at() -> None:
    one = arbitrage("awaiting_second_leg", leg("reserved"))
    assert is_open_at([one], "alpha")
    assert is_open_at([one], "beta")  # it may join in a moment
    assert not is_open_at([one], "gamma")
    assert not is_open_at([], "alpha")
    assert not is_open_at([arbitrage("single_leg", leg("done"))], "beta")
