"""`arbitrage app run --regions`: which regions it takes, and what each region's command is given."""

from dataclasses import replace
from pathlib import Path

import pytest

from launch.apps.apps_in_regions import rows_file, run_in_regions
from launch.cli.main import run
from launch.config.configuration import Configuration
from launch.errors import CannotStartError
from launch.regions.region_sessions import region_home
from launch.sessions.paper import PaperOptions, paper_session
from launch.setup.data_dir import write_atomically

APP = "from ticks select exchange insert into Seen;\n"


def running(home: Path, regions: tuple[str, ...]) -> None:
    session = paper_session(home, PaperOptions(None, None, None, None), Configuration())
    placed = replace(session, regions=regions, region=regions[0] if regions else None)
    write_atomically(home / "run.json", placed.to_json())


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
    """No region's own session is there, so each command says so and fails."""
    running(tmp_path, ("us", "eu", "jp"))
    app = tmp_path / "seen.app"
    app.write_text(APP)
    lines: list[str] = []
    assert run_in_regions(tmp_path, ("us", "jp"), (str(app),), None, lines.append) != 0
    for region in ("us", "jp"):
        assert any(line.startswith(f"{region}: ") and str(region_home(tmp_path, region)) in line for line in lines)


def test_rows_of_each_region_go_into_a_file_of_their_own() -> None:
    assert rows_file(Path("out/rows.jsonl"), "us") == Path("out/rows-us.jsonl")
