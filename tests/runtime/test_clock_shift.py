"""A clock that is set off: the wall clock of those that follow it, at once, and nothing else."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtime.clock import ReplayClock, SystemClock, region_clock, steady_now, wall_now
from runtime.clock_shift import CLOCK_FILE, keep_shift, shift_at

HOUR = 3_600_000_000


@pytest.fixture
def clock_file(tmp_path: Path) -> Path:
    path = tmp_path / CLOCK_FILE
    keep_shift(path, 0)
    return path


@given(shift=st.integers(-(2**63), 2**63 - 1))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_kept_is_read(tmp_path: Path, shift: int) -> None:
    path = tmp_path / CLOCK_FILE
    keep_shift(path, shift)
    assert shift_at(path) == shift


def test_without_a_file_no_clock_is_off(tmp_path: Path) -> None:
    assert shift_at(tmp_path / CLOCK_FILE) == 0
    (tmp_path / CLOCK_FILE).write_bytes(b"half")
    assert shift_at(tmp_path / CLOCK_FILE) == 0
    with pytest.raises(FileNotFoundError), region_clock(tmp_path / "nowhere"):
        pass


@pytest.mark.parametrize("shift", [HOUR, -HOUR])
def test_who_follows_it_has_the_new_time_at_once_and_is_right_again_after_it(clock_file: Path, shift: int) -> None:
    before = wall_now()
    replayed = ReplayClock(recording_start=0, wall_start=before, speed=2.0)
    with region_clock(clock_file):
        assert wall_now() - before < HOUR // 2
        keep_shift(clock_file, shift)
        for now in (wall_now(), SystemClock().now()):
            assert abs(now - before - shift) < HOUR // 2
        assert abs(replayed.now() - 2 * shift) < HOUR
        keep_shift(clock_file, 0)
        assert abs(wall_now() - before) < HOUR // 2
        keep_shift(clock_file, shift)
    assert abs(wall_now() - before) < HOUR // 2


def test_the_steady_clock_goes_on_as_it_is(clock_file: Path) -> None:
    """Leases and the second in which a grant counts go by it."""
    with region_clock(clock_file):
        before = steady_now()
        keep_shift(clock_file, HOUR)
        ahead = steady_now()
        keep_shift(clock_file, -HOUR)
        assert before <= ahead <= steady_now() < before + HOUR
