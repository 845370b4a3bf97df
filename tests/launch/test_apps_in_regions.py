"""`arbitrage app run --regions`: which regions it takes, and what each region's command gets."""

import asyncio
import subprocess
import sys
from asyncio.subprocess import PIPE
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from cep.apps.functions.operator_terms import OperatorTerms
from launch.apps.files import apps_in
from launch.apps.in_regions import exit_code, interrupt, rows_file, run_in_regions
from launch.commands.main import run
from launch.config.configuration import Configuration
from launch.config.session_options import PaperOptions
from launch.errors import CannotStartError
from launch.regions.sessions import region_home
from launch.sessions.paper import paper_session
from launch.setup.data_dir import process_lock, write_atomically
from session.session import Placement

APP = "from ticks select exchange insert into Seen;\n"


def running(home: Path, regions: tuple[str, ...]) -> None:
    session = paper_session(home, PaperOptions(), Configuration())
    if regions:
        session = replace(
            session,
            place=Placement(regions[0], regions),
            home=region_home(home, regions[0]),
        )
    write_atomically(home / "run.json", session.to_json())


@pytest.mark.parametrize(
    ("there", "sentence"),
    [
        ((), "the running session has no regions; drop --regions, or start one with --regions."),
        (("us", "eu", "sg"), "the running session has no region jp; it has us, eu, sg."),
    ],
)
def test_regions_that_do_not_run_are_refused(tmp_path: Path, there: tuple[str, ...], sentence: str) -> None:
    running(tmp_path, there)
    with pytest.raises(CannotStartError, match=sentence):
        run_in_regions(tmp_path, ("us", "jp"), (), None, print)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--replay", "day"), "--regions is for a running session; drop it, or drop --replay."),
        (("--var", "region=us"), "--var region=… is the region's own name with --regions; drop one of them."),
    ],
)
def test_words_for_one_place_alone_are_refused(
    tmp_path: Path, words: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    app = tmp_path / "seen.app"
    app.write_text(APP)
    assert run(["app", "run", str(app), "--regions", "us,jp", *words]) != 0
    assert sentence in capsys.readouterr().err


def test_every_region_is_asked_and_its_lines_say_which_it_is(tmp_path: Path) -> None:
    """No region's own session exists, so each command says so and fails."""
    running(tmp_path, ("us", "eu", "jp"))
    app = tmp_path / "seen.app"
    app.write_text(APP)
    lines: list[str] = []
    assert run_in_regions(tmp_path, ("us", "jp"), (str(app),), None, lines.append) != 0
    for region in ("us", "jp"):
        assert any(line.startswith(f"{region}: ") and str(region_home(tmp_path, region)) in line for line in lines)


def test_what_regions_cannot_share_is_refused_once_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    running(tmp_path, ("us", "eu", "jp"))
    monkeypatch.setenv("ARBITRAGE_HOME", str(tmp_path))
    app = tmp_path / "kept.app"
    stream = "create stream global News (exchange string);\nfrom ticks select exchange insert into News;"
    app.write_text(f"{APP}\n{stream}\nfrom News select exchange insert into News;")
    said = []
    for words in (("--regions", "us,jp"), ()):
        assert run(["app", "run", str(app), *words]) == 2
        said.append(capsys.readouterr().err)
    problem = (
        "line 5, column 39: not supported: 'News' is GLOBAL, but rows of it are made of rows of it (News -> News), and"
    )
    assert f"{app}, {problem} would go round between regions for ever; insert them into a LOCAL stream." in said[0]
    assert said[0] == said[1]
    assert said[0].count("\n") == 1


def test_in_a_region_an_app_shares_what_is_global_and_elsewhere_nothing(tmp_path: Path) -> None:
    app = tmp_path / "kept.app"
    app.write_text(f"{APP} CREATE TABLE LOCAL Kept (exchange string);")
    assert [one.shared for one in apps_in([app], OperatorTerms(), (), "us")] == [None]
    app.write_text(f"{APP} CREATE TABLE GLOBAL Kept (exchange string);")
    assert [one.shared for one in apps_in([app], OperatorTerms())] == [None]
    (us,) = apps_in([app], OperatorTerms(), (), "us")
    assert us.shared is not None
    assert us.shared.names == {"Kept"}


def test_an_app_knows_its_region_and_rows_of_two_have_other_ids(tmp_path: Path) -> None:
    app = tmp_path / "seen.app"
    app.write_text(APP)
    us, eu = (apps_in([app], OperatorTerms(), (("lot", "2"),), region)[0] for region in ("us", "eu"))
    assert us.variables == (("lot", "2"), ("region", "us"))
    assert us.label != eu.label
    (alone,) = apps_in([app], OperatorTerms())
    assert alone.variables == ()


def test_in_a_region_an_app_runs_once_whichever_data_folder_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    running(tmp_path, ("us", "eu", "jp"))
    monkeypatch.setenv("ARBITRAGE_HOME", str(tmp_path))
    app = tmp_path / "seen.app"
    app.write_text(APP)
    (source,) = apps_in([app], OperatorTerms(), (), "us")
    with process_lock(region_home(tmp_path, "us"), f"app-{source.label}"):
        assert run(["app", "run", str(app)]) == 2
    assert f"app-{source.label} of this session is already running" in capsys.readouterr().err


def test_a_region_is_not_named_as_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    running(tmp_path, ("us", "eu", "jp"))
    monkeypatch.setenv("ARBITRAGE_HOME", str(tmp_path))
    app = tmp_path / "seen.app"
    app.write_text(APP)
    assert run(["app", "run", str(app), "--var", "region=eu"]) == 2
    assert "--var region=eu: this is region us of the session; drop it." in capsys.readouterr().err


def test_a_region_whose_process_was_killed_has_failed() -> None:
    assert [exit_code(returned) for returned in (0, 2, -9)] == [0, 2, 137]


async def test_a_process_that_has_just_ended_keeps_its_exit_code() -> None:
    """A process that has closed its output is about to end, or has just ended: there are many, so that both occur."""
    codes = set()
    for _ in range(60):
        process = await asyncio.create_subprocess_exec("true", stdout=PIPE)
        assert process.stdout is not None
        assert await process.stdout.read() == b""
        interrupt(process)
        codes.add(await process.wait())
    assert codes <= {0, -2}


def test_rows_of_each_region_go_into_a_file_of_their_own() -> None:
    assert rows_file(Path("out/rows.jsonl"), "us") == Path("out/rows-us.jsonl")


STARTER = """
import asyncio, sys
from pathlib import Path
from launch.apps.in_regions import start_in
from session.session import Placement

async def main():
    # one that goes on
    process = await start_in("us", (sys.executable, "-c", "import signal; signal.pause()"), Path(sys.argv[1]))
    print(process.pid, flush=True)
    await process.wait()

asyncio.run(main())
"""


def test_a_regions_process_does_not_outlive_a_command_that_is_killed(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    with subprocess.Popen((sys.executable, "-c", STARTER, str(tmp_path)), stdout=subprocess.PIPE, cwd=root) as command:
        assert command.stdout is not None
        child = psutil.Process(int(command.stdout.readline()))
        command.kill()
    assert psutil.wait_procs([child], timeout=20)[1] == []
