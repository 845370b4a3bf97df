"""The kinds of differences: each has its row in the documentation, and is one thing however often it is seen."""

from dataclasses import fields, replace
from pathlib import Path
from typing import get_args

import pytest

from market.accounting.differences import (
    HANDLING,
    Difference,
    DifferenceKind,
    Resumption,
    confirmed,
    orders_in_doubt,
    stored_difference,
)
from wording.labels import difference_advice

PAGE = Path(__file__).parents[2] / "docs" / "reconciliation.md"
DIFFERENCE = Difference("fill_foreign", "alpha", "fill-1", "unknown", "buy 1")


def rows_of_the_page() -> list[tuple[str, str, str]]:
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in PAGE.read_text().splitlines()]
    kinds = set(get_args(DifferenceKind))
    return [(row[0].strip("`"), row[3], row[4]) for row in rows if len(row) == 6 and row[0].strip("`") in kinds]


def test_the_page_and_the_code_say_the_same() -> None:
    table = [(kind, handling.confirmed, handling.handled) for kind, handling in HANDLING.items()]
    assert rows_of_the_page() == table
    assert set(HANDLING) == set(get_args(DifferenceKind))


def test_equal_content_is_one_difference() -> None:
    assert replace(DIFFERENCE, remedy=Resumption("1")).difference_id == DIFFERENCE.difference_id


CONTENT = [field.name for field in fields(Difference) if field.name not in ("kind", "remedy")]


@pytest.mark.parametrize("field", CONTENT)
def test_other_content_is_another_difference(field: str) -> None:
    other = Difference(**{**{name: getattr(DIFFERENCE, name) for name in Difference.__slots__}, field: "other"})
    assert other.difference_id != DIFFERENCE.difference_id


@pytest.mark.parametrize("kind", get_args(DifferenceKind))
def test_what_may_be_a_lag_is_believed_when_seen_twice(kind: DifferenceKind) -> None:
    one = replace(DIFFERENCE, kind=kind)
    is_urgent = HANDLING[kind].confirmed == "at once"
    assert confirmed([one], frozenset()) == ([one] if is_urgent else [])
    assert confirmed([one], frozenset([one.difference_id])) == [one]
    assert confirmed([one], frozenset([replace(one, theirs="sell 1").difference_id])) == ([one] if is_urgent else [])


@pytest.mark.parametrize("kind", get_args(DifferenceKind))
def test_whoever_settles_it_is_told_what_to_do(kind: DifferenceKind) -> None:
    needs_somebody = HANDLING[kind].handled == "reported"
    assert bool(difference_advice(kind)) == needs_somebody
    assert "arb-1:buy" in difference_advice(kind, "arb-1:buy")


DOUBTED = Difference("order_ambiguous", "alpha", "arb-1:buy", "not sent", "two fit")


@pytest.mark.parametrize(
    ("kind", "is_caused"),
    [
        ("balance_unexplained", True),
        ("fill_foreign", True),
        ("order_foreign", True),
        ("fill_differs", False),
        ("order_ambiguous", False),
        ("balance_differs", False),
    ],
)
def test_what_an_order_in_doubt_may_look_like_says_so(kind: DifferenceKind, is_caused: bool) -> None:
    found = replace(DIFFERENCE, kind=kind)
    in_doubt = orders_in_doubt([found, DOUBTED, replace(DOUBTED, kind="report_implausible", subject="arb-2:sell")])
    cause = stored_difference(found, 1, in_doubt).cause
    assert {"arb-1:buy", "arb-2:sell"} <= set(in_doubt.split(", "))
    assert cause == (in_doubt if is_caused else "")
    assert stored_difference(found, 1).cause == ""
