"""From opportunity to reservation, or the first of several rejections."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

import pytest

from bots.decide.order_decision import Rejected, decide, early_rejection, is_expired
from market.decide.decision_context import DecisionContext, RiskState, recorded_context
from market.decide.settings import Settings
from market.decide.thresholds import Imbalance
from market.prices.opportunities import Opportunity
from market.prices.quotes import Level
from market.prices.spread_statistics import SpreadWindow
from market.trade.leases import UNFENCED
from market.trade.reservation_state import BalanceRow, ReservationState
from market.trade.reservations import Reservation, reserved
from market.trade.unwinding import client_order_id, markets_by_symbol
from tests.market.samples import EUR_MARKET, JPY_MARKET, MARKETS, USD_MARKET, levels, opportunity_of, settings_of

Free = Mapping[tuple[str, str], Decimal]
SYMBOLS = markets_by_symbol(MARKETS)
OPPORTUNITY = opportunity_of((JPY_MARKET, levels(("9000000", "0.5"))), (EUR_MARKET, levels(("56000", "0.4"))))


def decision(free: Free | None = None, settings: Settings | None = None) -> Reservation | Rejected:
    settings = settings or settings_of(max_notional=Decimal(100_000))
    return decide(DecisionContext(OPPORTUNITY, settings, now=1_000_000, free=free or {}), SYMBOLS)


def test_both_legs_are_requested_at_once() -> None:
    request = decision()
    assert isinstance(request, Reservation)
    buy, sell = request.legs
    assert (request.amount, request.amount_step) == (Decimal("0.4"), Decimal("0.001"))
    assert [(one.leg.exchange, one.leg.role, one.leg.side) for one in request.legs] == [
        ("gamma", "buy", "buy"),
        ("beta", "sell", "sell"),
    ]
    assert [buy.factor, sell.factor] == [Decimal(1), Decimal("0.9985")]
    assert [buy.step, sell.step] == [Decimal("0.001"), Decimal("0.0001")]
    assert (buy.hold_currency, sell.hold_currency) == ("JPY", "BTC")
    assert [buy.hold_per_unit, sell.hold_per_unit] == [Decimal(9_004_500), Decimal(1)]
    assert [buy.displayed, sell.displayed] == [Decimal("0.5"), Decimal("0.4")]
    assert buy.leg.client_order_id == client_order_id("opportunity-1", "buy") != sell.leg.client_order_id


@pytest.mark.parametrize(
    ("free", "amount"),
    [
        ({("gamma", "JPY"): Decimal(900_450)}, "0.1"),
        ({("beta", "BTC"): Decimal("0.2")}, "0.2"),
        ({("gamma", "JPY"): Decimal(900_450), ("beta", "BTC"): Decimal("0.05")}, "0.05"),
        ({("alpha", "USD"): Decimal(0)}, "0.4"),
    ],
)
def test_balances_of_both_exchanges_limit_both_legs(free: Free, amount: str) -> None:
    one = decision(free)
    assert isinstance(one, Reservation)
    assert one.amount == Decimal(amount)


def risk_with(total: str) -> RiskState:
    return RiskState(
        now=1_000_000,
        reservations_open=True,
        open_arbitrages=1,
        notional={"total": Decimal(total)},
        paused_until={},
        pair_busy=False,
        pair_reserved_at=0,
    )


@pytest.mark.parametrize(("total", "expected"), [("0", "0.4"), ("4000", "0.097"), ("9990", "total_limit")])
def test_what_others_have_taken_of_a_limit_is_not_taken_again(total: str, expected: str) -> None:
    settings = settings_of(max_notional=Decimal(100_000), max_exchange_notional=Decimal(100_000))
    settings = settings.model_copy(
        update={"max_asset_notional": Decimal(100_000), "max_total_notional": Decimal(10_000)}
    )
    if total == "0":
        settings = settings.model_copy(update={"max_total_notional": Decimal(100_000)})
    one = decide(DecisionContext(OPPORTUNITY, settings, risk_with(total), 1_000_000), SYMBOLS)
    if isinstance(one, Rejected):
        assert one == Rejected(expected)
        return
    assert one.amount == Decimal(expected)
    # the buy's limit of 9,004,500 JPY at the 149.9 that dollars cost, or the sale of 56,000 EUR at 1.0999
    assert one.unit_notional == Decimal("61594.4")


def test_rejections_of_checks_and_of_sizing() -> None:
    assert decision(settings=settings_of(trading_state="halted")) == Rejected("halted")
    assert decision({("gamma", "JPY"): Decimal(1)}) == Rejected("insufficient_balance")
    assert decision(settings=settings_of(max_notional=Decimal(1))) == Rejected("too_small")


def test_an_unknown_market_is_not_traded() -> None:
    context = DecisionContext(OPPORTUNITY, settings_of(), now=1_000_000)
    assert early_rejection(context, {}) == "exchange_disabled"
    assert early_rejection(context, SYMBOLS) is None
    assert decide(context, {}) == Rejected("exchange_disabled")


NOW = 1_050_000
ASKS = levels(("60000", "1"))
BIDS = levels(("55000", "1"))
"""55000 EUR at 1.0999 bring 82 bps over 60000 USD before fees of 22 bps."""


def opportunity(bids: tuple[Level, ...] = BIDS, net_bps: float = 50.0) -> Opportunity:
    return opportunity_of((USD_MARKET, ASKS), (EUR_MARKET, bids), net_bps=net_bps)


def window(share_above: float) -> SpreadWindow:
    return SpreadWindow("BTC", "alpha", "beta", 0, 10_000_000, 1.0, 1.0, 2.0, share_above, 10)


def rejected(
    one: Opportunity, settings: Settings | None = None, seen: SpreadWindow | None = None, now: int = NOW
) -> str | None:
    decision = decide(DecisionContext(one, settings or settings_of(), None, now, seen), SYMBOLS)
    return decision.reason if isinstance(decision, Rejected) else None


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, None),
        ({"trading_state": "halted"}, "halted"),
        ({"trading_state": "reduce_only", "enabled_exchanges": ("alpha",)}, "reduce_only"),
        ({"enabled_exchanges": ("alpha", "gamma")}, "exchange_disabled"),
        ({"enabled_exchanges": ("beta", "gamma"), "min_net_bps": 90.0}, "exchange_disabled"),
        ({"min_net_bps": 50.1}, "below_threshold"),
        ({"min_net_bps": 50.0}, None),
        ({"max_quote_age_ms": 49}, "stale"),
        ({"max_quote_age_ms": 50}, None),
        ({"min_share_above_10s": 0.1}, "not_persistent"),
        ({"quarantine_ceiling_bps": 49.9}, "quarantined"),
        ({"quarantine_ceiling_bps": 49.9, "max_quote_age_ms": 49}, "stale"),
        ({"quarantine_ceiling_bps": 49.9, "min_share_above_10s": 0.1}, "quarantined"),
    ],
)
def test_settings_reject(changes: dict[str, object], expected: str | None) -> None:
    assert rejected(opportunity(), settings_of(**changes)) == expected


def test_what_is_detected_must_be_true_in_exact_arithmetic() -> None:
    assert rejected(opportunity(levels(("54690", "1")))) == "recheck_failed"
    one = opportunity()
    assert rejected(replace(one, buy=replace(one.buy, amount=Decimal(2)))) == "recheck_failed"
    assert rejected(replace(one, sell=replace(one.sell, levels=()))) == "recheck_failed"
    assert rejected(opportunity(levels(("65000", "1")))) is None
    assert rejected(replace(opportunity(levels(("65000", "1"))), fx=())) == "recheck_failed"


@pytest.mark.parametrize(
    ("share_above", "expected"), [(0.0, "not_persistent"), (0.49, "not_persistent"), (0.5, None), (1.0, None)]
)
def test_the_last_window_must_have_paid_often_enough(share_above: float, expected: str | None) -> None:
    assert rejected(opportunity(), settings_of(min_share_above_10s=0.5), window(share_above)) == expected


@pytest.mark.parametrize(("age", "now", "expected"), [(1_950_000, NOW, None), (1_950_001, NOW, "stale")])
def test_ages_grow_on_after_the_detection(age: int, now: int, expected: str | None) -> None:
    one = opportunity()
    assert rejected(replace(one, sell=replace(one.sell, age=age)), now=now) == expected
    assert rejected(replace(one, buy=replace(one.buy, age=age)), now=now) == expected


@pytest.mark.parametrize(("now", "expected"), [(1_999_999, False), (2_000_000, True)])
def test_expiry(now: int, expected: bool) -> None:
    assert is_expired(opportunity(), now) is expected


LOWERED = settings_of(max_notional=Decimal(100_000), min_net_bps=OPPORTUNITY.net_bps + 10, rebalancing_bps=20.0)


def brought_back(imbalance: Imbalance | None, settings: Settings = LOWERED) -> Reservation | Rejected:
    free = {("beta", "BTC"): Decimal(3)}
    context = DecisionContext(OPPORTUNITY, settings, now=1_000_000, free=free, imbalance=imbalance)
    return decide(context, SYMBOLS)


def test_what_brings_inventory_back_is_traded_below_the_threshold_and_no_more_of_it() -> None:
    assert brought_back(None) == Rejected("below_threshold")
    one = brought_back(Imbalance(Decimal("0.15"), None))
    assert isinstance(one, Reservation)
    assert one.amount == Decimal("0.15")
    # free balances still limit it
    assert isinstance(decision({("beta", "BTC"): Decimal("0.1")}), Reservation)
    # less than any order may be is as nothing
    assert brought_back(Imbalance(Decimal("0.00000001"), None)) == Rejected("below_threshold")
    # switched off
    off = LOWERED.model_copy(update={"rebalancing_bps": 0.0})
    assert brought_back(Imbalance(Decimal("0.15"), None), off) == Rejected("below_threshold")


def test_the_store_sees_what_it_brings_back_and_whether_that_still_counts() -> None:
    context = DecisionContext(
        OPPORTUNITY, LOWERED, now=1_000_000, imbalance=Imbalance(Decimal("0.05"), Decimal("0.0001"))
    )
    request = decide(context, SYMBOLS)
    assert isinstance(request, Reservation)
    rows = ReservationState(
        now=1_000_000,
        by=UNFENCED,
        opportunity=OPPORTUNITY,
        settings=LOWERED,
        balances={
            ("gamma", "JPY"): BalanceRow("gamma", "JPY", Decimal(10**9), Decimal(0)),
            ("beta", "BTC"): BalanceRow("beta", "BTC", Decimal(9), Decimal(0)),
        },
    )
    assert reserved(rows, request)[1].rejection == "below_threshold"
    kept = replace(request, context=recorded_context(context))
    arbitrage = reserved(rows, kept)[1].arbitrage
    assert arbitrage is not None
    assert arbitrage.amount == Decimal("0.05")
    off = replace(rows, settings=LOWERED.model_copy(update={"rebalancing_bps": 0.0}))
    assert reserved(off, kept)[1].rejection == "below_threshold"
