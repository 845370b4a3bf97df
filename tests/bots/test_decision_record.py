"""What a bot keeps of what it knew: enough that the same is decided from it, for any context."""

from dataclasses import replace
from decimal import Decimal

import pytest

from bots.decide.order_decision import Rejected, decide, early_rejection
from market.decide.decision_context import DecisionContext, RiskState, recorded_context
from market.decide.thresholds import Imbalance
from market.prices.spread_statistics import SpreadWindow
from market.trade.decision_record import (
    NoRecordError,
    RejectionRecord,
    rejection_record_of,
    rejection_text,
    step_of,
)
from market.trade.unwinding import markets_by_symbol
from tests.market.samples import EUR_MARKET, MARKETS, USD_MARKET, levels, opportunity_of, settings_of

OPPORTUNITY = opportunity_of((USD_MARKET, levels(("100", "5"))), (EUR_MARKET, levels(("92.5", "5"))))
SETTINGS = settings_of(max_quote_age_ms=86_400_000)
LOWERED = SETTINGS.model_copy(update={"min_net_bps": 77.0, "rebalancing_bps": 50.0})
FREE = {("alpha", "USD"): Decimal("500.10"), ("beta", "BTC"): Decimal(10), ("beta", "EUR"): Decimal(7)}
NOW = 1_200_000
RISK = RiskState(
    now=NOW,
    reservations_open=True,
    open_arbitrages=1,
    notional={"total": Decimal(10), "base|ETH": Decimal(5)},
    paused_until={"alpha": 5, "gamma": 6},
    pair_busy=False,
    pair_reserved_at=0,
)


def window(length: int, mean: float, deviation: float, share: float = 1.0) -> SpreadWindow:
    end = NOW - 100_000
    return SpreadWindow("BTC", "alpha", "beta", end - length * 1_000_000, end, mean, deviation, 60.0, share, 50)


def known(**changed: object) -> DecisionContext:
    whole = DecisionContext(OPPORTUNITY, SETTINGS, RISK, NOW, window(10, 40.0, 1.0), free=FREE)
    return replace(whole, **changed)  # type: ignore[arg-type]  # fields of every kind


CASES = (
    known(),
    known(risk=None),
    known(risk=replace(RISK, pair_busy=True)),
    known(risk=replace(RISK, notional={"total": Decimal(9_999)})),
    known(risk=replace(RISK, notional={"base|BTC": Decimal(99_999)})),
    known(risk=replace(RISK, paused_until={"beta": NOW + 1})),
    known(risk=replace(RISK, reservations_open=False)),
    known(drift={"BTC": Decimal(-400), "XRP": Decimal(5)}),
    known(drift={"EUR": Decimal(200_000)}),
    known(settings=SETTINGS.model_copy(update={"min_share_above_10s": 0.5}), window=None),
    known(settings=SETTINGS.model_copy(update={"min_share_above_10s": 0.5}), window=window(10, 40.0, 1.0, 0.4)),
    known(
        settings=SETTINGS.model_copy(update={"quarantine_floor_bps": 10.0}),
        history=(window(60, 45.0, 9.0), window(60, 3.0, 1.0), window(60, 5.0, 2.0)),
    ),
    known(now=90_000_000_000),
    known(legs_left=0),
    known(legs_left=3),
    known(place_value=Decimal("0.00000001")),
    known(place_value=Decimal("99999.12345678")),
    known(is_used_up=True),
    known(settings=SETTINGS.model_copy(update={"min_net_bps": 77.0})),
    known(settings=LOWERED, imbalance=Imbalance(Decimal("0.5"), Decimal("0.001"))),
    known(settings=LOWERED, imbalance=Imbalance(Decimal("0.00001"), None)),
    known(settings=SETTINGS.model_copy(update={"max_notional": Decimal("33.3")})),
)
REASONS = {
    "pair_busy",
    "total_limit",
    "asset_limit",
    "exchange_paused",
    "stopping",
    "exposure",
    "currency_drift",
    "not_persistent",
    "quarantined",
    "stale",
    "rate_budget",
    "outbid",
    "below_threshold",
    "liquidity_used",
}


def decision(context: DecisionContext) -> object:
    return decide(context, markets_by_symbol(MARKETS))


@pytest.mark.parametrize("context", CASES)
def test_from_what_is_kept_the_same_is_decided(context: DecisionContext) -> None:
    recorded = recorded_context(context)
    read = rejection_record_of(rejection_text(RejectionRecord(recorded))).context
    assert read == recorded
    assert decision(read.context(OPPORTUNITY, context.settings)) == decision(context)


def test_the_cases_are_unlike() -> None:
    decisions = [decision(case) for case in CASES]
    assert {one.reason for one in decisions if isinstance(one, Rejected)} == REASONS
    assert any(not isinstance(one, Rejected) for one in decisions)


def test_a_quote_that_is_used_up_is_rejected_unless_the_leg_joins() -> None:
    markets = markets_by_symbol(MARKETS)
    assert early_rejection(known(is_used_up=True), markets) == "liquidity_used"
    assert early_rejection(known(risk=None, is_used_up=True), markets) is None


def test_only_what_the_legs_use_is_kept() -> None:
    recorded = recorded_context(known(drift={"XRP": Decimal(5)}))
    assert recorded.free == {"alpha|USD": Decimal("500.10"), "beta|BTC": Decimal(10)}
    assert recorded.drift == {}
    assert recorded.risk is not None
    assert (recorded.risk.notional, recorded.risk.paused_until) == ({"total": Decimal(10)}, {"alpha": 5})
    assert len(rejection_text(RejectionRecord(recorded))) < 1_000


@pytest.mark.parametrize("text", ["", "{}", '{"context":{"exchange":1}}'])
def test_text_that_is_no_record_is_reported(text: str) -> None:
    with pytest.raises(NoRecordError):
        rejection_record_of(text)
    with pytest.raises(NoRecordError):
        step_of(text)
