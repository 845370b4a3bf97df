import pytest

from pricefeeds.books import RawLevel, book_top, levels_of_side
from tests.pricefeeds.samples import level


@pytest.mark.parametrize(
    ("side", "expected"),
    [
        ([], ()),
        ([[100.1, 0.1]], (level("100.1", "0.1"),)),
        ([["100.10", "0.30000000"]], (level("100.10", "0.3"),)),
        ([[0.1 + 0.2, 1e-8]], (level("0.30000000000000004", "0.00000001"),)),
        ([[101, 2, "a third column"]], (level("101", "2"),)),
        ([[101, 0], [100, 1.5]], (level("100", "1.5"),)),
        ([[8_986_846.0, 0.09056]], (level("8986846", "0.09056"),)),
    ],
    ids=["empty", "floats", "strings", "binary tail", "three columns", "gone level", "yen"],
)
def test_a_side_becomes_decimal(side: list[RawLevel], expected: tuple[object, ...]) -> None:
    assert levels_of_side(side) == expected


def test_ten_levels_are_copied_from_a_book_that_goes_on_changing() -> None:
    levels = levels_of_side([[100.0 - depth, 1.0] for depth in range(20)])
    live = [[100.0, 1.0]]
    copied = levels_of_side(live)
    live[0][1] = 99.0
    assert [entry.price for entry in levels] == [100 - depth for depth in range(10)]
    assert copied == (level("100", "1"),)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), "", "abc"])
def test_what_is_no_number_is_refused(bad: float | str) -> None:
    with pytest.raises(ValueError, match="number"):
        levels_of_side([[bad, 1.0]])


def test_exchange_time_is_microseconds_or_absent() -> None:
    assert book_top([[1, 1]], [[2, 1]], 1_700_000_000_123).exchange_time == 1_700_000_000_123_000
    assert book_top([[1, 1]], [[2, 1]], None).exchange_time is None
