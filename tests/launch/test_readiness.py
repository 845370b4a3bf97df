"""When a start is given up: never on what still works, always on what is dead."""

from collections.abc import Mapping

import pytest

from launch.readiness import IDLE_SECONDS, MOST_ENDS, Patience
from market.clock import MICROSECONDS

GROUP = 17
Look = tuple[int, Mapping[str, int | None], float]
"""Seconds since the start, what is missing, processor seconds of its group by then."""


def verdicts(*looks: Look) -> list[str | None]:
    used = {GROUP: 0.0}
    patience = Patience(300, {}, used=lambda group: used.get(group, 0.0))
    found = []
    for at, missing, seconds in looks:
        used[GROUP] = seconds
        found.append(patience.check(missing, at * MICROSECONDS))
    return found


CEP = {"cep": GROUP}


@pytest.mark.parametrize(
    ("looks", "is_given_up"),
    [
        ([(0, CEP, 0), (299, CEP, 0.1), (300, CEP, 0.1)], False),
        ([(0, CEP, 0), (301, CEP, 0.1)], True),
        ([(0, CEP, 0), (301, CEP, 2.9)], True),
        ([(0, CEP, 0), (200, CEP, 3.0), (499, CEP, 3.1)], False),
        ([(0, CEP, 0), (200, CEP, 3.0), (501, CEP, 3.1)], True),
        ([(second, CEP, second / 20) for second in range(0, 3_600, 60)], False),
        # started anew: another group
        ([(0, {"cep": 16}, 0), (200, CEP, 0), (499, CEP, 0)], False),
        ([(0, {"cep": None}, 0), (200, {"cep": None}, 0), (301, {"cep": None}, 0)], True),
        # it was ready in between, and fell back
        ([(0, CEP, 0), (200, {}, 0), (310, CEP, 0)], False),
    ],
)
def test_only_an_idle_part_is_given_up(looks: list[Look], is_given_up: bool) -> None:
    found = verdicts(*looks)
    assert found[:-1] == [None] * (len(looks) - 1)
    assert found[-1] == ("not ready, and idle for 300 s: cep" if is_given_up else None)


def test_a_part_that_ends_again_and_again_is_given_up_however_much_it_works() -> None:
    restarts = {"cep": 5}
    used = iter(range(1_000))
    patience = Patience(IDLE_SECONDS, restarts, used=lambda _: 10.0 * next(used))
    for second in range(MOST_ENDS):
        assert patience.check(CEP, second * MICROSECONDS) is None
        restarts["cep"] += 1
    assert patience.check(CEP, 60 * MICROSECONDS) == f"ended {MOST_ENDS} times before it was ready: cep"
