"""Keys of others: hashed at rest, one writer at a time, whole or not at all."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ui.auth.api_keys import digest_of, known_key, new_key
from ui.auth.callers import Role
from ui.auth.key_store import (
    KEYS_FILE,
    MAX_KEYS,
    KeyNameError,
    KeysDamagedError,
    StoredKey,
    add_key,
    read_changes,
    read_keys,
    revoke_key,
)

ROOT = Path(__file__).parents[2]
ENDLESS = """
import sys
from pathlib import Path
from ui.auth.key_store import StoredKey, add_key, revoke_key
print("begun", flush=True)
while True:
    add_key(Path(sys.argv[1]), StoredKey("passing", "viewer", 1, "0" * 64))
    revoke_key(Path(sys.argv[1]), "passing")
"""


def kept(name: str = "desk", role: Role = "viewer", key: str | None = None) -> StoredKey:
    return StoredKey(name, role, 1_700_000_000_000_000, digest_of(key or new_key()))


def test_a_key_is_known_by_its_hash_alone(tmp_path: Path) -> None:
    key = new_key()
    add_key(tmp_path, kept(key=key))
    found = known_key(tmp_path, key)
    assert found is not None
    assert (found.name, found.role) == ("desk", "viewer")
    file = tmp_path / KEYS_FILE
    assert file.stat().st_mode & 0o777 == 0o600
    assert key not in file.read_text()
    assert found.digest not in repr(found)
    assert known_key(tmp_path, found.digest) is None


def test_a_revoked_key_is_unknown_at_once_and_its_name_free(tmp_path: Path) -> None:
    key = new_key()
    add_key(tmp_path, kept(key=key))
    assert revoke_key(tmp_path, "desk").role == "viewer"
    assert known_key(tmp_path, key) is None
    add_key(tmp_path, kept(role="operator"))
    assert [one.role for one in read_keys(tmp_path)] == ["operator"]
    assert [change.action for change in read_changes(tmp_path)] == ["key.add", "key.revoke", "key.add"]


@pytest.mark.parametrize("name", ["", "owner", "anybody", "Desk", "a b", "-a", "ä", "x" * 41, "a/b", "a\n"])
def test_strange_and_reserved_names_are_rejected(tmp_path: Path, name: str) -> None:
    with pytest.raises(KeyNameError, match="cannot name a key"):
        add_key(tmp_path, kept(name))
    assert read_keys(tmp_path) == ()


def test_a_name_is_given_once_and_there_is_an_end_of_keys(tmp_path: Path) -> None:
    add_key(tmp_path, kept())
    with pytest.raises(KeyNameError, match="already"):
        add_key(tmp_path, kept())
    with pytest.raises(KeyNameError, match="no key 'other'"):
        revoke_key(tmp_path, "other")
    for number in range(MAX_KEYS - 1):
        add_key(tmp_path, kept(f"desk-{number}"))
    with pytest.raises(KeyNameError, match="revoke unused"):
        add_key(tmp_path, kept("one-more"))


def test_many_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: add_key(tmp_path, kept(f"desk-{number}")), range(40)))
    assert {key.name for key in read_keys(tmp_path)} == {f"desk-{number}" for number in range(40)}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"keys": [{"name": "desk"}]}', '{"keys": 7}'])
def test_a_damaged_file_lets_nobody_in_and_is_not_overwritten(
    tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / KEYS_FILE).write_text(text)
    assert read_keys(tmp_path) == ()
    assert "keys unreadable" in caplog.text
    with pytest.raises(KeysDamagedError, match="cannot be read as a list of keys"):
        add_key(tmp_path, kept())
    assert (tmp_path / KEYS_FILE).read_text() == text


def test_a_writer_killed_at_any_line_leaves_the_keys_that_were_there(tmp_path: Path) -> None:
    key = new_key()
    add_key(tmp_path, kept("staying", key=key))
    for _ in range(3):
        writer = subprocess.Popen(
            (sys.executable, "-c", ENDLESS, str(tmp_path)), cwd=ROOT, env=os.environ, stdout=subprocess.PIPE
        )
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"begun\n"
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        found = known_key(tmp_path, key)
        assert found is not None
        assert {one.name for one in read_keys(tmp_path)} <= {"staying", "passing"}
        if len(read_keys(tmp_path)) == 2:
            revoke_key(tmp_path, "passing")
    add_key(tmp_path, kept("another"))
