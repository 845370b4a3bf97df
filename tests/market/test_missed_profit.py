"""What one trade may use, and what was kept of opportunities as sightings of episodes."""

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.accounting.episodes import TradeBounds, tradable_profit
from market.accounting.missed_profit import (
    bounds_now,
    missed_profit,
    rejected_sample,
    settings_bounds,
    taken_sample,
)
from market.trade.arbitrages import Rejection
from tests.market.samples import settings_of
from tests.store.reservation_requests import opportunity
from tests.ui.samples import arbitrage

SECOND = 1_000_000
NOW = 1_700_000_000_000_000


def rejection(at: int, tradable: str, reason: str = "pair_busy", lives: int = SECOND) -> Rejection:
    return Rejection(
        f"{at}:{reason}", "o", "BTC", "alpha", "beta", "alpha", reason, 9.0, Decimal(300), at,
        tradable=Decimal(tradable), until=at + lives,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "most"),
    [
        ({"max_notional": 1_000}, "1000"),
        ({"max_notional": 1_000, "max_asset_notional": 400}, "400"),
        ({"max_notional": 1_000, "max_exchange_notional": 300, "max_asset_notional": 400}, "300"),
        ({"max_notional": 1_000, "max_total_notional": 200}, "200"),
    ],
)
def test_no_limit_lets_one_trade_go_further(changes: dict[str, int], most: str) -> None:
    settings = settings_of(**{name: Decimal(value) for name, value in changes.items()})
    assert settings_bounds(settings) == TradeBounds(notional=Decimal(most))
    assert settings_bounds(None) == TradeBounds()


def test_balances_bound_as_far_as_they_are_known() -> None:
    settings, of = settings_of(), opportunity("seen-1")
    free = {
        (of.buy.exchange, of.buy.quote_currency): Decimal(7),
        (of.sell.exchange, of.base): Decimal("0.5"),
        (of.buy.exchange, of.base): Decimal(100),
    }
    assert bounds_now(of, settings, free) == replace(settings_bounds(settings), quote=Decimal(7), base=Decimal("0.5"))
    assert bounds_now(of, settings, {}) == settings_bounds(settings)


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
    assert tradable_profit(deep, settings_bounds(settings)) <= max(base, Decimal(0)) + Decimal("0.00000001")


def test_a_gap_is_missed_once_however_often_it_is_rejected() -> None:
    """$3,673 stood beside $224: every sighting was summed, and all that its levels showed."""
    seen = [rejected_sample(rejection(NOW + number * SECOND, "1.5")) for number in range(1_000)]
    assert missed_profit(seen) == {"pair_busy": Decimal("1.5")}
    later = rejected_sample(rejection(NOW + 5_000 * SECOND, "2", "stale"))
    assert missed_profit([later, *reversed(seen)]) == {"pair_busy": Decimal("1.5"), "stale": Decimal(2)}


def test_what_was_traded_was_not_missed() -> None:
    taken = taken_sample(arbitrage())
    before, after = rejection(taken.at - SECOND // 2, "1.5"), rejection(taken.at + SECOND // 2, "2.5")
    assert taken.reason is None
    seen = [taken, *map(rejected_sample, (before, after))]
    same_pair = [replace(one, pair=taken.pair) for one in seen]
    assert missed_profit(same_pair) == {}
    assert missed_profit(same_pair[1:]) == {"pair_busy": Decimal("2.5")}


def test_what_earlier_versions_stored_missed_nothing() -> None:
    old = Rejection("1", "o", "BTC", "alpha", "beta", "alpha", "stale", 9.0, Decimal(300), NOW, 12)
    assert missed_profit([rejected_sample(old)]) == {"stale": Decimal(0)}
