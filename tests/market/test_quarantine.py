"""What is too good to be true, by the pair's own history and by an absolute ceiling."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.decide.quarantine import absurd_above_bps, belongs_to_history, is_absurd
from market.prices.spread_statistics import SpreadWindow
from tests.market.samples import EUR_MARKET, USD_MARKET, levels, opportunity_of, settings_of

BOOKS = ((USD_MARKET, levels(("100", "1"))), (EUR_MARKET, levels(("100", "1"))))


def window(mean: float, deviation: float, end: int = 60_000_000, seconds: int = 60) -> SpreadWindow:
    return SpreadWindow("BTC", "alpha", "beta", end - seconds * 1_000_000, end, mean, deviation, 0.0, 0.0, 100)


CALM, WILD = window(-20.0, 5.0), window(10.0, 40.0)
JUMPED = window(900.0, 2_700.0)
"""One second in ten of another coin's price."""
OTHER_COIN = window(1_100_000.0, 10.0)


@pytest.mark.parametrize(
    ("history", "changes", "limit"),
    [
        # no history: the ceiling alone
        ((), {}, 500.0),
        ((), {"quarantine_ceiling_bps": 0}, None),
        # calm: the floor, so that an ordinary jump of a calm pair is still traded
        ((CALM,), {}, 150.0),
        ((CALM,), {"quarantine_floor_bps": 10.0}, 20.0),
        # wild: mean + 8 deviations
        ((WILD,), {}, 330.0),
        ((WILD,), {"quarantine_deviations": 4.0}, 170.0),
        ((WILD,), {"quarantine_deviations": 0}, 500.0),
        ((WILD,), {"quarantine_deviations": 0, "quarantine_ceiling_bps": 0}, None),
        # the jump itself is in the newest window; the calmest decides
        ((CALM, JUMPED), {}, 150.0),
        ((WILD, JUMPED), {}, 330.0),
        # always been absurd: no history makes it believable
        ((OTHER_COIN,), {}, 500.0),
        ((OTHER_COIN,), {"quarantine_ceiling_bps": 0}, 1_100_080.0),
    ],
)
def test_the_limit(history: tuple[SpreadWindow, ...], changes: dict[str, object], limit: float | None) -> None:
    assert absurd_above_bps(history, settings_of(**changes)) == limit


@pytest.mark.parametrize("net_bps", [0.0, 5.0, 20.0, 80.0, 150.0])
@pytest.mark.parametrize("history", [(), (CALM,), (WILD,), (CALM, JUMPED), (window(-300.0, 0.0),)])
def test_ordinary_spreads_are_always_believed(net_bps: float, history: tuple[SpreadWindow, ...]) -> None:
    assert not is_absurd(opportunity_of(*BOOKS, net_bps=net_bps), history, settings_of())


@pytest.mark.parametrize(
    ("net_bps", "history", "expected"),
    [
        (150.1, (CALM,), True),
        (150.1, (), False),
        (500.0, (), False),
        (500.1, (), True),
        # the reported 11,021 % of two coins with one ticker, and 500,000 % of a wrong quote currency
        (1_102_100.0, (), True),
        (1_102_100.0, (OTHER_COIN,), True),
        (50_000_000.0, (WILD,), True),
    ],
)
def test_absurd_ones_are_not(net_bps: float, history: tuple[SpreadWindow, ...], expected: bool) -> None:
    assert is_absurd(opportunity_of(*BOOKS, net_bps=net_bps), history, settings_of()) is expected


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (window(0, 0, end=240_000_000), True),
        (window(0, 0, end=60_000_000), True),
        (window(0, 0, end=59_999_999), False),
        (window(0, 0, end=240_000_000, seconds=10), False),
    ],
)
def test_what_counts_as_history(one: SpreadWindow, expected: bool) -> None:
    assert belongs_to_history(one, 240_000_000) is expected


_windows = st.lists(st.builds(window, st.floats(-1_000, 1_000), st.floats(0, 1_000)), max_size=5).map(tuple)


@given(_windows, st.floats(-1_000, 100_000), st.floats(0, 100_000))
def test_whoever_is_disbelieved_stays_so_when_it_is_even_better(
    history: tuple[SpreadWindow, ...], net_bps: float, more: float
) -> None:
    one, better = (opportunity_of(*BOOKS, net_bps=bps) for bps in (net_bps, net_bps + more))
    assert not is_absurd(one, history, settings_of()) or is_absurd(better, history, settings_of())
