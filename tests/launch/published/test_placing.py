"""Which group of processes an app belongs into."""

import pytest

from launch.published.placing import (
    BUSY,
    CAUGHT_UP_ROWS,
    MOST_GROUPS,
    MOST_SHARED,
    QUIET,
    belongs_elsewhere,
    shared_place,
)


@pytest.mark.parametrize(
    ("busy", "lag_rows", "is_alone", "elsewhere"),
    [
        # beside others: only who is busy leaves, however far behind it is
        (0.0, 0, False, False),
        (0.0, 10**6, False, False),
        (BUSY, 0, False, False),
        (BUSY + 0.01, 0, False, True),
        # alone: only who is quiet and has caught up comes back
        (0.0, 0, True, True),
        (QUIET - 0.01, CAUGHT_UP_ROWS - 1, True, True),
        (QUIET, 0, True, False),
        (0.0, CAUGHT_UP_ROWS, True, False),
        (BUSY + 0.01, 10**6, True, False),
        # between the two bounds it stays where it is
        ((QUIET + BUSY) / 2, 0, False, False),
        ((QUIET + BUSY) / 2, 0, True, False),
    ],
)
def test_an_app_belongs_elsewhere(busy: float, lag_rows: int, is_alone: bool, elsewhere: bool) -> None:
    assert belongs_elsewhere(busy, lag_rows, is_alone=is_alone) is elsewhere


@pytest.mark.parametrize(
    ("counts", "place"),
    [
        ([0], 0),
        ([MOST_SHARED - 1], 0),
        # a full one has another beside it
        ([MOST_SHARED], 1),
        ([MOST_SHARED, 0], 1),
        # others have left
        ([3, MOST_SHARED - 1], 0),
        ([MOST_SHARED] * MOST_GROUPS, 0),
        ([MOST_SHARED + 1] * (MOST_GROUPS - 1) + [MOST_SHARED], MOST_GROUPS - 1),
    ],
)
def test_a_shared_group_is_filled_before_another_begins(counts: list[int], place: int) -> None:
    assert shared_place(counts) == place
