from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ui.auth.api_keys import ensure_api_key, known_key


def test_the_first_call_makes_a_key_that_only_its_owner_reads(tmp_path: Path) -> None:
    path = ensure_api_key(tmp_path / "home")
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(path.read_text().strip()) >= 40
    assert [entry.name for entry in path.parent.iterdir()] == ["api_key"]


def test_later_calls_keep_the_key_and_close_it_again(tmp_path: Path) -> None:
    path = ensure_api_key(tmp_path)
    key = path.read_text()
    path.chmod(0o644)
    assert ensure_api_key(tmp_path).read_text() == key
    assert path.stat().st_mode & 0o777 == 0o600


def test_many_first_starts_at_once_agree_on_one_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        keys = set(threads.map(lambda _: ensure_api_key(tmp_path).read_text(), range(32)))
    assert len(keys) == 1


@pytest.mark.parametrize("given", [None, "", "wrong", "schlüssel"])
def test_what_is_not_the_key_is_rejected(tmp_path: Path, given: str | None) -> None:
    assert not known_key(tmp_path, given)


def test_a_replaced_key_counts_at_once(tmp_path: Path) -> None:
    path = ensure_api_key(tmp_path)
    old = path.read_text().strip()
    assert known_key(tmp_path, old)
    path.write_text("another\n")
    assert known_key(tmp_path, "another")
    assert not known_key(tmp_path, old)
