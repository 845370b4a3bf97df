"""A command sets the clock of a region off, also if the links cannot be changed, and heals it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from launch.commands.doctor import CheckResult, clock_findings
from launch.commands.main import run
from launch.regions.clocks import clocks_off, set_clocks
from launch.regions.sessions import region_home
from launch.setup.data_dir import RUN_FILE, write_atomically
from runtime.clock_shift import CLOCK_FILE, keep_shift, shift_at
from session.session import Placement
from tests.ui.samples import session_of

REGIONS = ("us", "eu", "jp")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the home of a running session without a carrier."""
    monkeypatch.setenv("ARBITRAGE_HOME", str(tmp_path))
    for region in REGIONS:
        session = replace(session_of(region_home(tmp_path, region)), place=Placement(region, REGIONS))
        for folder in (tmp_path, session.home) if region == "us" else (session.home,):
            write_atomically(folder / RUN_FILE, session.to_json())
        keep_shift(session.home / CLOCK_FILE, 0)
    return tmp_path


def shifts(home: Path) -> list[int]:
    return [shift_at(region_home(home, region) / CLOCK_FILE) for region in REGIONS]


@pytest.mark.parametrize("folder", ["", "regions/eu"])
def test_a_command_sets_the_clock_of_its_region_and_healing_takes_it_back(
    home: Path, folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ARBITRAGE_HOME", str(home / folder))
    assert run(["region", "skew", "eu", "+2s"]) == 0
    assert run(["region", "skew", "jp", "-500ms"]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "eu: its clock is 2000 ms ahead",
        "jp: its clock is 500 ms behind",
    ]
    assert shifts(home) == [0, 2_000_000, -500_000]
    assert run(["region", "heal", "jp"]) == 0
    assert run(["region", "--json", "state"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"clocks_ms": {"eu": 2_000.0}}
    assert run(["region", "heal"]) == 0
    assert capsys.readouterr().out == "the clocks of all regions are right\n"
    assert shifts(home) == [0, 0, 0]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("skew", "mars", "1"), "region 'skew mars 1': column 6: there is no region 'mars'; write us, eu or jp."),
        (("cut", "jp"), "the links of this session cannot be changed, because it was started without --wan."),
    ],
)
def test_what_cannot_be_done_is_one_sentence(
    home: Path, words: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["region", *words]) == 2
    assert capsys.readouterr().err == f"arbitrage: {sentence}\n"
    assert shifts(home) == [0, 0, 0]


@pytest.mark.parametrize("words", [("state",), ("heal",), ("skew", "eu", "+2s")])
def test_where_no_region_has_a_clock_nobody_says_that_it_is_right(
    home: Path, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """As on the machine of one region whose parts run apart."""
    for region in REGIONS:
        (region_home(home, region) / CLOCK_FILE).unlink()
    assert run(["region", *words]) == 2
    sentence = "no region's clock is set here, only where `arbitrage paper --regions` runs."
    assert capsys.readouterr().err == f"arbitrage: {home}: {sentence}\n"
    assert shifts(home) == [0, 0, 0]


def test_doctor_says_which_clocks_are_off(home: Path) -> None:
    assert list(clock_findings(clocks_off(home, REGIONS))) == []
    set_clocks(home, ("eu",), -2_000_000)
    assert list(clock_findings(clocks_off(home, REGIONS))) == [
        CheckResult(
            "advice",
            "clock",
            "eu: its clock is 2000 ms behind, as ordered; `arbitrage region heal` takes it back.",
        )
    ]


def test_a_region_whose_folder_is_gone_has_no_clock_to_heal(tmp_path: Path) -> None:
    set_clocks(tmp_path, REGIONS, 0)
    with pytest.raises(FileNotFoundError):
        set_clocks(tmp_path, REGIONS, 1)
