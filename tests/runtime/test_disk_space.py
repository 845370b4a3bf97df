"""Free room on a disk."""

from pathlib import Path

from runtime.disk_space import known_free_bytes


def test_the_room_of_a_folder_that_is_gone_is_not_known(tmp_path: Path) -> None:
    assert known_free_bytes(tmp_path) is not None
    assert known_free_bytes(tmp_path / "gone") is None
