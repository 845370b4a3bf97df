"""The minimum net spread of a direction: general, of its asset, of its pair; the highest counts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from market.decide.settings import Settings
from market.decide.thresholds import direction, exchanges_of_pair, net_threshold
from tests.market.samples import settings_of

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
