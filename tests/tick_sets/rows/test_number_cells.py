"""Columns of plain digits are read by their bytes, others cell by cell: the same numbers come out."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tick_sets.rows.number_cells import (
    are_whole_numbers,
    exact_number_cells,
    exact_whole_numbers,
    number_cells,
    plain_numbers,
    whole_numbers,
    without_exponents,
)
from tick_sets.rows.text_bytes import bytes_of, has_only_digits_and_points, only_word

PLAIN = st.one_of(
    st.integers(0, 10**20).map(str),
    st.decimals(0, 10**6, places=8).map(str),
    st.sampled_from(["0", "00", "0.0", "1.50", "9" * 18, "8" + "9" * 18, "9" + "0" * 18, "1" * 30, "1" * 31]),
)
ODD = st.one_of(
    st.text("0123456789.+-eE \t", max_size=8),
    st.sampled_from(["", ".", "1.", ".5", "1.2.3", "1..2", "-1", "+1", " 1 ", "1e-7", "1E+3", ".5e3", "1e999", "nan"]),
    st.sampled_from(["1_0", "١", "é", "\u00a01", "x", "1,5", "1725000000000.0", "1.725e12", "-9" + "0" * 18]),
    st.text(max_size=4),
)
CELLS = st.lists(st.one_of(PLAIN, PLAIN, PLAIN, ODD), max_size=12)


def column(cells: list[Any], cut: int) -> "pa.StringArray":
    """Return the cells behind the first `cut`, as they lie within a longer column."""
    return pa.array(cells, pa.string()).slice(cut)


@given(st.one_of(st.lists(PLAIN, max_size=12), CELLS), st.integers(0, 3))
@example(["1.2.3", "1"], 0)
@example([".5", "1"], 0)
@example(["1.", "1"], 0)
@example([".5e3", "1e2", "7"], 0)
@example([" 1", "\u00a02", "3"], 0)
def test_numbers_are_those_of_the_slow_path(cells: list[str], cut: int) -> None:
    quick, slow = number_cells(column(cells, cut)), exact_number_cells(column(cells, cut))
    assert quick.texts.to_pylist() == slow.texts.to_pylist()
    # to the last bit; NaN is no number of its own
    assert quick.doubles.view(np.int64).tolist() == slow.doubles.view(np.int64).tolist()
    assert quick.is_out.tolist() == slow.is_out.tolist()


@given(st.one_of(st.lists(PLAIN, max_size=12), st.lists(st.one_of(PLAIN, PLAIN, ODD, st.none()), max_size=12)))
@example(["8" + "9" * 18, "9" + "0" * 18, "1" * 20])
@example(["1", None, "2.0"])
def test_whole_numbers_are_those_of_the_slow_path(cells: list[str | None]) -> None:
    whole, parts = column(cells, 0), pa.chunked_array([column(cells[:2], 0), column(cells[2:], 0)])
    wanted = exact_whole_numbers(whole).to_pylist()
    assert whole_numbers(pa.chunked_array([whole])).to_pylist() == wanted
    assert whole_numbers(parts).to_pylist() == wanted
    assert not are_whole_numbers(parts) or [str(number) for number in wanted] == [
        (cell or "").lstrip("0") or "0" for cell in cells
    ]


@given(st.lists(st.one_of(PLAIN, ODD, st.none()), max_size=5), st.integers(0, 2))
def test_bytes_tell_what_a_look_at_each_cell_tells(cells: list[str | None], cut: int) -> None:
    read = column(cells, cut)
    known = [cell or "" for cell in cells[cut:]]
    assert has_only_digits_and_points(read) == (set("".join(known)) <= set("0123456789."))
    assert bytes_of(read).lengths.tolist() == [len(cell.encode()) for cell in known]
    counts = bytes_of(read).counts(bytes_of(read).data == ord("1"))
    assert counts.tolist() == [cell.count("1") for cell in known]


@given(st.lists(st.sampled_from(["", "a", "ab", "aba", "b", "é"]), max_size=4), st.integers(0, 2), st.integers(1, 3))
@example(["ab", "aba", "b"], 0, 1)
def test_one_word_is_one_word(words: list[str], cut: int, times: int) -> None:
    cells = words[cut:] * times
    assert only_word(column([*words[:cut], *cells], min(cut, len(words)))) == (
        cells[0] if len(set(cells)) == 1 else None
    )


def test_a_null_is_no_word() -> None:
    assert only_word(column(["a", None], 0)) is None
    assert only_word(column([None, None], 0)) is None


@pytest.mark.parametrize("read", [plain_numbers, without_exponents])
def test_plain_digits_pass_as_they_are(read: Any) -> None:
    cells = column(["1", "2.5", "", None], 0)
    assert read(cells) is cells
