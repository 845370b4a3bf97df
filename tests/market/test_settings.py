"""What settings reject."""

from decimal import Decimal

import pytest
from pydantic import ValidationError

from market.decide.settings import Settings, of_next_session
from tests.market.samples import settings_of


@pytest.mark.parametrize(
    "changes",
    [
        {"min_net_bps": -1.0, "emit_net_bps": 0.0},
        {"enabled_exchanges": ("alpha", "nowhere")},
        {"max_notional": Decimal(0)},
        {"max_open_arbitrages": 0},
        {"min_share_above_10s": 1.1},
        {"min_net_bps": float("nan")},
        {"taker_fees": {"alpha": Decimal("0.2"), "beta": 0, "gamma": 0}},
        {"single_leg_policy": "pray"},
        {"version": 0},
        {"unknown": 1},
    ],
)
def test_out_of_range_or_unknown_is_rejected(changes: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        settings_of(**changes)


def test_settings_are_frozen_and_read_back() -> None:
    settings = settings_of()
    with pytest.raises(ValidationError):
        settings.version = 2
    assert Settings.model_validate_json(settings.model_dump_json()) == settings


def test_an_exchange_that_nobody_knew_joins_with_its_fee() -> None:
    first = settings_of(
        enabled_exchanges=("alpha", "delta"), taker_fees={"alpha": Decimal("0.002"), "delta": Decimal("0.003")}
    )
    stored = settings_of(enabled_exchanges=("beta",), min_net_bps=7.0)
    widened = of_next_session(stored, first)
    assert widened is not None
    assert widened.enabled_exchanges == ("beta", "delta")
    assert widened.taker_fees == {**stored.taker_fees, "delta": Decimal("0.003")}
    assert widened.min_net_bps == 7.0


def test_an_exchange_that_was_switched_off_stays_off() -> None:
    stored = settings_of(enabled_exchanges=("beta",))
    assert "alpha" in stored.taker_fees
    assert of_next_session(stored, settings_of(enabled_exchanges=("alpha", "beta"))) is None


def test_an_asset_that_was_taken_off_again_has_no_feed_in_the_next_session() -> None:
    stored = settings_of(enabled_assets=("ETH", "SOL"), disabled_assets=("SOL",))
    changed = of_next_session(stored, stored)
    assert changed is not None
    assert (changed.enabled_assets, changed.disabled_assets) == (("ETH",), ("SOL",))
