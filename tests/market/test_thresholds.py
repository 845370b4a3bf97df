"""The minimum net spread of a direction: general, of its asset, of its pair; the highest counts."""

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from market.decide.settings import Settings
from market.decide.thresholds import direction, exchanges_of_cycle, exchanges_of_pair, net_threshold
from market.instruments.cycles import Cycle, CycleLeg
from tests.market.samples import USD_MARKET, settings_of

PLACES = ("alpha", "beta", "gamma")
BASES = ("BTC", "ETH")
PAIRS = [f"{one}{sign}{other}" for one in PLACES for other in PLACES if one != other for sign in "/>"]
BPS = st.integers(-50, 500).map(float)


@pytest.mark.parametrize(
    ("assets", "pairs", "expected"),
    [
        ({}, {}, 5.0),
        ({"BTC": 9.0}, {}, 9.0),
        ({"BTC": 2.0}, {}, 2.0),
        ({"ETH": 9.0}, {}, 5.0),
        ({}, {"alpha>beta": 7.0}, 7.0),
        ({}, {"beta>alpha": 7.0}, 5.0),
        ({}, {"alpha/beta": 7.0}, 7.0),
        ({}, {"beta/alpha": 7.0}, 7.0),
        ({}, {"alpha/gamma": 7.0}, 5.0),
        ({"BTC": 9.0}, {"alpha>beta": 7.0}, 9.0),
        ({"BTC": 3.0}, {"alpha>beta": 7.0}, 7.0),
        ({}, {"alpha/beta": 8.0, "alpha>beta": 6.0}, 8.0),
    ],
)
def test_which_one_counts(assets: dict[str, float], pairs: dict[str, float], expected: float) -> None:
    settings = settings_of(asset_thresholds=assets, pair_thresholds=pairs)
    assert settings.threshold("BTC", "alpha", "beta") == expected


@given(
    general=BPS,
    assets=st.dictionaries(st.sampled_from(BASES), BPS),
    pairs=st.dictionaries(st.sampled_from(PAIRS), BPS),
    base=st.sampled_from(BASES),
    places=st.permutations(PLACES),
)
def test_it_is_the_highest_of_those_that_name_it_else_the_general_one(
    general: float, assets: dict[str, float], pairs: dict[str, float], base: str, places: list[str]
) -> None:
    buy, sell = places[:2]
    naming = [value for name, value in assets.items() if name == base]
    for name, value in pairs.items():
        if exchanges_of_pair(name) == (buy, sell) or (exchanges_of_pair(name) == (sell, buy) and "/" in name):
            naming.append(value)
    assert net_threshold(general, assets, pairs, base, buy, sell) == max(naming, default=general)


@given(names=st.permutations(PLACES))
def test_the_name_of_a_direction_says_its_exchanges(names: list[str]) -> None:
    assert exchanges_of_pair(direction(names[0], names[1])) == tuple(names[:2])


@pytest.mark.parametrize("name", ["", "alpha", "alpha>", ">beta", "a/a", "a>b>c", "a/b>c", "a>b/c", "a//b"])
def test_what_is_no_pair_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is no pair of exchanges"):
        exchanges_of_pair(name)
    with pytest.raises(ValidationError, match="is no pair of exchanges"):
        settings_of(pair_thresholds={name: 7.0})


@pytest.mark.parametrize("field", ["asset_thresholds", "pair_thresholds"])
def test_none_is_below_what_is_shown(field: str) -> None:
    key = "BTC" if field == "asset_thresholds" else "alpha>beta"
    assert settings_of(emit_net_bps=1.0, **{field: {key: 1.0}})
    with pytest.raises(ValidationError, match=f"threshold of {key} must not be below emit_net_bps"):
        settings_of(emit_net_bps=1.0, **{field: {key: 0.9}})


def test_they_are_read_back_as_they_were() -> None:
    settings = settings_of(asset_thresholds={"BTC": 7.5}, pair_thresholds={"alpha>beta": 9.0})
    assert Settings.model_validate_json(settings.model_dump_json()) == settings


def triangle(exchange: str = "alpha", last: str = "alpha") -> Cycle:
    """Return buy BTC/USD, buy ETH/BTC, sell ETH/USD; the last leg at `last`."""
    bitcoin, cross, ether = (
        replace(USD_MARKET, exchange=at, symbol=symbol, base=symbol[:3], quote_currency=symbol[4:])
        for at, symbol in ((exchange, "BTC/USD"), (exchange, "ETH/BTC"), (last, "ETH/USD"))
    )
    return Cycle((CycleLeg(bitcoin, "buy"), CycleLeg(cross, "buy"), CycleLeg(ether, "sell")))


NAME = "alpha:BTC/USD:buy>alpha:ETH/BTC:buy>alpha:ETH/USD:sell"


@pytest.mark.parametrize(
    ("assets", "cycles", "expected"),
    [
        ({}, {}, (5.0, "general")),
        ({"SOL": 9.0}, {"beta": 9.0}, (5.0, "general")),
        ({"ETH": 2.0}, {}, (2.0, "asset ETH")),
        ({"ETH": 7.0, "BTC": 9.0}, {}, (9.0, "asset BTC")),
        ({"BTC": 9.0}, {"alpha": 3.0}, (3.0, "within alpha")),
        ({"BTC": 9.0}, {"alpha": 3.0, NAME: 4.0}, (4.0, "cycle")),
    ],
)
def test_the_most_specific_threshold_of_a_cycle_counts(
    assets: dict[str, float], cycles: dict[str, float], expected: tuple[float, str]
) -> None:
    settings = settings_of(asset_thresholds=assets, cycle_thresholds=cycles)
    assert settings.cycle_threshold(triangle()) == expected


def test_what_holds_within_an_exchange_does_not_over_several() -> None:
    settings = settings_of(cycle_thresholds={"alpha": 3.0, "beta": 4.0}, cycle_notionals={"alpha": 10})
    across = triangle("alpha", "beta")
    assert settings.cycle_threshold(across) == (5.0, "general")
    assert settings.cycle_notional(across) == (settings.max_notional, "general")


def test_the_size_of_a_cycle_is_its_own_then_that_within_its_exchange() -> None:
    assert settings_of(cycle_notionals={"alpha": 10}).cycle_notional(triangle()) == (Decimal(10), "within alpha")
    assert settings_of(cycle_notionals={"alpha": 10, NAME: 20}).cycle_notional(triangle()) == (Decimal(20), "cycle")


def test_a_cycles_name_says_its_exchanges() -> None:
    assert exchanges_of_cycle(triangle("alpha", "beta").cycle_id) == ("alpha", "beta")
    assert exchanges_of_cycle("alpha") == ("alpha",)


@pytest.mark.parametrize(
    "name", ["", "a/b", "a>b", "a:BTC/USD:buy", f"{NAME}>alpha:ETH/USD:hold", NAME.replace("/", "")]
)
@pytest.mark.parametrize("field", ["cycle_thresholds", "cycle_notionals"])
def test_what_is_no_cycle_is_refused(name: str, field: str) -> None:
    with pytest.raises(ValidationError, match="is no cycle; write its legs as"):
        settings_of(**{field: {name: 7}})


def test_a_cycles_threshold_is_not_below_what_is_emitted() -> None:
    with pytest.raises(ValidationError, match="the threshold of alpha must not be below emit_net_bps"):
        settings_of(cycle_thresholds={"alpha": -1.0})
