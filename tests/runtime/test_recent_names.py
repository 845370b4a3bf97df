"""The newest names are known, and memory does not grow with how many there were."""

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from runtime.recent_names import RecentNames

MOST = 8


@given(st.lists(st.integers(0, 40)))
def test_the_newest_are_known_and_nothing_else_is(numbers: list[int]) -> None:
    names = RecentNames(MOST)
    added: list[int] = []
    for number in numbers:
        is_new = names.is_new(f"name {number}")
        assert is_new or number in added
        assert number not in added[-MOST:] or not is_new
        if is_new:
            added.append(number)


def test_names_of_any_kind_are_told_apart() -> None:
    names = RecentNames(MOST)
    kinds = ("", "0", 1, ("BTC", "alpha", 1), ("BTC", "alpha", 2), None)
    assert [names.is_new(one) for one in kinds] == [True] * len(kinds)
    assert [names.is_new(one) for one in kinds] == [False] * len(kinds)


def test_a_name_is_forgotten_once_twice_as_many_came() -> None:
    names = RecentNames(MOST)
    assert names.is_new("first")
    for number in range(2 * MOST):
        names.is_new(f"name {number}")
    assert names.is_new("first")


def test_memory_does_not_grow() -> None:
    names, most = RecentNames(10_000), 10_000

    def traced(first: int) -> int:
        for number in range(first, first + most):
            names.is_new(f"name {number}")
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        traced(0)
        filled = traced(most)
        assert filled < 24 * 2 * most
        assert all(traced(most * times) <= filled + 10_000 for times in range(2, 6))
    finally:
        tracemalloc.stop()
