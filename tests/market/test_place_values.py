"""What a place at an exchange is worth, by tables; and that nobody is starved for ever, by Hypothesis."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.decide.place_values import MOST_GAPS, SPAN, LegPace, PlacesLeft, PlaceValues
from market.money import ZERO
from market.prices.opportunities import Opportunity
from market.time_units import MICROSECONDS
from tests.market.samples import EUR_MARKET, USD_MARKET, levels, opportunity_of

FOUR = LegPace(at_once=4, a_minute=Fraction(2))
"""Four legs at once, two more in a minute."""
AMPLE = LegPace(at_once=100, a_minute=Fraction(1_000))
FULL: PlacesLeft = (4, 100)
HALF: PlacesLeft = (2, 100)


def gap(number: int, at: int = 0, sell: str = "beta") -> Opportunity:
    """One gap for each number: bought on alpha, which is short of places."""
    buy = replace(USD_MARKET, symbol=f"BTC{number}/USD")
    books = (buy, levels(("100", "1"))), (replace(EUR_MARKET, exchange=sell), levels(("100", "1")))
    return replace(opportunity_of(*books, event_time=at), expires_at=at + MICROSECONDS)


def seen(profits: list[str], beta: LegPace = AMPLE, every: int = 0) -> PlaceValues:
    values = PlaceValues({"alpha": FOUR, "beta": beta})
    for number, profit in enumerate(profits):
        values.see(gap(number, number * every), Decimal(profit), FULL, number * every)
    return values


@pytest.mark.parametrize(
    ("profits", "left", "price"),
    [
        # one place is the least that counts as served
        (["5"], HALF, "0"),
        (["5", "3"], HALF, "5"),
        (["5", "3", "9"], HALF, "9"),
        # nothing is short while nothing is used; the last places cost twice the value
        (["5", "3"], FULL, "0"),
        (["5", "3"], (3, 100), "2.5"),
        (["5", "3"], (1, 100), "7.5"),
        (["5", "3"], (0, 100), "10"),
        # what is open may be counted twice
        (["5", "3"], (-2, 100), "10"),
        (["5", "3"], (9, 100), "0"),
        (["5", "3"], (None, 100), "0"),
        ([], HALF, "0"),
    ],
)
def test_a_place_costs_what_the_least_that_is_served_would_bring(
    profits: list[str], left: PlacesLeft, price: str
) -> None:
    assert seen(profits).price(gap(99), left, 0) == Decimal(price)


def test_as_many_are_served_as_the_limits_refill_meanwhile() -> None:
    """Two a minute: the second best of one."""
    values = seen(["1", "2", "3", "4", "5", "6"], every=9 * MICROSECONDS)
    assert values.price(gap(99), HALF, 59 * MICROSECONDS) == Decimal(6)
    assert values.price(gap(99), HALF, SPAN - 1) == Decimal(6)
    values.see(gap(7, SPAN), Decimal("0.5"), FULL, SPAN)
    assert values.price(gap(99), HALF, SPAN) == Decimal(5)


def test_what_is_over_a_minute_ago_counts_no_longer() -> None:
    values = seen(["5", "3"])
    assert values.price(gap(99), HALF, SPAN - 1) == Decimal(5)
    assert values.price(gap(99), HALF, SPAN) == ZERO


def test_a_gap_counts_once_with_its_best_sighting_while_it_lasts() -> None:
    values = seen(["5"])
    for at, profit in ((MICROSECONDS, "7"), (2 * MICROSECONDS, "6")):
        values.see(gap(0, at), Decimal(profit), FULL, at)
    assert values.price(gap(99), HALF, 3 * MICROSECONDS) == ZERO, "one gap has one place"
    at = 4 * MICROSECONDS
    values.see(gap(0, at), Decimal(1), FULL, at)
    assert values.price(gap(99), HALF, at) == Decimal(7), "it had closed in between"


def test_a_place_at_one_exchange_is_worth_what_the_other_leaves() -> None:
    values = seen(["5", "3"], beta=FOUR)
    assert values.price(gap(99), (2, 2), 0) == Decimal(10)
    values.see(gap(50), Decimal(11), (2, 2), 0)
    # the best now, with six at either: what it brings beyond the place at the other, which was worth five
    assert values.price(gap(99), (2, 2), 0) == Decimal(12)
    assert values.price(gap(99, sell="gamma"), (2, None), 0) == Decimal(6)


def test_an_exchange_without_limits_or_without_any_leg_has_no_price() -> None:
    values = PlaceValues({"alpha": LegPace(0, Fraction(0))})
    for number in range(3):
        values.see(gap(number), Decimal(5), (0, None), 0)
    assert values.price(gap(99), (0, None), 0) == ZERO


def test_of_a_busy_minute_the_newest_are_kept() -> None:
    values = PlaceValues({"alpha": LegPace(4, Fraction(60))})
    for number in range(2 * MOST_GAPS):
        values.see(gap(number, number), Decimal(number), (4, None), number)
    now = 2 * MOST_GAPS
    # ten of ten seconds, the least that counts
    assert values.price(gap(99), (2, None), now) == Decimal(2 * MOST_GAPS - 10)


def test_a_gap_that_is_dropped_and_seen_again_is_a_new_one() -> None:
    """Of a busy minute; what is known of the others stays."""
    values = PlaceValues({"alpha": LegPace(4, Fraction(60))})
    # the first one, which is dropped, is the best
    for number in range(MOST_GAPS + 1):
        values.see(gap(number), Decimal(5_000 - number), (4, None), 0)
    for profit in (6_000, 7_000):
        values.see(gap(0, 1), Decimal(profit), (4, None), 1)
    # ten are served: 7,000, and nine of 4,998 to 4,990, since the next oldest makes room
    assert values.price(gap(9_999), (2, None), 1) == Decimal(4_990)


SIGHTINGS = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.integers(0, 20 * MICROSECONDS),
        st.decimals(0, 1_000, places=8),
        st.integers(-1, 5),
        st.integers(-1, 5),
    ),
    max_size=40,
)


@given(sightings=SIGHTINGS)
def test_whatever_was_seen_a_price_is_bounded_and_what_is_unused_is_free(
    sightings: list[tuple[int, int, Decimal, int, int]],
) -> None:
    """So no exchange is starved for ever: what nobody uses is refilled, and then costs nothing."""
    values, now, best = PlaceValues({"alpha": FOUR, "beta": FOUR}), 0, ZERO
    for number, later, profit, buy, sell in sightings:
        now += later
        best = max(best, profit)
        values.see(gap(number, now), profit, (buy, sell), now)
        price = values.price(gap(number, now), (buy, sell), now)
        assert ZERO <= price <= 4 * best
        assert values.price(gap(number, now), (4, 4), now) == ZERO
        fewer = values.price(gap(number, now), (buy - 1, sell), now)
        assert fewer >= price, "the fewer are left, the more a place costs"


@given(sightings=SIGHTINGS)
def test_the_same_sightings_give_the_same_prices(sightings: list[tuple[int, int, Decimal, int, int]]) -> None:
    def prices() -> list[Decimal]:
        values, now, found = PlaceValues({"alpha": FOUR, "beta": FOUR}), 0, []
        for number, later, profit, buy, sell in sightings:
            now += later
            values.see(gap(number, now), profit, (buy, sell), now)
            found.append(values.price(gap(number, now), (buy, sell), now))
        return found

    assert prices() == prices()
