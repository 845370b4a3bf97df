from dataclasses import replace
from decimal import Decimal

import pytest

from market.decide.check_figures import CheckFigure, check_figures
from market.decide.decision_context import DecisionContext, RiskState
from market.decide.risk_checks import CHECKS, first_rejection
from market.prices.opportunities import Opportunity
from market.prices.spread_statistics import SpreadWindow
from tests.market.samples import EUR_MARKET, USD_MARKET, levels, opportunity_of, settings_of

NOW = 1_050_000
"""50 ms after the event, market time."""
WINDOW = SpreadWindow("BTC", "alpha", "beta", 0, 60_000_000, 10.0, 5.0, 30.0, 0.25, 60)


def opportunity() -> Opportunity:
    """Buys on alpha for USD, sells on beta for EUR, which is worth 1.1 USD at its mid."""
    return opportunity_of((USD_MARKET, levels(("60000", "1"))), (EUR_MARKET, levels(("55000", "1"))), net_bps=50.0)


def context(risks: dict[str, object] | None = None, **settings: object) -> DecisionContext:
    quiet = RiskState(
        now=9_000_000,
        reservations_open=True,
        open_arbitrages=0,
        notional={},
        paused_until={},
        pair_busy=False,
        pair_reserved_at=0,
    )
    risk = replace(quiet, **(risks or {}))  # type: ignore[arg-type]  # of RiskState, from tables of cases
    return DecisionContext(opportunity(), settings_of(**settings), risk, NOW, WINDOW, (WINDOW,), legs_left=3)


def figure(reason: str, of: DecisionContext) -> CheckFigure:
    return next(one for one in check_figures(of) if one.reason == reason)


@pytest.mark.parametrize(
    ("reason", "of", "value", "limit", "unit"),
    [
        ("halted", context(trading_state="halted"), "halted", "running", ""),
        ("below_threshold", context(min_net_bps=60.0), "50", "60", "bps"),
        ("stale", context(max_quote_age_ms=40), "50", "40", "ms"),
        ("clock_ahead", context(), "0", "550", "ms"),
        ("quarantined", context(quarantine_deviations=2.0, quarantine_floor_bps=15.0), "50", "20", "bps"),
        ("not_persistent", context(min_share_above_10s=0.5), "0.25", "0.5", "share"),
        ("daily_loss", context({"day_net": Decimal("-12.5")}, max_daily_loss="10"), "12.5", "10", "money"),
        ("too_many_open", context({"open_arbitrages": 4}), "4", "4", ""),
        ("cooling_down", context({"pair_reserved_at": 8_999_000}, cool_down_ms=5), "1", "5", "ms"),
        ("total_limit", context({"notional": {"total": Decimal(99)}}, max_total_notional="50"), "99", "50", "money"),
        ("asset_limit", context({"notional": {"base|BTC": Decimal(7)}}, asset_limits={"BTC": "6"}), "7", "6", "money"),
        (
            "exchange_limit",
            # the one that is nearest to its own limit
            context(
                {"notional": {"exchange|alpha": Decimal(90), "exchange|beta": Decimal(80)}},
                max_exchange_notional="1000",
                exchange_limits={"beta": "80"},
            ),
            "80",
            "80",
            "money",
        ),
        ("exposure", replace(context(max_exposure="1000"), drift={"BTC": Decimal("-0.1")}), "6000", "1000", "money"),
        (
            "currency_drift",
            replace(context(max_currency_drift="100"), drift={"USD": Decimal(-110), "EUR": Decimal(10)}),
            "110",
            "100",
            "money",
        ),
        (
            # what lies free bounds it
            "outbid",
            replace(context(), place_value=Decimal(5_000), free={("alpha", "USD"): Decimal(600)}),
            "0.01",
            "5000",
            "money",
        ),
        ("rate_budget", replace(context(), legs_left=0), "0", "1", ""),
    ],
)
def test_what_a_check_looked_at_stands_beside_its_limit(
    reason: str, of: DecisionContext, value: str, limit: str, unit: str
) -> None:
    found = figure(reason, of)
    assert (found.value, found.limit, found.unit) == (value, limit, unit)
    assert found.passed == (reason == "clock_ahead")


def test_all_are_there_in_their_order_and_agree_with_the_decision() -> None:
    of = context({"open_arbitrages": 4, "pair_busy": True}, max_quote_age_ms=40)
    figures = check_figures(of)
    assert [one.reason for one in figures] == [check.reason for check in CHECKS]
    failed = [one.reason for one in figures if not one.passed]
    assert failed == ["stale", "too_many_open", "pair_busy"]
    assert failed[0] == first_rejection(of)


def test_what_is_not_known_is_told_apart_from_what_passed() -> None:
    figures = check_figures(DecisionContext(opportunity(), settings_of()))
    unknown = {one.reason for one in figures if not one.known}
    assert {"stale", "total_limit", "daily_loss"} <= unknown
    assert all(one.passed and one.value is None and one.limit is None for one in figures if not one.known)
    assert figure("below_threshold", DecisionContext(opportunity(), settings_of())).known
