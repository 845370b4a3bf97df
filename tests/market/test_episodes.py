"""Episodes and missed profit against figures computed by hand, and the sums against a second way to get them."""

from dataclasses import replace
from decimal import Decimal
from itertools import groupby, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.prices.episodes import (
    Episode,
    Episodes,
    EpisodeSample,
    MissedProfit,
    TradeBounds,
    missed_by_reason,
    tradable_profit,
)
from market.prices.opportunities import Opportunity
from tests.market.samples import EUR_MARKET, JPY_MARKET, USD_MARKET, episodes_of, levels, opportunity_of

HERE = ("BTC", "alpha", "BTC/USD", "beta", "BTC/EUR")
THERE = ("BTC", "beta", "BTC/EUR", "alpha", "BTC/USD")
OTHER_MARKET = ("BTC", "alpha", "BTC/USDT", "beta", "BTC/EUR")


def seen(
    at: int, profit: str = "1", reason: str | None = "cooling_down", lives: int = 10, pair: object = HERE
) -> EpisodeSample:
    return EpisodeSample(pair, at, at + lives, 5.0, Decimal(profit), reason)  # type: ignore[arg-type]  # of five words


def runs(*sightings: EpisodeSample) -> list[tuple[int, int, int, str]]:
    return [(one.start, one.end, one.samples, str(one.missed)) for one in episodes_of(sightings)]


@pytest.mark.parametrize(
    ("sightings", "found"),
    [
        # one gap, seen at four rows: $4 of sightings are $2 to be had
        ([seen(0), seen(4), seen(8, "2"), seen(12, "0.5")], [(0, 12, 4, "2")]),
        # the next one at the very moment at which the last expires still belongs to it; one later does not
        ([seen(0), seen(10)], [(0, 10, 2, "1")]),
        ([seen(0), seen(11)], [(0, 0, 1, "1"), (11, 11, 1, "1")]),
        # a long-lived sighting is not cut short by a later one that expires sooner
        ([seen(0, lives=30), seen(5, lives=2), seen(20)], [(0, 20, 3, "1")]),
        # the other way round, and between other markets, are other episodes
        ([seen(0), seen(1, pair=THERE), seen(2, pair=OTHER_MARKET)], [(0, 0, 1, "1"), (1, 1, 1, "1"), (2, 2, 1, "1")]),
        # traded once, nothing of it is missed, whatever was rejected before or after
        ([seen(0), seen(4, "3", None), seen(8, "9")], [(0, 8, 3, "0")]),
        # nothing to be had is no loss
        ([seen(0, "-1"), seen(4, "-3")], [(0, 4, 2, "0")]),
        ([], []),
    ],
)
def test_an_episode_is_an_uninterrupted_run_of_one_ordered_pair_of_markets(
    sightings: list[EpisodeSample], found: list[tuple[int, int, int, str]]
) -> None:
    assert runs(*sightings) == found


def test_it_counts_under_the_reason_of_its_best_sighting() -> None:
    found = episodes_of(
        [
            *(seen(0, "1", "pair_busy"), seen(1, "3", "cooling_down"), seen(2, "3", "stale")),
            *(seen(100, "2", "stale"), seen(200, "-1", "halted"), seen(300, "5", None)),
        ]
    )
    assert [one.reason for one in found] == ["cooling_down", "stale", "halted", None]
    assert missed_by_reason(found) == {
        "cooling_down": MissedProfit(1, Decimal(3)),
        "stale": MissedProfit(1, Decimal(2)),
        "halted": MissedProfit(1, Decimal(0)),
    }


def test_a_run_keeps_its_widest_spread() -> None:
    (episode,) = episodes_of(
        [replace(seen(0), net_bps=3.0), replace(seen(1), net_bps=8.5), replace(seen(2), net_bps=4.0)]
    )
    assert episode == Episode(HERE, 0, 2, 3, 8.5, False, Decimal(1), "cooling_down", until=12, profit=Decimal(1))


def offered(expected: float = 40.0, buy: str = "2", sell: str = "5") -> Opportunity:
    """2 BTC at 50,000 USD against bids of 46,000 EUR, which bring 50,595.4 USD each: the dearer leg."""
    found = opportunity_of((USD_MARKET, levels(("50000", buy))), (EUR_MARKET, levels(("46000", sell))))
    return replace(found, expected_profit=expected)


@pytest.mark.parametrize(
    ("bounds", "profit"),
    [
        (TradeBounds(), "40.0"),
        # 2 BTC are 101,190.8 USD of the dearer leg
        (TradeBounds(notional=Decimal("101190.8")), "40.0"),
        (TradeBounds(notional=Decimal("50595.4")), "20.00000000"),
        # 1,000 / 50,595.4 = 0.0197646... BTC of 2
        (TradeBounds(notional=Decimal(1_000)), "0.39529285"),
        (TradeBounds(quote=Decimal(25_000)), "10.00000000"),
        (TradeBounds(base=Decimal("0.1")), "2.00000000"),
        (TradeBounds(base=Decimal("0.1"), quote=Decimal(2_500)), "1.00000000"),
        (TradeBounds(notional=Decimal(0)), "0"),
        (TradeBounds(base=Decimal("-0.1")), "0"),
        # what is left is below the smallest order
        (TradeBounds(base=Decimal("0.0009"), minimum=Decimal("0.001")), "0"),
        (TradeBounds(base=Decimal("0.001"), minimum=Decimal("0.001")), "0.02000000"),
    ],
)
def test_what_one_trade_could_have_had_within_its_bounds(bounds: TradeBounds, profit: str) -> None:
    assert str(tradable_profit(offered(), bounds)) == profit


def test_an_inverted_rate_counts_at_the_side_that_is_paid() -> None:
    """7,505,000 JPY at 150.1 are 50,000 USD received; 50,100 USD are paid where it is bought."""
    found = opportunity_of((USD_MARKET, levels(("50100", "1"))), (JPY_MARKET, levels(("7505000", "1"))))
    found = replace(found, expected_profit=10.0)
    assert tradable_profit(found, TradeBounds(notional=Decimal(25_050))) == Decimal(5)
    back = opportunity_of((JPY_MARKET, levels(("7495000", "1"))), (USD_MARKET, levels(("50100", "1"))))
    back = replace(back, expected_profit=10.0)
    # 7,495,000 / 149.9 are 50,000 paid, so the sale at 50,100 is the dearer leg
    assert tradable_profit(back, TradeBounds(notional=Decimal(25_050))) == Decimal(5)


made_up = st.lists(
    st.builds(
        EpisodeSample,
        st.sampled_from([HERE, THERE, OTHER_MARKET]),
        st.integers(0, 400),
        st.just(0),
        st.floats(-5, 50),
        st.decimals("-5", "100", places=8),
        st.sampled_from([None, "stale", "pair_busy", "cooling_down"]),
    ),
    max_size=60,
).map(lambda rows: [replace(one, expires_at=one.at + 10) for one in sorted(rows, key=lambda row: row.at)])


def by_gaps(sightings: list[EpisodeSample]) -> list[list[EpisodeSample]]:
    """Another way to the same runs, if all live equally long: split each pair's times where the gap is too wide."""
    groups = []
    for _, rows in groupby(sorted(sightings, key=lambda one: one.pair), key=lambda one: one.pair):
        times = list(rows)
        cuts = [0, *(n for n in range(1, len(times)) if times[n].at - times[n - 1].at > 10), len(times)]
        groups += [times[start:end] for start, end in pairwise(cuts)]
    return groups


@given(made_up)
def test_every_sighting_is_in_one_episode_and_each_episode_counts_once(sightings: list[EpisodeSample]) -> None:
    found = episodes_of(sightings)
    groups = sorted(by_gaps(sightings), key=lambda rows: (rows[0].at, rows[0].pair))
    assert [(one.pair, one.start, one.end, one.samples) for one in found] == [
        (rows[0].pair, rows[0].at, rows[-1].at, len(rows)) for rows in groups
    ]
    missed = [
        max(Decimal(0), *(row.profit for row in rows)) for rows in groups if all(row.reason is not None for row in rows)
    ]
    sums = missed_by_reason(found)
    assert sum((one.profit for one in sums.values()), Decimal(0)) == sum(missed, Decimal(0))
    assert sum(one.episodes for one in sums.values()) == len(missed)


@given(made_up)
def test_what_could_not_miss_more_changes_nothing(sightings: list[EpisodeSample]) -> None:
    """Leaving out the figures of those gives the same sums, and the same reasons wherever anything was missed."""
    shorter = Episodes()
    for one in sightings:
        run = shorter.run_at(one.pair, one.at, one.opportunity_id)
        counts = one.reason is not None and run.could_miss_more(float(one.profit))
        shorter.add(one if counts else replace(one, profit=Decimal(0)))
    assert [(one.missed, one.reason if one.missed else None) for one in shorter.all()] == [
        (one.missed, one.reason if one.missed else None) for one in episodes_of(sightings)
    ]


@given(st.decimals("0", "200000", places=2), st.decimals("0", "200000", places=2), st.decimals("0", "3", places=4))
def test_no_bound_lets_more_through_than_it_says(notional: Decimal, quote: Decimal, base: Decimal) -> None:
    profit = tradable_profit(offered(), TradeBounds(notional, quote, base))
    per_unit = Decimal(20)
    rounding = Decimal("0.00000001")
    assert 0 <= profit <= 40
    assert profit <= base * per_unit + rounding
    assert profit <= quote / 50_000 * per_unit + rounding
    assert profit <= notional / Decimal("50595.4") * per_unit + rounding
