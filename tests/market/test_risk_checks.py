"""Every check at its edge, in the order of the one table; and that the table, the docs and the words agree."""

import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.decide import risk_checks as risk
from market.decide.circuit_breaker import FailureKind
from market.decide.decision_context import DecisionContext, RiskState, notional_keys
from market.decide.market_rules import rules_of
from market.decide.risk_checks import CHECKS, REASONS, first_rejection, notional_left
from market.decide.settings import Settings
from market.instruments.orders import Side
from market.money import ZERO
from market.prices.opportunities import Opportunity
from market.prices.spread_statistics import SpreadWindow
from market.trade.arbitrages import Rejection
from tests.market.samples import EUR_MARKET, USD_MARKET, levels, opportunity_of, settings_of

NOW = 1_050_000
"""50 ms after the event, market time."""
SERVER_NOW = 1_700_000_000_000_000
DOCS = Path(__file__).parents[2] / "docs" / "risk.md"


def opportunity(net_bps: float = 50.0) -> Opportunity:
    """Buys on alpha for USD, sells on beta for EUR, which is worth 1.1 USD at its mid."""
    asks, bids = levels(("60000", "1"), ("60001", "1")), levels(("55000", "1"), ("54999", "1"))
    return opportunity_of((USD_MARKET, asks), (EUR_MARKET, bids), net_bps=net_bps)


def risk_state(**changes: object) -> RiskState:
    quiet = RiskState(
        now=SERVER_NOW,
        reservations_open=True,
        open_arbitrages=0,
        notional={},
        day_net=ZERO,
        paused_until={},
        pair_busy=False,
        pair_reserved_at=0,
    )
    return replace(quiet, **changes)  # type: ignore[arg-type]  # of RiskState, from tables of cases


def context(
    settings: dict[str, object] | None = None,
    of: Opportunity | None = None,
    seen: dict[str, object] | None = None,
    **risks: object,
) -> DecisionContext:
    """`seen`: of the context; `risks`: of its risk state."""
    quiet = DecisionContext(of or opportunity(), settings_of(**(settings or {})), risk_state(**risks), NOW)
    return replace(quiet, **(seen or {}))  # type: ignore[arg-type]  # of DecisionContext, from tables of cases


OPEN = {"alpha|BTC/USD": rules_of(USD_MARKET).model_dump(), "beta|ETH/EUR": rules_of(USD_MARKET, "halt").model_dump()}
CLOSED = {"beta|BTC/EUR": rules_of(EUR_MARKET, "cancel_only").model_dump()}


def drifted(**drift: str) -> dict[str, object]:
    return {"drift": {currency: Decimal(amount) for currency, amount in drift.items()}}


def window(share_above: float) -> SpreadWindow:
    return SpreadWindow("BTC", "alpha", "beta", 0, 10_000_000, 1.0, 1.0, 2.0, share_above, 10)


def old(age: int) -> Opportunity:
    one = opportunity()
    return replace(one, sell=replace(one.sell, age=age))


def with_asks(*rows: tuple[str, str]) -> Opportunity:
    one = opportunity()
    return replace(one, buy=replace(one.buy, levels=levels(*rows)))


def with_bids(*rows: tuple[str, str]) -> Opportunity:
    one = opportunity()
    return replace(one, sell=replace(one.sell, levels=levels(*rows)))


def bringing(profit: float) -> Opportunity:
    """At the best levels, of which a trade of 1,000 has 1,000 of the 60,494.50 that selling brings."""
    return replace(opportunity(), expected_profit=profit)


def value(place_value: str) -> dict[str, object]:
    return {"place_value": Decimal(place_value)}


def test_nothing_stands_in_the_way_of_an_ordinary_one() -> None:
    assert first_rejection(context()) is None


@pytest.mark.parametrize(
    ("rejected", "allowed", "reason"),
    [
        (context({"trading_state": "halted"}), context(), "halted"),
        (context({"trading_state": "reduce_only"}), context(), "reduce_only"),
        (
            context({"enabled_exchanges": ("alpha",)}),
            context({"enabled_exchanges": ("beta", "alpha")}),
            "exchange_disabled",
        ),
        (context({"disabled_assets": ("BTC",)}), context({"disabled_assets": ("ETH",)}), "asset_disabled"),
        (context({"min_net_bps": 50.1}), context({"min_net_bps": 50.0}), "below_threshold"),
        (
            context({"asset_thresholds": {"BTC": 50.1}}),
            context({"min_net_bps": 90.0, "asset_thresholds": {"BTC": 50.0}}),
            "below_threshold",
        ),
        (
            context({"pair_thresholds": {"alpha>beta": 50.1}, "asset_thresholds": {"BTC": 9.0}}),
            context({"pair_thresholds": {"beta>alpha": 50.1, "alpha/beta": 50.0}, "min_net_bps": 90.0}),
            "below_threshold",
        ),
        (context(of=old(1_950_001)), context(of=old(1_950_000)), "stale"),
        (context(seen={"now": 3_000_001}), context(seen={"now": 3_000_000}), "stale"),
        # the event that was seen, and a quote that is newer than it
        (context(seen={"now": 499_999}), context(seen={"now": 500_000}), "clock_ahead"),
        (
            context(of=old(-700_001), seen={"now": 1_200_000}),
            context(of=old(-700_000), seen={"now": 1_200_000}),
            "clock_ahead",
        ),
        (context(of=with_asks(("60000", "1"), ("60000", "1"))), context(of=with_asks(("60000", "1"))), "crossed"),
        (context(of=with_bids(("55000", "1"), ("55001", "1"))), context(of=with_bids()), "crossed"),
        (context({"quarantine_ceiling_bps": 49.9}), context({"quarantine_ceiling_bps": 50.0}), "quarantined"),
        (
            context({"min_share_above_10s": 0.5}, seen={"window": window(0.49)}),
            context({"min_share_above_10s": 0.5}, seen={"window": window(0.5)}),
            "not_persistent",
        ),
        (context({"min_share_above_10s": 0.1}), context({"min_share_above_10s": 0.0}), "not_persistent"),
        (context(reservations_open=False), context(), "stopping"),
        (context(seen={"legs_left": 0}), context(seen={"legs_left": 1}), "rate_budget"),
        (context(seen={"legs_left": -2}), context(seen={"legs_left": None}), "rate_budget"),
        (context(of=bringing(10.0), seen=value("0.17")), context(of=bringing(10.0), seen=value("0.16")), "outbid"),
        (context(of=bringing(0.0), seen=value("0.01")), context(of=bringing(0.0), seen=value("0")), "outbid"),
        (context(of=bringing(0.0), seen=value("0.01") | {"legs_left": 0}), context(of=bringing(0.0)), "outbid"),
        (context(day_net=Decimal(-1_000)), context(day_net=Decimal("-999.99999999")), "daily_loss"),
        (
            context(paused_until={"beta": SERVER_NOW + 1}),
            context(paused_until={"beta": SERVER_NOW, "gamma": SERVER_NOW + 1}),
            "exchange_paused",
        ),
        (context({"market_rules": CLOSED}), context({"market_rules": OPEN}), "market_closed"),
        (context(unexplained=("beta",)), context(unexplained=("gamma",)), "unexplained_difference"),
        (context(open_arbitrages=4), context(open_arbitrages=3), "too_many_open"),
        (context(pair_busy=True), context(), "pair_busy"),
        (
            context({"cool_down_ms": 100}, pair_reserved_at=SERVER_NOW - 99_999),
            context({"cool_down_ms": 100}, pair_reserved_at=SERVER_NOW - 100_000),
            "cooling_down",
        ),
        (
            context(notional={"total": Decimal(10_000)}),
            context(notional={"total": Decimal("9999.99"), "base|ETH": Decimal(10_000)}),
            "total_limit",
        ),
        (
            context(notional={"base|BTC": Decimal(10_000)}),
            context(notional={"base|BTC": Decimal("9999.99")}),
            "asset_limit",
        ),
        (
            context({"asset_limits": {"BTC": 500}}, notional={"base|BTC": Decimal(500)}),
            context({"asset_limits": {"ETH": 500}}, notional={"base|BTC": Decimal(500)}),
            "asset_limit",
        ),
        (
            context({"exchange_limits": {"beta": 500}}, notional={"exchange|beta": Decimal(500)}),
            context({"exchange_limits": {"beta": 500}}, notional={"exchange|alpha": Decimal(500)}),
            "exchange_limit",
        ),
        (
            context(notional={"exchange|beta": Decimal(5_000)}),
            context(notional={"exchange|alpha": Decimal("4999.99"), "exchange|gamma": Decimal(5_000)}),
            "exchange_limit",
        ),
        (context({"max_exposure": 600}, seen=drifted(BTC="0.01")), context(seen=drifted(BTC="0.0833")), "exposure"),
        (context({"max_exposure": 600}, seen=drifted(BTC="-0.01")), context(seen=drifted(BTC="-0.0833")), "exposure"),
        (
            context({"max_currency_drift": 110}, seen=drifted(USD="-110")),
            context({"max_currency_drift": 110}, seen=drifted(USD="-109.99", EUR="99.99")),
            "currency_drift",
        ),
        (
            context({"max_currency_drift": 110}, seen=drifted(EUR="100")),
            context({"max_currency_drift": 110}, seen=drifted(USD="1000", EUR="-1000")),
            "currency_drift",
        ),
    ],
)
def test_each_check_at_its_edge(rejected: DecisionContext, allowed: DecisionContext, reason: str) -> None:
    assert first_rejection(rejected) == reason
    assert first_rejection(allowed) is None


FAILING: dict[str, Callable[[DecisionContext], DecisionContext]] = {
    "halted": lambda one: tuned(one, trading_state="halted"),
    "exchange_disabled": lambda one: tuned(one, enabled_exchanges=("alpha",)),
    "asset_disabled": lambda one: tuned(one, disabled_assets=("BTC",)),
    "below_threshold": lambda one: tuned(one, min_net_bps=60.0),
    "market_closed": lambda one: tuned(one, market_rules=CLOSED),
    "stale": lambda one: tuned(one, max_quote_age_ms=1),
    "clock_ahead": lambda one: replace(one, opportunity=old(-60_000_000)),
    "crossed": lambda one: replace(
        one, opportunity=replace(one.opportunity, buy=with_asks(("60000", "1"), ("59999", "1")).buy)
    ),
    "quarantined": lambda one: tuned(one, quarantine_ceiling_bps=40.0),
    "not_persistent": lambda one: tuned(one, min_share_above_10s=1.0),
    "stopping": lambda one: at_risk(one, reservations_open=False),
    "daily_loss": lambda one: at_risk(one, day_net=Decimal(-5_000)),
    "exchange_paused": lambda one: at_risk(one, paused_until={"alpha": SERVER_NOW + 1}),
    "unexplained_difference": lambda one: at_risk(one, unexplained=("alpha",)),
    "too_many_open": lambda one: at_risk(one, open_arbitrages=9),
    "pair_busy": lambda one: at_risk(one, pair_busy=True),
    "cooling_down": lambda one: tuned(at_risk(one, pair_reserved_at=SERVER_NOW), cool_down_ms=1),
    "total_limit": lambda one: tuned(more_open(one, "total"), max_total_notional=1),
    "asset_limit": lambda one: tuned(more_open(one, "base|BTC"), max_asset_notional=1),
    "exchange_limit": lambda one: tuned(more_open(one, "exchange|beta"), max_exchange_notional=1),
    "exposure": lambda one: tuned(one, max_exposure=1),
    "currency_drift": lambda one: tuned(one, max_currency_drift=1),
    "outbid": lambda one: replace(one, place_value=Decimal(1_000)),
    "rate_budget": lambda one: replace(one, legs_left=0),
}
"""Each makes one check fail and leaves the others as they are."""


def tuned(one: DecisionContext, **changes: object) -> DecisionContext:
    return replace(one, settings=Settings.model_validate(one.settings.model_dump() | changes))


def at_risk(one: DecisionContext, **changes: object) -> DecisionContext:
    assert one.risk is not None
    return replace(one, risk=replace(one.risk, **changes))  # type: ignore[arg-type]  # fields of RiskState


def more_open(one: DecisionContext, key: str) -> DecisionContext:
    assert one.risk is not None
    return at_risk(one, notional={**one.risk.notional, key: Decimal(100)})


def test_switching_the_breaker_off_ends_a_pause() -> None:
    paused = {"alpha": SERVER_NOW + 1}
    assert first_rejection(context({"breaker_failures": 1}, paused_until=paused)) == "exchange_paused"
    assert first_rejection(context({"breaker_failures": 0}, paused_until=paused)) is None


@given(st.sets(st.sampled_from(sorted(FAILING)), min_size=1))
def test_of_several_that_reject_the_first_of_the_table_is_the_reason(failing: set[str]) -> None:
    one = context(seen=drifted(BTC="0.001", EUR="2"))
    assert first_rejection(one) is None
    for reason in failing:
        one = FAILING[reason](one)
    assert first_rejection(one) == next(check.reason for check in CHECKS if check.reason in failing)


def test_what_is_not_known_where_it_is_asked_rejects_nothing() -> None:
    force = settings_of(min_share_above_10s=1.0, max_quote_age_ms=1, max_exposure=1)
    assert first_rejection(DecisionContext(opportunity(), force)) is None
    assert first_rejection(DecisionContext(opportunity(), force, risk_state())) is None
    assert risk.forbidden(opportunity(), settings_of(trading_state="reduce_only")) == "reduce_only"
    assert first_rejection(DecisionContext(opportunity(), force, risk_state(open_arbitrages=4))) == "too_many_open"


@pytest.mark.parametrize(
    ("side", "drift", "expected"),
    [
        ("buy", {"BTC": "0.1"}, "exposure"),
        ("buy", {"BTC": "-0.1"}, None),
        ("sell", {"BTC": "-0.1"}, "exposure"),
        ("sell", {"BTC": "0.1"}, None),
        ("buy", {"USD": "-200"}, "currency_drift"),
        ("buy", {"USD": "200"}, None),
        ("sell", {"USD": "200"}, "currency_drift"),
        ("sell", {"USD": "-200"}, None),
    ],
)
def test_a_single_order_is_rejected_only_where_it_goes_further(
    side: Side, drift: dict[str, str], expected: str | None
) -> None:
    one = opportunity()
    alone = replace(one, sell=replace(one.buy, levels=()), fx=())
    single = context({"max_exposure": 600, "max_currency_drift": 110}, alone, drifted(**drift))
    assert first_rejection(replace(single, only_side=side)) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"min_net_bps": 90.0}, None),
        ({"min_net_bps": 90.0, "enabled_exchanges": ("beta",)}, "exchange_disabled"),
        ({"enabled_exchanges": (), "trading_state": "reduce_only"}, "reduce_only"),
        ({"trading_state": "halted"}, "halted"),
    ],
)
def test_a_trade_on_one_exchange_has_no_spread_to_compare(changes: dict[str, object], expected: str | None) -> None:
    alone = replace(opportunity(), sell=opportunity().buy, net_bps=-20.0)
    assert risk.forbidden(alone, settings_of(**changes)) == expected


def test_one_currency_on_both_sides_does_not_drift() -> None:
    one = opportunity_of((USD_MARKET, levels(("60000", "1"))), (USD_MARKET, levels(("60100", "1"))))
    assert first_rejection(context({"max_currency_drift": 1}, one, drifted(USD="1000000"))) is None


@given(
    st.dictionaries(
        st.sampled_from(["total", "base|BTC", "exchange|alpha", "exchange|beta", "exchange|gamma"]),
        st.decimals(0, 12_000, places=2),
    )
)
def test_what_is_left_never_takes_any_sum_over_its_limit(notional: dict[str, Decimal]) -> None:
    context = DecisionContext(opportunity(), settings_of(), risk_state(notional=notional))
    left, reason = notional_left(context)
    assert left is not None
    sums = {key: notional.get(key, ZERO) + max(left, ZERO) for key in notional_keys(opportunity())}
    limits = {key: risk.limit_of(key, context.settings) for key in sums}
    assert any(sums[key] == most or left < 0 for key, (most, _) in limits.items())
    if left > 0:
        assert all(sums[key] <= most for key, (most, _) in limits.items())
        assert first_rejection(context) is None
    else:
        assert reason in ("total_limit", "asset_limit", "exchange_limit")
        assert first_rejection(context) in ("total_limit", "asset_limit", "exchange_limit")


def test_every_reason_stands_in_the_docs_in_its_order_and_in_the_words_of_a_rejection() -> None:
    rows = re.findall(r"^\| \d+ \| `(\w+)` \| (.*?) \|", DOCS.read_text(), re.MULTILINE)
    assert tuple(reason for reason, _ in rows) == REASONS
    for check, (_, names) in zip(CHECKS, rows, strict=False):
        assert tuple(re.findall(r"`(\w+)`", names)) == check.settings
    assert Rejection.__doc__ is not None
    known = set(re.findall(r"\w+", Rejection.__doc__.partition("Reasons,")[2]))
    assert set(REASONS) <= known


def test_every_failure_that_the_breaker_counts_stands_in_the_docs() -> None:
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \|$", DOCS.read_text(), re.MULTILINE)
    assert set(get_args(FailureKind)) <= set(rows)


def test_every_setting_named_exists() -> None:
    assert {name for check in CHECKS for name in check.settings} <= set(Settings.model_fields)
    assert len({check.reason for check in CHECKS}) == len(CHECKS)
