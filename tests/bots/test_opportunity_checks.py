"""Each rejection, and that the first of several wins."""

from dataclasses import replace
from decimal import Decimal

import pytest

from bots.decide.opportunity_checks import Circumstances, is_expired, rejection_of
from market.decide.settings import Settings
from market.decide.sizing import SizingSide
from market.prices.opportunities import Opportunity
from market.prices.quotes import Level
from market.prices.spread_statistics import SpreadWindow
from tests.market.samples import EUR_MARKET, USD_MARKET, levels, opportunity_of, settings_of

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
    circumstances = Circumstances(settings or settings_of(), seen, now)
    buy = SizingSide("buy", USD_MARKET, one.buy.levels, Decimal("0.001"), None)
    sell = SizingSide("sell", EUR_MARKET, one.sell.levels, Decimal("0.0012"), one.rate("EUR"))
    return rejection_of(one, buy, sell, circumstances)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, None),
        ({"trading_state": "halted"}, "halted"),
        ({"trading_state": "reducing", "enabled_exchanges": ("alpha",)}, "reducing"),
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
