"""The first place where two values differ: its name, and the value on either side."""

from decimal import Decimal

import pytest

from backtest.verify.first_difference import NOTHING, FirstDifference, first_unlike
from market.trade.leases import Actor


@pytest.mark.parametrize(
    ("recorded", "derived", "found"),
    [
        ({"a": 1, "b": [1, 2]}, {"b": [1, 2], "a": 1}, None),
        (Decimal("1.50"), Decimal("1.5"), None),
        ((1, 2), [1, 2], None),
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, ("b", 2, 3)),
        ({"a": {"b": [{"c": 1.0}]}}, {"a": {"b": [{"c": 1.0000000000000002}]}}, ("a.b[0].c", 1.0, 1.0000000000000002)),
        ({"a": 1}, {}, ("a", 1, NOTHING)),
        ({}, {"a": None}, ("a", NOTHING, None)),
        ([1], [1, 2], ("[1]", NOTHING, 2)),
        ([1, 2], [1], ("[1]", 2, NOTHING)),
        (Actor("one", "alpha", 1), Actor("one", "alpha", 2), ("token", 1, 2)),
        (Actor("one", "alpha", 1), NOTHING, ("", Actor("one", "alpha", 1), NOTHING)),
        (1, None, ("", 1, None)),
    ],
)
def test_the_first_place_that_differs(recorded: object, derived: object, found: object) -> None:
    assert first_unlike(recorded, derived) == found


def test_a_difference_is_one_line() -> None:
    assert (
        str(FirstDifference("fill 7", "cost", Decimal("1.0"), NOTHING)) == "fill 7: cost recorded 1.0, derived nothing"
    )
