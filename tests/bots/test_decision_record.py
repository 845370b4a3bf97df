"""What a bot keeps of what it knew: enough that the same is decided from it, for any circumstances."""

from dataclasses import replace
from decimal import Decimal

import pytest

from bots.decide.decision_record import circumstances_of, free_of, sight_of
from bots.decide.opportunity_checks import Circumstances
from bots.decide.order_decision import Rejected, decide, early_rejection
from market.decide.risk_checks import Standing
from market.prices.opportunities import Opportunity
from market.prices.spread_statistics import SpreadWindow
from market.trade.decisions import Grounds, NoRecordError, grounds_of, grounds_text, step_of
from market.trade.leg_planning import markets_by_symbol
from tests.market.samples import EUR_MARKET, MARKETS, USD_MARKET, levels, opportunity_of, settings_of

OPPORTUNITY = opportunity_of((USD_MARKET, levels(("100", "5"))), (EUR_MARKET, levels(("92.5", "5"))))
SETTINGS = settings_of(max_quote_age_ms=86_400_000)
FREE = {("alpha", "USD"): Decimal("500.10"), ("beta", "BTC"): Decimal(10), ("beta", "EUR"): Decimal(7)}
NOW = 1_200_000
STANDING = Standing(
    now=NOW,
    settings=SETTINGS,
    reservations_open=True,
    open_arbitrages=1,
    notional={"total": Decimal(10), "base|ETH": Decimal(5)},
    day_net=Decimal(0),
    paused_until={"alpha": 5, "gamma": 6},
    pair_busy=False,
    pair_reserved_at=0,
)


def window(length: int, mean: float, deviation: float, share: float = 1.0) -> SpreadWindow:
    end = NOW - 100_000
    return SpreadWindow("BTC", "alpha", "beta", end - length * 1_000_000, end, mean, deviation, 60.0, share, 50)


def known(**changed: object) -> Circumstances:
    whole = Circumstances(SETTINGS, window(10, 40.0, 1.0), NOW, (), {}, STANDING)
    return replace(whole, **changed)  # type: ignore[arg-type]  # fields of every kind


CASES = (
    known(),
    known(standing=None),
    known(standing=replace(STANDING, pair_busy=True)),
    known(standing=replace(STANDING, notional={"total": Decimal(9_999)})),
    known(standing=replace(STANDING, notional={"base|BTC": Decimal(99_999)})),
    known(standing=replace(STANDING, paused_until={"beta": NOW + 1})),
    known(standing=replace(STANDING, reservations_open=False)),
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
    known(settings=SETTINGS.model_copy(update={"min_net_bps": 77.0})),
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
    "below_threshold",
}


def decision(opportunity: Opportunity, circumstances: Circumstances, free: dict[tuple[str, str], Decimal]) -> object:
    markets = markets_by_symbol(MARKETS)
    early = early_rejection(opportunity, markets, circumstances, is_used_up=False)
    return early or decide(opportunity, "buy", markets, free, circumstances)


@pytest.mark.parametrize("circumstances", CASES)
def test_from_what_is_kept_the_same_is_decided(circumstances: Circumstances) -> None:
    sight = sight_of(OPPORTUNITY, "alpha", circumstances, FREE, is_used_up=False)
    read = grounds_of(grounds_text(Grounds(sight))).sight
    assert read == sight
    again = decision(OPPORTUNITY, circumstances_of(read, circumstances.settings), free_of(read))
    assert again == decision(OPPORTUNITY, circumstances, FREE)


def test_the_cases_are_unlike() -> None:
    decisions = [decision(OPPORTUNITY, case, FREE) for case in CASES]
    assert {one.reason for one in decisions if isinstance(one, Rejected)} == REASONS
    assert any(not isinstance(one, Rejected) for one in decisions)


def test_a_quote_that_is_used_up_is_rejected_unless_the_leg_joins() -> None:
    markets = markets_by_symbol(MARKETS)
    assert early_rejection(OPPORTUNITY, markets, known(), is_used_up=True) == Rejected("liquidity_used")
    assert early_rejection(OPPORTUNITY, markets, known(standing=None), is_used_up=True) is None


def test_only_what_the_legs_use_is_kept() -> None:
    sight = sight_of(OPPORTUNITY, "alpha", known(drift={"XRP": Decimal(5)}), FREE, is_used_up=False)
    assert sight.free == {"alpha|USD": Decimal("500.10"), "beta|BTC": Decimal(10)}
    assert sight.drift == {}
    assert sight.stood is not None
    assert (sight.stood.notional, sight.stood.paused_until) == ({"total": Decimal(10)}, {"alpha": 5})
    assert len(grounds_text(Grounds(sight))) < 1_000


@pytest.mark.parametrize("text", ["", "{}", '{"sight":{"exchange":1}}'])
def test_text_that_is_no_record_is_told(text: str) -> None:
    with pytest.raises(NoRecordError):
        grounds_of(text)
    with pytest.raises(NoRecordError):
        step_of(text)
