"""Every name that a person may meet has words of its own."""

from typing import get_args

import pytest

from market.accounting.rebalancing import NotSent
from market.decide.circuit_breaker import FailureKind
from market.decide.kill_switch import TradingState
from market.decide.risk_checks import CHECKS
from market.decide.sizing import SizingRejection
from market.prices.feed_state import FeedStatus
from market.trade.arbitrages import PROFIT_PARTS as PARTS
from market.trade.arbitrages import ArbitrageState, LegRole, LegState, Strategy
from market.trade.lifecycle import Stage
from store.records.processes import ProcessState
from wording.labels import PROFIT_PARTS, REASONS, ROLES, STATES, STRATEGIES, reason_name, state_name


def test_every_name_of_the_program_has_its_words() -> None:
    kinds = (ArbitrageState, LegState, Stage, ProcessState, FeedStatus, TradingState)
    states = {state for kind in kinds for state in get_args(kind)} - {"running"}
    assert states - STATES.keys() == set()
    reasons = {check.reason for check in CHECKS} | {*get_args(NotSent), *get_args(FailureKind)}
    assert (reasons | {*get_args(SizingRejection)} - {"limit_reached"}) - REASONS.keys() == set()
    assert {*get_args(LegRole)} == ROLES.keys()
    assert {*get_args(Strategy)} == STRATEGIES.keys()
    assert {*PARTS} == PROFIT_PARTS.keys()


@pytest.mark.parametrize("words", [*REASONS.values(), *STATES.values()])
def test_words_are_short_and_for_people(words: str) -> None:
    assert "_" not in words
    assert not words.endswith(".")
    assert len(words) <= 40


def test_what_has_no_words_is_said_plainly() -> None:
    assert reason_name("too_many_open") == "Too many open arbitrages"
    assert reason_name("some_new_reason") == "Some new reason"
    assert (state_name("single_leg"), state_name("a_new_state")) == ("single leg", "a new state")
