"""When a start is given up: never while a process still works, always when it is dead."""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from launch.errors import LaunchError
from launch.setup.data_dir import ready_file
from launch.supervisor.readiness import IDLE_SECONDS, MAX_ENDS, StartTimeouts, until_it_works, until_ready
from market.time_units import MICROSECONDS
from store.errors import StoreUnavailableError
from streams.errors import StreamRejectedError, StreamUnavailableError

GROUP = 17
Look = tuple[int, Mapping[str, int | None], float]
"""Seconds since the start, what is missing, processor seconds of its group by then."""


def verdicts(*looks: Look) -> list[str | None]:
    used = {GROUP: 0.0}
    patience = StartTimeouts(300, {}, used=lambda group: used.get(group, 0.0))
    found = []
    seen: Look = (0, {}, 0.0)
    for at, missing, seconds in looks:
        # it looks all the time; only between two given ones nothing is new
        for between in range(seen[0] + 10, at, 10):
            patience.check(seen[1], between * MICROSECONDS)
        seen = at, missing, seconds
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
    patience = StartTimeouts(IDLE_SECONDS, restarts, used=lambda _: 10.0 * next(used))
    for second in range(MAX_ENDS):
        assert patience.check(CEP, second * MICROSECONDS) is None
        restarts["cep"] += 1
    assert patience.check(CEP, 60 * MICROSECONDS) == f"ended {MAX_ENDS} times before it was ready: cep"


def test_nobody_is_idle_while_nobody_looks() -> None:
    """The machine slept, or the supervisor was stopped."""
    patience = StartTimeouts(300, {}, used=lambda _: 0.0)
    for second in (0, 60, 7_200, 7_260, 7_320, 7_380):
        assert patience.check(CEP, second * MICROSECONDS) is None
    assert patience.check(CEP, 7_440 * MICROSECONDS) is not None


async def test_a_service_is_asked_again_until_it_works() -> None:
    answers: list[Exception | None] = [StreamUnavailableError("slow"), StoreUnavailableError("slow"), None]

    async def attempt() -> None:
        answer = answers.pop(0)
        if answer is not None:
            raise answer

    await until_it_works(attempt, "kafka", os.getpgid(0), pause_seconds=0)
    assert answers == []


@pytest.mark.parametrize(
    ("answer", "end"),
    [
        (StreamUnavailableError("no answer."), r"^not ready, and idle for 0 s: kafka \(no answer\.\)$"),
        (StreamRejectedError("never."), r"^never\.$"),
    ],
)
async def test_a_service_that_is_idle_or_says_no_is_given_up(answer: Exception, end: str) -> None:
    async def attempt() -> None:
        raise answer

    with pytest.raises((LaunchError, StreamRejectedError), match=end):
        # no process has this group
        await until_it_works(attempt, "kafka", 0, idle_seconds=0.001, pause_seconds=0)


async def test_who_waits_for_others_goes_on_once_all_of_them_are_ready(tmp_path: Path) -> None:
    (tmp_path / "ready").mkdir()
    ready_file(tmp_path, "kafka").touch()
    await until_ready(tmp_path, ())
    await until_ready(tmp_path, ("kafka",))
    waiting = asyncio.create_task(until_ready(tmp_path, ("kafka", "mongodb"), pause_seconds=0))
    for _ in range(10):
        await asyncio.sleep(0)
    assert not waiting.done()
    ready_file(tmp_path, "mongodb").touch()
    async with asyncio.timeout(20):
        await waiting
