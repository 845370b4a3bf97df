"""From opportunity to reservation."""

from decimal import Decimal

import pytest

from bots.decide.opportunity_checks import Circumstances
from bots.decide.order_decision import FreeBalances, Rejected, basic_rejection, decide, side_of
from market.decide.risk_checks import Standing
from market.decide.settings import Settings
from market.instruments.orders import Side
from market.trade.leg_planning import client_order_id, markets_by_symbol
from store.store_port import Reservation
from tests.market.samples import EUR_MARKET, JPY_MARKET, MARKETS, levels, opportunity_of, settings_of

SYMBOLS = markets_by_symbol(MARKETS)
OPPORTUNITY = opportunity_of((JPY_MARKET, levels(("9000000", "0.5"))), (EUR_MARKET, levels(("56000", "0.4"))))


def decision(side: Side, free: FreeBalances | None = None, settings: Settings | None = None) -> Reservation | Rejected:
    circumstances = Circumstances(settings or settings_of(max_notional=Decimal(100_000)), None, 1_000_000)
    return decide(OPPORTUNITY, side, SYMBOLS, free or {}, circumstances)


@pytest.mark.parametrize(("exchange", "expected"), [("gamma", "buy"), ("beta", "sell"), ("alpha", None)])
def test_which_side_is_mine(exchange: str, expected: Side | None) -> None:
    assert side_of(OPPORTUNITY, exchange) == expected


def test_both_bots_wish_for_the_same() -> None:
    buy, sell = decision("buy"), decision("sell")
    assert isinstance(buy, Reservation)
    assert isinstance(sell, Reservation)
    assert buy.leg.amount == sell.leg.amount == Decimal("0.4")
    assert (buy.amount_step, buy.minimum_amount) == (sell.amount_step, sell.minimum_amount)
    assert buy.amount_step == Decimal("0.001")
    assert [buy.leg_factor, sell.leg_factor] == [Decimal(1), Decimal("0.9985")]
    assert [buy.leg_step, sell.leg_step] == [Decimal("0.001"), Decimal("0.0001")]
    assert (buy.hold_currency, sell.hold_currency) == ("JPY", "BTC")
    assert [buy.hold_per_unit, sell.hold_per_unit] == [Decimal(9_004_500), Decimal(1)]
    assert [buy.displayed_amount, sell.displayed_amount] == [Decimal("0.5"), Decimal("0.4")]
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
def test_balances_of_both_exchanges_limit_both_bots(free: FreeBalances, amount: str) -> None:
    for side in ("buy", "sell"):
        one = decision("buy" if side == "buy" else "sell", free)
        assert isinstance(one, Reservation)
        assert one.leg.amount == Decimal(amount)


def standing_with(total: str, settings: Settings) -> Standing:
    return Standing(
        now=1_000_000,
        settings=settings,
        reservations_open=True,
        open_arbitrages=1,
        notional={"total": Decimal(total)},
        day_net=Decimal(0),
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
    circumstances = Circumstances(settings, None, 1_000_000, standing=standing_with(total, settings))
    one = decide(OPPORTUNITY, "buy", SYMBOLS, {}, circumstances)
    if isinstance(one, Rejected):
        assert one == Rejected(expected)
        return
    assert one.leg.amount == Decimal(expected)
    # the buy's limit of 9,004,500 JPY at the 149.9 that dollars cost, or the sale of 56,000 EUR at 1.0999
    assert one.unit_notional == Decimal("61594.4")


def test_rejections_of_checks_and_of_sizing() -> None:
    assert decision("buy", settings=settings_of(trading_state="halted")) == Rejected("halted")
    assert decision("buy", {("gamma", "JPY"): Decimal(1)}) == Rejected("insufficient_balance")
    assert decision("buy", settings=settings_of(max_notional=Decimal(1))) == Rejected("too_small")


def test_an_unknown_market_is_not_traded() -> None:
    circumstances = Circumstances(settings_of(), None, 1_000_000)
    assert basic_rejection(OPPORTUNITY, {}, circumstances) == Rejected("exchange_disabled")
    assert basic_rejection(OPPORTUNITY, SYMBOLS, circumstances) is None
    assert decide(OPPORTUNITY, "buy", {}, {}, circumstances) == Rejected("exchange_disabled")
