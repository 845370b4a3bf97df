"""The clocks of a paper session's regions: set off by a command, followed by each region's own processes."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from launch.regions.network.links import MILLISECOND
from launch.regions.sessions import region_home
from runtime.clock_shift import CLOCK_FILE, keep_shift, shift_at

Clocks = Mapping[str, int]
"""Region → microseconds that its clock is ahead of the machine's, less than 0 if behind; only clocks that are off."""


def set_clocks(home: Path, regions: Iterable[str], skew: int) -> None:
    """Set the clocks of the session in the data folder `home`. Raises OSError."""
    for region in regions:
        path = region_home(home, region) / CLOCK_FILE
        if skew != shift_at(path):
            keep_shift(path, skew)


def clocks_off(home: Path, regions: Iterable[str]) -> Clocks:
    shifts = {region: shift_at(region_home(home, region) / CLOCK_FILE) for region in regions}
    return {region: shift for region, shift in shifts.items() if shift}


def clock_lines(clocks: Mapping[str, float]) -> Iterator[str]:
    """Return the lines; `clocks` in milliseconds."""
    for region, ahead in clocks.items():
        yield f"{region}: its clock is {abs(ahead):g} ms {'ahead' if ahead > 0 else 'behind'}"


def in_milliseconds(clocks: Clocks) -> dict[str, float]:
    return {region: shift / MILLISECOND for region, shift in clocks.items()}
