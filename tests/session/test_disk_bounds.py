"""The three bounds of room on a disk."""

import pytest

from runtime.disk_space import MEGABYTE
from session.disk_bounds import DiskBounds, DiskLevel

BOUNDS = DiskBounds(2_000 * MEGABYTE, 600 * MEGABYTE, 300 * MEGABYTE)


@pytest.mark.parametrize(
    ("megabytes", "level"),
    [
        (2_000, "enough"),
        (1_999, "low"),
        (600, "low"),
        (599, "reduce_only"),
        (300, "reduce_only"),
        (299, "stop"),
        (0, "stop"),
    ],
)
def test_less_room_means_more(megabytes: int, level: DiskLevel) -> None:
    assert BOUNDS.level(megabytes * MEGABYTE) == level
