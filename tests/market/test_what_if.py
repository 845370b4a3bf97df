"""What other settings would have decided of recorded decisions, by hand; and against the checks themselves."""

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.decide.risk_checks import CHECKS
from market.decide.settings import Settings
from market.decide.what_if import (
    JUDGED,
    SIZE,
    CountedMoney,
    PastDecision,
    WhatIfEffect,
    decided_alike,
    effect_of,
    reasons_of,
)
from tests.market.samples import settings_of
from tests.market.test_check_figures import NOW, context

SECOND = 1_000_000
COOL_DOWN_MS = 1_000


def changed(**changes: object) -> Settings:
    return settings_of(**({"cool_down_ms": COOL_DOWN_MS} | changes))


IN_FORCE = changed()


def taken(worth: str = "2", size: str = "100", risks: dict[str, object] | None = None) -> PastDecision:
    of = replace(context(risks), drift={"BTC": Decimal("-0.001"), "USD": Decimal(-50)})
    return PastDecision(of, NOW, worth=Decimal(worth), notional=Decimal(size))


def rejected(reason: str, at: int, worth: str = "3", **risks: object) -> PastDecision:
    return PastDecision(context(risks), at, reason, Decimal(worth))


def effect(decisions: list[PastDecision], before: Settings, after: Settings) -> WhatIfEffect:
    return effect_of(decided_alike(decisions, before), before, after)


TIGHTENED: list[tuple[dict[str, object], str | None]] = [
    ({"min_net_bps": 60}, "below_threshold"),
    ({"asset_thresholds": {"BTC": 60}}, "below_threshold"),
    ({"pair_thresholds": {"alpha>beta": 60}}, "below_threshold"),
    ({"max_quote_age_ms": 40}, "stale"),
    ({"enabled_exchanges": ("alpha",)}, "exchange_disabled"),
    ({"disabled_assets": ("BTC",)}, "asset_disabled"),
    ({"min_share_above_10s": 0.5}, "not_persistent"),
    ({"quarantine_ceiling_bps": 40}, "quarantined"),
    ({"max_open_arbitrages": 2}, "too_many_open"),
    ({"cool_down_ms": 60_000}, "cooling_down"),
    ({"max_total_notional": "40"}, "total_limit"),
    ({"asset_limits": {"BTC": "40"}}, "asset_limit"),
    ({"max_asset_notional": "40"}, "asset_limit"),
    ({"exchange_limits": {"beta": "40"}}, "exchange_limit"),
    ({"max_exchange_notional": "40"}, "exchange_limit"),
    ({"max_daily_loss": "12"}, "daily_loss"),
    ({"quarantine_deviations": 2.0, "quarantine_floor_bps": 15.0}, "quarantined"),
    ({"max_exposure": "40"}, "exposure"),
    ({"max_currency_drift": "40"}, "currency_drift"),
    ({"min_net_bps": 50}, None),
    ({"max_quote_age_ms": 60}, None),
]
"""Changed settings, and the check that rejects by them."""


@pytest.mark.parametrize(("changes", "reason"), TIGHTENED)
def test_what_was_taken_would_have_been_refused_by_the_check_that_is_tightened(
    changes: dict[str, object], reason: str | None
) -> None:
    notional = dict.fromkeys(("total", "base|BTC", "exchange|beta"), Decimal(50))
    risks: dict[str, object] = {
        "open_arbitrages": 3,
        "notional": notional,
        "pair_reserved_at": 8_000_000 - SECOND,
        "day_net": Decimal(-12),
    }
    decisions = [taken(worth, risks=risks) for worth in ("2", "-5")]
    found = effect(decisions, IN_FORCE, changed(**changes))
    assert found.refused == ({} if reason is None else {reason: CountedMoney(2, Decimal(-3))})
    assert (found.allowed, found.smaller, found.at_most) == ({}, CountedMoney(), 0)


@pytest.mark.parametrize(
    ("reason", "risks", "changes"),
    [
        ("too_many_open", {"open_arbitrages": 4}, {"max_open_arbitrages": 9}),
        ("cooling_down", {"pair_reserved_at": 8_999_000}, {"cool_down_ms": 1}),
        ("total_limit", {"notional": {"total": Decimal(10_000)}}, {"max_total_notional": "20000"}),
    ],
)
def test_what_was_rejected_would_have_passed_once_an_episode(
    reason: str, risks: dict[str, object], changes: dict[str, object]
) -> None:
    times = ((0, "3"), (SECOND, "7"), (2 * SECOND, "1"), (60 * SECOND, "4"))
    decisions = [rejected(reason, at, worth, **risks) for at, worth in times]
    found = effect(decisions, IN_FORCE, changed(**changes))
    assert (found.allowed, found.refused) == ({reason: CountedMoney(2, Decimal(11))}, {})
    # another check still rejects it
    halved = changed(**changes, max_quote_age_ms=40)
    assert effect(decisions, IN_FORCE, halved).allowed == {}


def test_a_smaller_size_makes_less_in_proportion_and_a_larger_one_is_not_known() -> None:
    decisions = [taken("2", "1000"), taken("-4", "500"), taken("1", "100")]
    found = effect(decisions, IN_FORCE, changed(max_notional="250"))
    # three quarters of 2 and half of −4 are not made
    assert (found.smaller, found.at_most, found.refused) == (CountedMoney(2, Decimal("0.5")), 0, {})
    # another change says nothing of what was larger before the maximum was lowered
    lower, other = changed(max_notional="250"), changed(max_notional="250", min_net_bps=45)
    assert effect(decisions, lower, other).smaller == CountedMoney()
    fewer = effect(decisions, lower, changed(max_notional="200")).smaller
    assert fewer == CountedMoney(2, Decimal("0.3"))
    larger = effect(decisions, IN_FORCE, changed(max_notional="5000"))
    assert (larger.smaller, larger.at_most) == (CountedMoney(), 1)


def test_what_the_settings_in_force_decide_otherwise_is_no_effect_of_the_change() -> None:
    # taken at 50 bps while the threshold was lower; rejected for open arbitrages while fewer were allowed
    decisions = [taken(), rejected("too_many_open", 0, open_arbitrages=2)]
    in_force, after = changed(min_net_bps=55), changed(min_net_bps=60, max_open_arbitrages=9)
    found = effect(decisions, in_force, after)
    assert (found.refused, found.allowed) == ({}, {})


@given(
    min_net_bps=st.integers(0, 100),
    max_quote_age_ms=st.integers(1, 100),
    max_open_arbitrages=st.integers(1, 9),
    max_notional=st.integers(1, 5_000),
    open_now=st.lists(st.integers(0, 9), max_size=8),
)
def test_the_same_settings_have_no_effect_and_each_decision_counts_once(
    min_net_bps: int, max_quote_age_ms: int, max_open_arbitrages: int, max_notional: int, open_now: list[int]
) -> None:
    after = changed(
        min_net_bps=min_net_bps,
        max_quote_age_ms=max_quote_age_ms,
        max_open_arbitrages=max_open_arbitrages,
        max_notional=str(max_notional),
    )
    decisions = [taken(risks={"open_arbitrages": number}) for number in open_now]
    decisions += [rejected("too_many_open", number, open_arbitrages=number) for number in open_now]
    same = effect(decisions, after, after)
    assert same == WhatIfEffect({}, {}, CountedMoney(), 0)
    found = effect(decisions, IN_FORCE, after)
    of_taken = sum(one.count for one in found.refused.values())
    assert of_taken + found.smaller.count <= len(open_now)
    assert sum(one.count for one in found.allowed.values()) <= len(open_now)


def test_the_checks_that_depend_on_a_setting_are_known_and_every_setting_exists() -> None:
    assert reasons_of(["max_open_arbitrages", "cool_down_ms"]) == ("too_many_open", "cooling_down")
    assert reasons_of(["ma_notional"]) == ()
    assert {SIZE, *(name for changes, reason in TIGHTENED if reason for name in changes)} == JUDGED
    assert {check.reason for check in CHECKS} >= set(reasons_of(JUDGED))
