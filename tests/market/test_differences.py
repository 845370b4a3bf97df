"""The kinds of differences: each has its row in the documentation, and is one thing however often it is seen."""

from dataclasses import fields, replace
from pathlib import Path
from typing import get_args

import pytest

from market.accounting.differences import HANDLING, Difference, DifferenceKind, Resumption, confirmed

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
