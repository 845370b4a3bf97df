"""Session data of another layout are moved aside whole, once, and the sentence says where; all else stays."""

from pathlib import Path

import pytest

from launch.errors import CannotStartError
from launch.setup.data_layout import LAYOUT, LAYOUT_FILE, SESSION_DATA, database_name, set_aside_other_layout

KEPT = ("api_key", "jars", "recordings", "tick-sets", "logs")


def folder(home: Path, marker: str | None) -> Path:
    for name in (*SESSION_DATA, *KEPT):
        (home / name).write_text(name)
    if marker is not None:
        (home / LAYOUT_FILE).write_text(marker)
    return home


@pytest.mark.parametrize("marker", [None, "1\n", "999", "nonsense"])
def test_data_of_another_layout_are_moved_once(tmp_path: Path, marker: str | None) -> None:
    home = folder(tmp_path, marker)
    sentence = set_aside_other_layout(home)
    (target,) = home.glob("set-aside-*")
    assert sentence is not None
    assert str(target) in sentence
    assert sorted(path.name for path in target.iterdir()) == sorted(SESSION_DATA)
    assert sorted(path.name for path in home.iterdir()) == sorted((*KEPT, LAYOUT_FILE, target.name))
    assert set_aside_other_layout(home) is None


def test_data_of_this_layout_stay(tmp_path: Path) -> None:
    home = folder(tmp_path, f"{LAYOUT}\n")
    assert set_aside_other_layout(home) is None
    assert all((home / name).exists() for name in SESSION_DATA)


def test_a_new_folder_is_of_this_layout(tmp_path: Path) -> None:
    assert set_aside_other_layout(tmp_path) is None
    (tmp_path / "mongodb").mkdir()
    assert set_aside_other_layout(tmp_path) is None


def test_what_cannot_be_moved_is_one_sentence(tmp_path: Path) -> None:
    home = folder(tmp_path, None)
    (home / LAYOUT_FILE).mkdir()
    with pytest.raises(CannotStartError, match="cannot be set aside"):
        set_aside_other_layout(home)


def test_each_mode_has_a_database_of_this_layout() -> None:
    assert database_name("paper") == f"arbitrage_paper_{LAYOUT}"
