from dataclasses import replace
from decimal import Decimal

import pytest

from market.decide.market_rules import rules_of
from market.decide.settings import CloseOrder, Settings
from market.instruments.orders import Side
from market.money import Amount
from market.prices.opportunities import Opportunity
from market.trade.arbitrages import Arbitrage, Leg, LegRole
from market.trade.closing import CLOSE_WITHIN, close_order, is_overtaken, why_not_closed
from tests.market.samples import EUR_MARKET, USD_MARKET, levels, opportunity_of, order_leg, settings_of
from tests.store.reservation_requests import filled

NOW = 1_700_000_000_000_000
SEEN: Opportunity = opportunity_of((USD_MARKET, levels(("100", "5"))), (EUR_MARKET, levels(("101", "5"))), "one")
NOT_BOUGHT = order_leg(USD_MARKET, "buy", Decimal(2), Decimal(100), identity="one")
NOT_SOLD = order_leg(EUR_MARKET, "sell", Decimal(2), Decimal(100), identity="one")
BOUGHT, SOLD = (replace(leg, fills=filled(leg).fills) for leg in (NOT_BOUGHT, NOT_SOLD))


def residual(*legs: Leg, **changes: object) -> Arbitrage:
    made = Arbitrage("one", "BTC", "residual", SEEN, legs or (BOUGHT, NOT_SOLD), Amount(Decimal(2)), NOW)
    return replace(made, **changes)  # type: ignore[arg-type]  # of Arbitrage, from tables of cases


def flatten(**changes: object) -> Leg:
    made = replace(order_leg(USD_MARKET, "sell", Decimal(2), Decimal(100), identity="one"), role="flatten")
    return replace(made, **changes)  # type: ignore[arg-type]  # of Leg, from tables of cases


def test_what_ended_with_a_residual_can_be_closed() -> None:
    assert why_not_closed(residual(), settings_of()) is None
    unposted = flatten(state="not_sent", exchange_order_id=None)
    assert why_not_closed(residual(BOUGHT, NOT_SOLD, unposted), settings_of()) is None
    assert why_not_closed(residual(), settings_of(trading_state="reduce_only")) is None


def test_a_leg_that_is_open_can_be_closed_though_an_order_is_under_way() -> None:
    unwinding = replace(NOT_SOLD, role="complete", state="granted")
    assert why_not_closed(residual(BOUGHT, NOT_SOLD, unwinding, state="single_leg"), settings_of()) is None
    assert why_not_closed(residual(BOUGHT, replace(NOT_SOLD, state="granted"), state="reserved"), settings_of()) is None


@pytest.mark.parametrize(("side", "is_due"), [("sell", True), (None, True), ("buy", False)])
def test_an_order_is_for_the_side_that_was_confirmed(side: Side | None, is_due: bool) -> None:
    order = CloseOrder(price=Decimal(90), asked_at=NOW, side=side)
    settings = settings_of().model_copy(update={"close_now": {"one": order}})
    assert (close_order(residual(), settings, NOW) is not None) == is_due


@pytest.mark.parametrize(("amount", "is_due"), [("2", True), ("3", True), (None, True), ("1.9999", False)])
def test_an_order_is_for_no_more_than_was_confirmed(amount: str | None, is_due: bool) -> None:
    """An open leg may fill on between the confirmation and the step."""
    order = CloseOrder(price=Decimal(90), asked_at=NOW, amount=None if amount is None else Decimal(amount))
    settings = settings_of().model_copy(update={"close_now": {"one": order}})
    assert (close_order(residual(), settings, NOW) is not None) == is_due


@pytest.mark.parametrize(
    ("role", "is_overtaken_now"),
    [("complete", True), ("reverse", True), ("flatten", False), ("buy", False), ("sell", False)],
)
def test_only_a_leg_that_unwinds_gives_way(role: LegRole, is_overtaken_now: bool) -> None:
    order = CloseOrder(price=Decimal(90), asked_at=NOW)
    settings = settings_of().model_copy(update={"close_now": {"one": order}})
    assert is_overtaken(residual(state="single_leg"), role, settings, NOW) == is_overtaken_now
    assert not is_overtaken(residual(state="single_leg"), role, settings_of(), NOW)


@pytest.mark.parametrize(
    ("arbitrage", "settings", "words"),
    [
        (residual(state="closed"), settings_of(), "has ended, and nothing is left"),
        (
            residual(replace(NOT_BOUGHT, state="granted"), replace(NOT_SOLD, state="granted"), state="reserved"),
            settings_of(),
            "Nothing is left",
        ),
        (residual(BOUGHT, NOT_SOLD, flatten(state="granted"), state="single_leg"), settings_of(), "once already"),
        (
            residual(BOUGHT, replace(NOT_SOLD, state="not_sent", times={"unconfirmed": NOW}), state="single_leg"),
            settings_of(),
            "in doubt",
        ),
        (residual(strategy="ma"), settings_of(), "meant to stay"),
        (residual(BOUGHT, SOLD), settings_of(), "Nothing is left"),
        (residual(BOUGHT, replace(NOT_SOLD, unresolved="order_lost")), settings_of(), "in doubt"),
        (
            residual(BOUGHT, replace(NOT_SOLD, state="not_sent", times={"unconfirmed": NOW})),
            settings_of(),
            "in doubt",
        ),
        (residual(BOUGHT, NOT_SOLD, flatten(state="done")), settings_of(), "was once already"),
        (residual(), settings_of(trading_state="halted"), "Trading is halted"),
        (
            residual(),
            settings_of(market_rules={"alpha|BTC/USD": rules_of(USD_MARKET, "maintenance").model_dump()}),
            "takes no orders",
        ),
    ],
)
def test_why_it_cannot_is_said(arbitrage: Arbitrage, settings: Settings, words: str) -> None:
    assert words in (why_not_closed(arbitrage, settings) or "")
    order = CloseOrder(price=Decimal(90), asked_at=NOW)
    assert close_order(arbitrage, settings.model_copy(update={"close_now": {"one": order}}), NOW) is None


@pytest.mark.parametrize(
    ("age", "is_due"),
    [(0, True), (CLOSE_WITHIN, True), (CLOSE_WITHIN + 1, False), (-CLOSE_WITHIN, True), (-CLOSE_WITHIN - 1, False)],
)
def test_an_order_is_of_a_moment(age: int, is_due: bool) -> None:
    order = CloseOrder(price=Decimal(90), asked_at=NOW)
    settings = settings_of().model_copy(update={"close_now": {"one": order, "two": order}})
    assert (close_order(residual(), settings, NOW + age) == order) == is_due
    assert close_order(residual(arbitrage_id="three"), settings, NOW) is None
