"""What one trade may use."""

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.decide.settings import Settings
from market.decide.trade_bounds import bounds_now, settings_bounds
from market.prices.episodes import TradeBounds, tradable_profit
from tests.market.samples import settings_of
from tests.store.reservation_requests import opportunity


@pytest.mark.parametrize(
    ("changes", "most"),
    [
        ({"max_notional": 1_000}, "1000"),
        ({"max_notional": 1_000, "max_asset_notional": 400}, "400"),
        ({"max_notional": 1_000, "max_exchange_notional": 300, "max_asset_notional": 400}, "300"),
        ({"max_notional": 1_000, "max_total_notional": 200}, "200"),
        ({"max_notional": 1_000, "asset_limits": {"BTC": 150}}, "150"),
        ({"max_notional": 1_000, "asset_limits": {"ETH": 150}}, "1000"),
        ({"max_notional": 1_000, "max_exchange_notional": 400, "exchange_limits": {"alpha": 900}}, "400"),
        ({"max_notional": 1_000, "exchange_limits": {"alpha": 90}}, "90"),
    ],
)
def test_no_limit_lets_one_trade_go_further(changes: dict[str, object], most: str) -> None:
    settings, of = Settings.model_validate(settings_of().model_dump() | changes), opportunity("seen-1")
    assert (of.base, of.buy.exchange) == ("BTC", "alpha")
    assert settings_bounds(of, settings) == TradeBounds(notional=Decimal(most))
    assert settings_bounds(of, None) == TradeBounds()


def test_balances_bound_as_far_as_they_are_known() -> None:
    settings, of = settings_of(), opportunity("seen-1")
    free = {
        (of.buy.exchange, of.buy.quote_currency): Decimal(7),
        (of.sell.exchange, of.base): Decimal("0.5"),
        (of.buy.exchange, of.base): Decimal(100),
    }
    bounds = settings_bounds(of, settings)
    assert bounds_now(of, settings, free) == replace(bounds, quote=Decimal(7), base=Decimal("0.5"))
    assert bounds_now(of, settings, {}) == bounds


@given(st.integers(1, 10_000), st.integers(1, 1_000))
def test_however_much_is_shown_no_more_is_tradable_than_the_limit(shown: int, most: int) -> None:
    of = opportunity("seen-1")
    deep = replace(
        of,
        buy=replace(of.buy, amount=Decimal(shown)),
        sell=replace(of.sell, amount=Decimal(shown)),
        expected_profit=float(shown),
    )
    settings = settings_of(max_notional=Decimal(most), max_total_notional=Decimal(10_000_000))
    # the dearer leg counts: never more base than the limit buys there
    base = Decimal(most) / max(of.buy.price, of.sell.price)
    assert tradable_profit(deep, settings_bounds(deep, settings)) <= max(base, Decimal(0)) + Decimal("0.00000001")
