from decimal import Decimal

from market.decide.settings import CloseOrder, Settings
from market.decide.settings_texts import OF_A_MOMENT, settings_texts
from tests.market.samples import settings_of


def test_every_setting_has_a_text_and_every_entry_its_own() -> None:
    settings = settings_of(
        min_net_bps=7.5,
        asset_thresholds={"ETH": 12, "SOL": 7.1234567},
        disabled_assets=("DOGE", "SOL"),
        close_now={"some": CloseOrder(price=Decimal(1), asked_at=1)},
    )
    found = settings_texts(settings)
    assert (found["min_net_bps"], found["asset_thresholds.ETH"], found["disabled_assets"]) == ("7.5", "12", "DOGE,SOL")
    assert found["asset_thresholds.SOL"] == "7.1234567"
    assert found["max_notional"] == str(settings.max_notional)
    assert {name for name in found if name.startswith("taker_fees.")} == {
        f"taker_fees.{name}" for name in settings.taker_fees
    }
    named = {name.partition(".")[0] for name in found}
    mappings = {name for name, value in settings.model_dump().items() if isinstance(value, dict)}
    assert named | mappings | OF_A_MOMENT == set(Settings.model_fields)
    assert not named & OF_A_MOMENT
    assert settings_texts(settings_of()) == settings_texts(settings_of(version=9, trading_state="halted"))
