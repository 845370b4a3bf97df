"""What a sweep may vary, with the bounds of the settings document itself."""

from decimal import Decimal

import pytest

from backtest.parameters import Latency, Parameters
from backtest.sweep.errors import SweepRejectedError
from backtest.sweep.parameter_grids import Grid, axis_of, range_of
from backtest.sweep.parameters import checked_against, variables_of, with_values
from market.decide.settings import Settings

FEES = {"kraken": Decimal("0.001"), "bitstamp": Decimal("0.002")}
PARAMETERS = Parameters(Settings(enabled_exchanges=("kraken", "bitstamp"), taker_fees=FEES), balances={})


def put(**values: str) -> Parameters | None:
    point = tuple((name.replace("__", "."), Decimal(value)) for name, value in values.items())
    return with_values(PARAMETERS, point, variables_of(PARAMETERS))


def test_every_numeric_setting_can_be_varied() -> None:
    numbers = {name for name, field in Settings.model_fields.items() if field.annotation in (int, float, Decimal)}
    assert numbers - set(variables_of(PARAMETERS)) == {"version"}
    assert len(numbers) > 20


def test_values_go_to_their_places() -> None:
    parameters = put(
        min_net_bps="7.5", max_notional="250", max_open_arbitrages="2", failed_share="0.1", decision_ms="9"
    )
    assert parameters is not None
    assert parameters.settings.min_net_bps == 7.5
    assert parameters.settings.max_notional == Decimal(250)
    assert parameters.settings.max_open_arbitrages == 2
    assert (parameters.failed_share, parameters.decision_ms) == (0.1, 9.0)
    assert parameters.settings.taker_fees == FEES


def test_one_exchange_has_the_last_word_over_all_of_them() -> None:
    parameters = put(fee_bps__kraken="3", latency_ms__bitstamp="80", fee_bps="5", latency_ms="20", seed="4")
    assert parameters is not None
    assert parameters.settings.taker_fees == {"kraken": Decimal("0.0003"), "bitstamp": Decimal("0.0005")}
    assert parameters.latency == {"kraken": Latency(20.0), "bitstamp": Latency(80.0)}
    assert parameters.seed == 4


def test_settings_that_do_not_go_together_make_no_set() -> None:
    assert put(min_net_bps="3", emit_net_bps="4") is None
    assert put(min_net_bps="-3") is None
    assert put(min_net_bps="-3", emit_net_bps="-4") is not None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("min_net_pbs=1", "'min_net_pbs' is not a sweep parameter; known are min_net_bps,"),
        ("version=1", "'version' is not a sweep parameter"),
        ("single_leg_policy=1", "'single_leg_policy' is not a sweep parameter"),
        ("latency_ms.binance=1", "as in latency_ms.NAME"),
        ("min_net_bps=0,10001", "min_net_bps=10001: must be at most 10,000"),
        ("max_notional=0", "max_notional=0: must be more than 0"),
        ("max_open_arbitrages=1.5", "max_open_arbitrages=1.5: must be a whole number"),
        ("fee_bps=-1", "fee_bps=-1: must be at least 0"),
        ("fee_bps.kraken=1001", "fee_bps.kraken=1001: must be at most 1,000"),
        ("latency_ms=-5", "latency_ms=-5: must be at least 0"),
        ("failed_share=2", "failed_share=2: must be at most 1"),
    ],
)
def test_unknown_names_and_values_out_of_bounds_are_rejected(text: str, said: str) -> None:
    with pytest.raises(SweepRejectedError) as rejected:
        checked_against(Grid((axis_of(text),)), PARAMETERS)
    assert said in str(rejected.value)
    assert "\n" not in str(rejected.value)


def test_both_ends_of_a_range_are_checked_and_whole_numbers_stay_whole() -> None:
    grid = Grid((), (range_of("max_open_arbitrages=1:8"), range_of("min_net_bps=0:8")), draws=3)
    assert [part.is_integer for part in checked_against(grid, PARAMETERS).ranges] == [True, False]
    with pytest.raises(SweepRejectedError, match="at most 1,000"):
        checked_against(Grid((), (range_of("max_open_arbitrages=1:1001"),), draws=3), PARAMETERS)
