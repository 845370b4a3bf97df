"""`arbitrage replay --verify` ends with 0, 1 or 2 and says why; a recording cut off at the very end is repaired."""

import asyncio
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from backtest.verify.recorded_session import ARBITRAGES, HEAD, OPPORTUNITIES, SESSION, SessionHead, open_session
from backtest.verify.session import Verified
from launch.commands.main import run
from launch.commands.verify import outcome_lines, session_folders, verify_session
from launch.errors import CannotStartError
from launch.sessions.recorded_sessions import recorded_session
from launch.sessions.recording import RAW, RAW_HEAD, build_log, finish_recording
from streams.records import Record
from streams.topics import OPPORTUNITIES as TOPIC
from tests.backtest.verify.derivation import plainly_derived
from tests.backtest.verify.made_up import SESSION_ID, made_up_session
from tests.cep.logs import session as session_of
from tick_sets.sets.log_parts import LogParts
from tick_sets.sets.tick_set import TickSet


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data folder with one recorded session."""
    home = tmp_path_factory.mktemp("home")
    folder = home / "recordings" / SESSION_ID
    folder.mkdir(parents=True)
    asyncio.run(made_up_session(folder))
    return home


@pytest.fixture
def home(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "home")
    return tmp_path / "home"


def derived(_: Path, tick_set: TickSet) -> Iterable[tuple[str, int, bytes]]:
    return plainly_derived(tick_set)


def test_no_difference_ends_with_0(home: Path) -> None:
    said: list[str] = []
    assert verify_session(home, SESSION_ID, (), said.append, derived) == 0
    assert said[-1] == "no difference: 5 opportunities, 3 rejections, 3 arbitrages, 3 signals verified"


def test_a_difference_ends_with_1_and_is_named(home: Path) -> None:
    path = home / "recordings" / SESSION_ID / "log" / ARBITRAGES
    path.write_text(path.read_text().replace('"state":"closed"', '"state":"unwound"', 1))
    said: list[str] = []
    assert verify_session(home, SESSION_ID, (), said.append, derived) == 1
    assert said[-1].startswith("DIFFERENT: arbitrage ")
    assert said[-1].endswith("state recorded unwound, derived closed")


def test_what_earlier_versions_wrote_is_said(home: Path) -> None:
    outcome = Verified()
    outcome.older.update({"rejections": 2})
    lines = outcome_lines(open_session(home / "recordings" / SESSION_ID), outcome)
    assert lines[0] == "2 rejections not verifiable: recorded by an earlier version"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["replay"], "name recorded files, or a recorded session with --verify"),
        (["replay", "--verify", "nobody"], "has no session nobody"),
        (["replay", "--verify", "./nowhere"], "is not a folder"),
        (["replay", "--verify", "nobody", "ticks.gz"], "and no files"),
    ],
)
def test_mistakes_get_one_sentence_and_2(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    sentence: str,
) -> None:
    monkeypatch.setenv("ARBITRAGE_HOME", str(tmp_path))
    assert run(words) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1


def test_a_session_is_found_in_the_data_folders_of_other_modes(home: Path) -> None:
    (home / "public" / "recordings" / "other").mkdir(parents=True)
    assert session_folders(home, "other") == [home / "public" / "recordings" / "other"]
    assert session_folders(home, SESSION_ID) == [home / "recordings" / SESSION_ID]


def test_a_session_of_regions_is_found_in_the_data_folders_of_all_of_them(home: Path) -> None:
    folders = [home / "regions" / region / "recordings" / "wide" for region in ("eu", "jp", "us")]
    for folder in folders:
        folder.mkdir(parents=True)
    (home / "regions" / "sg" / "recordings" / "narrow").mkdir(parents=True)
    assert session_folders(home, "wide") == folders
    assert [recorded_session(home, "wide", region) for region in (None, "us")] == [folders[0], folders[2]]
    with pytest.raises(CannotStartError, match="session wide has no log of region sg, only of eu, jp, us"):
        recorded_session(home, "wide", "sg")


def test_the_logs_of_all_regions_are_verified_and_a_fault_in_one_of_them_is_found(home: Path) -> None:
    for region in ("eu", "us"):
        shutil.copytree(home / "recordings" / SESSION_ID, home / "regions" / region / "recordings" / SESSION_ID)
    shutil.rmtree(home / "recordings" / SESSION_ID)
    said: list[str] = []
    assert verify_session(home, SESSION_ID, (), said.append, derived) == 0
    assert said[0] == f"session {SESSION_ID}: verifying the logs of its 2 regions"
    raw_again(home / "regions" / "us" / "recordings" / SESSION_ID / "log")
    (home / "regions" / "us" / "recordings" / SESSION_ID / "log" / RAW / RAW_HEAD).unlink()
    with pytest.raises(CannotStartError, match="ended before its log was complete"):
        verify_session(home, SESSION_ID, (), print, derived)


def raw_again(log: Path) -> SessionHead:
    """Leave the log as a kill does between the end of the session and the end of putting it together."""
    head = HEAD.validate_json((log / SESSION).read_bytes())
    messages = list(open_session(log.parent).messages())
    rows = [Record(TOPIC, 0, number, None, one.value, one.time) for number, one in enumerate(messages)]
    LogParts(log / RAW).write(TOPIC, rows)
    (log / RAW / RAW_HEAD).write_bytes((log / SESSION).read_bytes())
    for name in (SESSION, OPPORTUNITIES):
        (log / name).unlink()
    shutil.rmtree(log / "ticks")
    return head


def test_what_was_not_put_together_any_more_is_put_together_by_the_verification(home: Path) -> None:
    log = home / "recordings" / SESSION_ID / "log"
    head = raw_again(log)
    said: list[str] = []
    assert verify_session(home, SESSION_ID, (), said.append, derived) == 0
    assert open_session(log.parent).head == head
    assert not (log / RAW).exists()
    assert build_log(log)


def test_a_log_that_was_not_ended_is_left_as_it_is(home: Path) -> None:
    log = home / "recordings" / SESSION_ID / "log"
    raw_again(log)
    (log / RAW / RAW_HEAD).unlink()
    assert not build_log(log)
    with pytest.raises(CannotStartError, match="ended before its log was complete"):
        verify_session(home, SESSION_ID, (), print, derived)


def test_the_end_of_a_session_says_why_it_cannot_be_verified(home: Path) -> None:
    said: list[str] = []
    assert finish_recording(session_of(home, session_id=SESSION_ID), said.append)
    assert said == []
    log = home / "recordings" / SESSION_ID / "log"
    raw_again(log)
    (first,) = LogParts(log / RAW).of("ticks")
    first.unlink()
    assert not finish_recording(session_of(home, session_id=SESSION_ID), said.append)
    assert "this session cannot be verified" in said[-1]
