"""Texts of one plain form are read all at once, others one by one: the same times come out."""

from datetime import UTC, datetime, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tick_sets.mapped.times import epoch_times, exact_text_times, text_times, times_by_size

MOMENTS = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999))  # noqa: DTZ001 - as files have them
FORMS = st.tuples(st.sampled_from([" ", "T", "t"]), st.sampled_from(["seconds", "milliseconds", "microseconds"]))
ENDS = st.sampled_from(["", "", "Z", "z", " UTC", "+09:00"])
ODD = st.sampled_from(
    [
        *("2024-02-30 00:00:00", "2024-13-01 00:00:00", "2024-01-01 24:00:00", "2024-01-01 23:59:60"),
        *("0000-01-01 00:00:00", "2024-01-01 00:00:0x", "2024/01/01 00:00:00", "2024-01-01_00:00:00", "", "x"),
        *(
            "2024-01-01 00:00:00.12",
            " 2024-01-01 00:00:00",
            "2024-03-31 02:30:00",
            "2024-10-27 02:30:00",
            "２024-01-01",
        ),
    ]
)


@st.composite
def texts(draw: st.DrawFn) -> list[str]:
    """Draw times of one form, as a file has them, among them perhaps some that are none."""
    (between, precision), end = draw(FORMS), draw(ENDS)
    plain = [moment.isoformat(between, precision) + end for moment in draw(st.lists(MOMENTS, max_size=5))]
    return draw(st.permutations([*plain, *draw(st.lists(ODD, max_size=2))]))


@given(texts(), st.sampled_from([UTC, ZoneInfo("Europe/Zurich")]))
@example(["2024-01-01 24:00:00"], UTC)
@example(["0000-01-01 00:00:00"], UTC)
@example(["2024-01-01 00:00:00", "2024-02-30 00:00:00"], UTC)
@example(["2024-10-27 02:30:00Z"], ZoneInfo("Europe/Zurich"))
def test_times_are_those_of_the_slow_path(cells: list[str], zone: tzinfo) -> None:
    column = pa.chunked_array([pa.array(cells, pa.string())])
    quick, slow = text_times(column, zone), exact_text_times(column, zone, None, "reject")
    assert quick.times.to_pylist() == slow.times.to_pylist()
    assert quick.faults.to_pylist() == slow.faults.to_pylist()


@pytest.mark.parametrize(("unit", "factor"), [("s", 1), ("ms", 1_000), ("us", 1_000_000), ("ns", 1_000_000_000)])
def test_a_unit_is_told_by_size_also_beside_what_is_no_number(unit: str, factor: int) -> None:
    numbers = [str(1_725_000_000 * factor), str(1_725_000_001 * factor)]
    for cells in (numbers, [*numbers, "x"], [f"{number}.0" for number in numbers]):
        column, lines = pa.chunked_array([pa.array(cells, pa.string())]), np.arange(len(cells), dtype=np.int64)
        wanted = [1_725_000_000_000_000, 1_725_000_001_000_000, *[None] * (len(cells) - 2)]
        assert times_by_size(Path("a.csv"), column, lines).to_pylist() == wanted
        assert epoch_times(Path("a.csv"), column, lines, unit).to_pylist() == wanted  # type: ignore[arg-type]  # a unit
