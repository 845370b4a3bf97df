"""`arbitrage keys`: shown once, listed without, revoked at once; mistakes get one sentence."""

from pathlib import Path

import pytest

from launch.commands.entry_points import run_words
from ui.auth.api_keys import known_key


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ARBITRAGE_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_a_key_is_shown_once_and_works(home: Path, capsys: pytest.CaptureFixture[str], role: str) -> None:
    assert run_words(["keys", "add", "desk", "--role", role]) == 0
    said, key = capsys.readouterr().out.splitlines()
    assert said == f"key of desk ({role}), shown only once and stored as a hash:"
    found = known_key(home, key)
    assert found is not None
    assert (found.name, found.role) == ("desk", role)
    assert run_words(["keys", "list"]) == 0
    listed = capsys.readouterr().out
    assert key not in listed
    assert found.digest not in listed
    assert [line.split()[:2] for line in listed.splitlines()[:2]] == [["owner", "operator"], ["desk", role]]
    assert str(home / "api_key") in listed


def test_a_key_that_was_taken_back_counts_no_more(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_words(["keys", "add", "desk", "--role", "viewer"])
    key = capsys.readouterr().out.splitlines()[1]
    assert run_words(["keys", "revoke", "desk"]) == 0
    assert known_key(home, key) is None


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["add", "owner", "--role", "viewer"], "cannot name a key"),
        (["add", "A B", "--role", "viewer"], "cannot name a key"),
        (["revoke", "nobody"], "There is no key 'nobody'"),
        (["revoke", "owner"], "There is no key 'owner'"),
    ],
)
@pytest.mark.usefixtures("home")
def test_a_mistake_is_one_sentence(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_words(["keys", *words]) == 1
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1


def test_a_damaged_file_is_one_sentence(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "api_keys.json").write_text("{")
    assert run_words(["keys", "list"]) == 1
    assert "cannot be read as a list of keys" in capsys.readouterr().err


def test_a_session_with_a_folder_of_its_own_knows_the_same_keys(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_words(["keys", "add", "desk", "--role", "viewer"])
    key = capsys.readouterr().out.splitlines()[1]
    own = home / "live"
    own.mkdir()
    (own / "api_key").symlink_to(home / "api_key")
    found = known_key(own, key)
    assert found is not None
    assert found.name == "desk"
    run_words(["keys", "revoke", "desk"])
    assert known_key(own, key) is None
