"""The three bounds of room on a disk."""

from pathlib import Path

import pytest

from session.disk_space import MEGABYTE, DiskBounds, DiskLevel, known_free_bytes

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


def test_the_room_of_a_folder_that_is_gone_is_not_known(tmp_path: Path) -> None:
    assert known_free_bytes(tmp_path) is not None
    assert known_free_bytes(tmp_path / "gone") is None
