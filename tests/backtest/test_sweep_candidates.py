"""One detection with the widest filter, priced for a set, is what detection for that set alone emits: bit by bit."""

from decimal import Decimal

import pytest

from backtest.sweep.candidates import NEVER, Candidates, rate_ages, widest_settings
from tests.backtest.sweep_samples import found_alone, log_of, parameters_of, tick_set_of

FEES = {"coinbaseexchange": "0.0004", "bitstamp": "0", "bitflyer": "0.0007", "kraken": "0.0021"}
SETS = {
    "the base": parameters_of(),
    "another threshold": parameters_of(emit_net_bps=4.0, min_net_bps=9.0),
    "a lower one": parameters_of(emit_net_bps=-20.0, min_net_bps=-10.0),
    "other fees": parameters_of(taker_fees={name: Decimal(fee) for name, fee in FEES.items()}, emit_net_bps=-7.0),
    "younger quotes": parameters_of(max_quote_age_ms=150, emit_net_bps=-10.0),
    "older quotes": parameters_of(max_quote_age_ms=9_000, emit_net_bps=-3.0),
    "longer lives": parameters_of(opportunity_lifetime_ms=7, version=5),
    "fewer exchanges": parameters_of(enabled_exchanges=("kraken", "bitstamp")),
}


@pytest.fixture(scope="module")
def messages() -> list[bytes]:
    return log_of(seed=3, rows=1_500)


@pytest.fixture(scope="module")
def candidates(messages: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> Candidates:
    found = found_alone(messages, widest_settings(SETS.values()))
    ages = rate_ages(tick_set_of(messages, tmp_path_factory.mktemp("ticks") / "set"), found)
    assert any(age > 150_000 for age in ages)
    return Candidates(found, ages)


@pytest.mark.parametrize("name", SETS)
def test_a_set_gets_what_it_would_find_alone(name: str, candidates: Candidates, messages: list[bytes]) -> None:
    expected = found_alone(messages, SETS[name].settings)
    assert list(candidates.under(SETS[name].settings)) == expected
    assert 10 < len(expected) < len(candidates.opportunities)


def test_the_age_of_a_rate_counts(candidates: Candidates, messages: list[bytes]) -> None:
    """The message does not tell it; without it too much would be found."""
    blind = Candidates(candidates.opportunities, [NEVER] * len(candidates.opportunities))
    young = SETS["younger quotes"].settings
    assert len(blind.under(young)) > len(candidates.under(young)) == len(found_alone(messages, young))


def test_the_same_settings_twice_are_priced_once(candidates: Candidates) -> None:
    first = candidates.window_under(SETS["other fees"].settings).sighting(0)
    dearer = SETS["other fees"].settings.model_copy(update={"max_notional": Decimal(17)})
    assert candidates.window_under(dearer).sighting(0) is first
    known = candidates.under(SETS["other fees"].settings)
    assert candidates.under(SETS["the base"].settings) != known
    assert candidates.under(SETS["other fees"].settings) == known


def test_the_widest_settings_take_the_loosest_of_each() -> None:
    found = widest_settings(SETS.values())
    assert (found.emit_net_bps, found.max_quote_age_ms) == (-20.0, 9_000)
    assert found.taker_fees == {
        "coinbaseexchange": Decimal("0.0004"),
        "bitstamp": Decimal("0"),
        "bitflyer": Decimal("0.0007"),
        "kraken": Decimal("0.00095"),
    }
    assert set(found.enabled_exchanges) == set(FEES)
    with pytest.raises(ValueError, match="no set"):
        widest_settings([])


def test_nothing_found_is_nothing_priced() -> None:
    assert Candidates([], []).under(parameters_of().settings) == ()
