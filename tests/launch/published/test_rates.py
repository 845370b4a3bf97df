"""What an app does a second, from two looks at what its processes count."""

from typing import Any

import pytest

from launch.published.rates import AppRates, Look
from market.time_units import MICROSECONDS

NOW = 1_000 * MICROSECONDS
KEPT = {"partial_matches": 1, "keys": 2, "window_rows": 3, "table_rows": 4}


def counts(rows: int = 0, **changes: Any) -> dict[str, Any]:
    """Return what one process counts after so many rows, each of which gave two."""
    return {
        "rows_in": rows,
        "rows_out": 2 * rows,
        "repeats": 0,
        "errors": {},
        "streams": {"quotes": rows, "Wide": 2 * rows},
        "offset": 100 + rows,
        "last_row_at": NOW - 3 * MICROSECONDS,
        "busy_us": 1_000 * rows,
        "state_bytes": 10,
        "snapshot_at": 0,
        "begun_at": 1,
        "kept": {},
        "lag_rows": 0,
    } | changes


def rates(*looks: dict[int, dict[str, Any]], seconds: float = 2.0) -> AppRates:
    made = AppRates()
    for number, look in enumerate(looks):
        made.add(Look(int(number * seconds * MICROSECONDS), look))
    return made


FIGURES = ("rows_in_per_second", "rows_per_second", "cpu", "streams", "rows_in", "rows_out")


@pytest.mark.parametrize(
    ("looks", "figures"),
    [
        pytest.param((), (0, 0, 0, {}, 0, 0), id="nobody looked"),
        pytest.param(({0: counts(10)},), (0, 0, 0, {"quotes": 0, "Wide": 0}, 10, 20), id="one look has no rate"),
        pytest.param(
            ({0: counts(10)}, {0: counts(30)}), (10, 20, 0.01, {"quotes": 10, "Wide": 20}, 30, 60), id="one partition"
        ),
        pytest.param(
            ({0: counts(10), 1: counts()}, {0: counts(30), 1: counts(60)}),
            (40, 80, 0.04, {"quotes": 40, "Wide": 80}, 90, 180),
            id="all partitions together",
        ),
        pytest.param(
            ({0: counts(10)}, {0: counts(30), 1: counts(1_000)}),
            (10, 20, 0.01, {"quotes": 10, "Wide": 20}, 1_030, 2_060),
            id="a partition of the second look alone has no rate",
        ),
        pytest.param(
            ({0: counts(100)}, {0: counts(4, begun_at=2)}),
            (0, 0, 0, {"quotes": 0, "Wide": 0}, 104, 208),
            id="another process has no rate yet, and what the one before counted stays",
        ),
        pytest.param(
            ({0: counts(100)}, {0: counts(4, begun_at=2)}, {0: counts(10, begun_at=2)}, {0: counts(1, begun_at=3)}),
            (0, 0, 0, {"quotes": 0, "Wide": 0}, 111, 222),
            id="each process counts once",
        ),
        pytest.param(
            ({0: counts(10)}, {0: counts(12, streams={"quotes": 12, "Wide": 20, "!Wide": 4})}),
            (1, 2, 0.001, {"!Wide": 2, "Wide": 0, "quotes": 1}, 12, 24),
            id="a stream that just had its first row",
        ),
        pytest.param(({0: counts(10)}, {}), (0, 0, 0, {}, 10, 20), id="no process answered"),
        pytest.param(
            ({0: counts(10), 1: counts()}, {1: counts(10)}, {0: counts(3, begun_at=2), 1: counts(30)}),
            (10, 20, 0.01, {"quotes": 10, "Wide": 20}, 43, 86),
            id="a process that was away for a look and was replaced counts once",
        ),
    ],
)
def test_rates_are_what_the_same_process_counted_between_two_looks(
    looks: tuple[dict[int, dict[str, Any]], ...], figures: tuple[Any, ...]
) -> None:
    found = rates(*looks).reported(NOW)
    assert tuple(found[name] for name in FIGURES) == figures


def test_busy_and_lag_are_those_of_all_partitions() -> None:
    made = rates({0: counts(), 1: counts()}, {0: counts(500, lag_rows=7), 1: counts(700, lag_rows=5)})
    assert (made.busy, made.lag_rows) == (0.6, 12)
    assert (AppRates().busy, AppRates().lag_rows) == (0.0, 0)


def test_two_looks_at_one_moment_divide_by_no_zero() -> None:
    assert rates({0: counts()}, {0: counts(1)}, seconds=0).reported(NOW)["rows_in_per_second"] == MICROSECONDS


@pytest.mark.parametrize(
    ("changes", "name", "value"),
    [
        (({"kept": KEPT}, {"kept": KEPT}), "window_rows", 6),
        (({"kept": KEPT}, {}), "keys", 2),
        (({"errors": {"!Wide": 1}}, {"errors": {"!Wide": 2, "!Met": 1}}), "errors", {"!Wide": 3, "!Met": 1}),
        (({}, {}), "state_bytes", 20),
        (({"lag_rows": 3}, {"lag_rows": 4}), "lag_rows", 7),
        # only a partition that has rows before it is late, by its last row; the latest one counts
        (({}, {}), "lag_ms", 0),
        (({"lag_rows": 1}, {"last_row_at": NOW - 9 * MICROSECONDS}), "lag_ms", 3_000),
        (({"lag_rows": 1}, {"lag_rows": 1, "last_row_at": NOW - 9 * MICROSECONDS}), "lag_ms", 9_000),
        (({"lag_rows": 1, "last_row_at": 0}, {}), "lag_ms", 0),
        # the oldest snapshot counts; none at all has no age
        (({}, {}), "snapshot_age_ms", None),
        (({"snapshot_at": NOW - MICROSECONDS}, {}), "snapshot_age_ms", 1_000),
        (({"snapshot_at": NOW - MICROSECONDS}, {"snapshot_at": NOW - 2_000}), "snapshot_age_ms", 1_000),
    ],
)
def test_figures_of_all_partitions(changes: tuple[dict[str, Any], dict[str, Any]], name: str, value: Any) -> None:
    assert rates({number: counts(**change) for number, change in enumerate(changes)}).reported(NOW)[name] == value


def test_the_next_offset_never_goes_back() -> None:
    """A process that was killed repeats rows."""
    made = rates({0: counts(50), 1: counts(1)}, {0: counts(20, begun_at=2)})
    assert made.reported(NOW)["offsets"] == {"0": 150, "1": 101}
