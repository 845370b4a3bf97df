"""One supervised process: the first SIGTERM asks it to end if it can be asked, the second ends it."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from launch.errors import CannotStartError
from launch.setup.data_dir import RUN_FILE, ready_file
from launch.supervisor.process_main import followed_clock
from runtime.clock import wall_now
from runtime.clock_shift import CLOCK_FILE, keep_shift
from session.session import Mode, Placement
from tests.ui.samples import session_of

SCRIPT = """
import asyncio, gc, sys
from pathlib import Path
from launch.supervisor.process_main import run_process

asked = asyncio.Event()

async def entry(ready):
    Path(sys.argv[1], "found").write_text(str(Path(sys.argv[1], "ready", "bot-alpha").exists()))
    ready()
    Path(sys.argv[1], "kept").write_text(str(gc.get_freeze_count()))
    await asked.wait()
    Path(sys.argv[1], "asked").touch()
    if sys.argv[2] == "obeys":
        return
    await asyncio.Event().wait()

leave = None if sys.argv[2] == "plain" else asked.set
raise SystemExit(run_process(Path(sys.argv[1]), "bot-alpha", entry, leave))
"""
REFUSED = """
import sys
from pathlib import Path
from launch.errors import LaunchError
from launch.supervisor.process_main import run_process
from store.errors import LoginRefusedError

async def entry(ready):
    raise LoginRefusedError("MongoDB refused the login.")

try:
    run_process(Path(sys.argv[1]), "bot-alpha", entry)
except LaunchError as error:
    print(error)
"""
SECONDS = 20


@contextmanager
def process(home: Path, manner: str) -> Iterator["subprocess.Popen[bytes]"]:
    child = subprocess.Popen([sys.executable, "-c", SCRIPT, str(home), manner], cwd=Path(__file__).parents[2])
    try:
        _appears(ready_file(home, "bot-alpha"))
        yield child
    finally:
        child.kill()
        child.wait()


def _appears(path: Path) -> None:
    deadline = wall_now() + SECONDS * 1_000_000
    while not path.exists():
        assert wall_now() < deadline


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_process_that_can_be_asked_is_asked_first(tmp_path: Path, number: signal.Signals) -> None:
    with process(tmp_path, "obeys") as child:
        child.send_signal(number)
        assert child.wait(SECONDS) == 0
        assert (tmp_path / "asked").exists()


def test_a_second_signal_ends_one_that_takes_its_time(tmp_path: Path) -> None:
    with process(tmp_path, "lingers") as child:
        child.send_signal(signal.SIGTERM)
        _appears(tmp_path / "asked")
        assert child.poll() is None
        child.send_signal(signal.SIGTERM)
        assert child.wait(SECONDS) == 0


def test_others_end_at_the_first(tmp_path: Path) -> None:
    with process(tmp_path, "plain") as child:
        child.send_signal(signal.SIGTERM)
        assert child.wait(SECONDS) == 0
        assert not (tmp_path / "asked").exists()


def test_what_a_start_made_is_no_longer_searched_for_garbage(tmp_path: Path) -> None:
    with process(tmp_path, "obeys") as child:
        child.send_signal(signal.SIGTERM)
        assert child.wait(SECONDS) == 0
        assert int((tmp_path / "kept").read_text()) > 1_000


def test_a_start_forgets_that_the_process_before_was_ready(tmp_path: Path) -> None:
    """A restarted container finds the files of the one before it."""
    before = ready_file(tmp_path, "bot-alpha")
    before.parent.mkdir()
    before.touch()
    with process(tmp_path, "plain") as child:
        _appears(tmp_path / "found")
        child.send_signal(signal.SIGTERM)
        assert child.wait(SECONDS) == 0
    assert (tmp_path / "found").read_text() == "False"


def test_a_login_that_is_refused_is_the_users_mistake_and_leaves_no_trace(tmp_path: Path) -> None:
    words = [sys.executable, "-c", REFUSED, str(tmp_path)]
    done = subprocess.run(words, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("bot-alpha: MongoDB refused the login.\n", "")


AN_HOUR = 3_600_000_000


@pytest.mark.parametrize(
    ("mode", "region", "is_followed"), [("paper", "us", True), ("paper", None, False), ("live", "us", False)]
)
def test_only_in_a_region_of_a_paper_session_a_clock_can_be_set_off(
    tmp_path: Path, mode: Mode, region: str | None, is_followed: bool
) -> None:
    """The file may be an earlier session's."""
    regions = ("us", "eu") if region else ()
    session = replace(session_of(tmp_path), mode=mode, place=Placement(region, regions))
    (tmp_path / RUN_FILE).write_bytes(session.to_json())
    keep_shift(tmp_path / CLOCK_FILE, AN_HOUR)
    before = wall_now()
    with followed_clock(tmp_path):
        assert (wall_now() - before > AN_HOUR // 2) is is_followed


def test_without_the_file_no_session_is_asked_for(tmp_path: Path) -> None:
    with followed_clock(tmp_path):
        pass
    keep_shift(tmp_path / CLOCK_FILE, 0)
    with pytest.raises(CannotStartError, match="no session runs"):
        followed_clock(tmp_path)
