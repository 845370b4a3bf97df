"""Both clocks: integers that never go back, and a replay that runs faster."""

import ast
from pathlib import Path

import pytest

from market.time_units import MICROSECONDS
from runtime.clock import ReplayClock, SystemClock, wall_now
from tests.house_rules import ROOMS

ROOT = Path(__file__).parents[2]
OURS = {"time": ("time", "time_ns"), "datetime": ("now", "utcnow", "today"), "asyncio": ("sleep",)}


def test_wall_time_is_microseconds_of_this_age_and_grows() -> None:
    first, second = wall_now(), SystemClock().now()
    assert first <= second
    assert 1_600_000_000 * MICROSECONDS < first < 4_000_000_000 * MICROSECONDS


@pytest.mark.parametrize(("speed", "wall_seconds", "expected"), [(1.0, 2, 2), (10.0, 2, 20), (0.5, 2, 1)])
def test_replay_runs_from_the_recording_start(speed: float, wall_seconds: int, expected: int) -> None:
    clock = ReplayClock(1_000, wall_now() - wall_seconds * MICROSECONDS, speed)
    passed = clock.now() - 1_000
    assert expected * MICROSECONDS <= passed < (expected + 5 * speed) * MICROSECONDS


@pytest.mark.parametrize(("wall", "expected"), [(500, 1_000), (600, 1_200), (400, 800)])
def test_replay_has_a_recorded_time_for_any_time(wall: int, expected: int) -> None:
    assert ReplayClock(1_000, 500, 2.0).at(wall) == expected


async def test_replay_sleeps_in_market_seconds() -> None:
    clock = ReplayClock(0, wall_now(), 1_000.0)
    before = clock.now()
    await clock.sleep(10)
    assert clock.now() - before >= 10 * MICROSECONDS


def _reads_time(path: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Attribute(value=ast.Name(id=module), attr=name) if name in OURS.get(module, ()):
                found.append(f"{path.relative_to(ROOT)}:{node.lineno} {module}.{name}")
    return found


def test_nothing_else_reads_time_or_sleeps() -> None:
    clock = ROOT / "runtime" / "clock.py"
    files = [path for room in ROOMS for path in (ROOT / room).rglob("*.py") if path != clock]
    assert [line for path in files for line in _reads_time(path)] == []
    assert _reads_time(clock)
