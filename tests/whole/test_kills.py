"""kill -9 of anything, while it trades: it comes back by itself, and the books still balance."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from launch.setup.data_dir import ready_file
from tests.whole.running import Running, new_home, ours_running, running_paper

pytestmark = pytest.mark.whole

EXCHANGES = ("coinbaseexchange", "bitstamp", "bitflyer", "kraken")
PARTS = (
    *(f"feed-{exchange}" for exchange in EXCHANGES),
    *(f"bot-{exchange}" for exchange in EXCHANGES),
    "ui",
    "publisher",
    "mongodb",
    "kafka",
    "exchanges",
    "cep",
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_home(tmp_path_factory.mktemp("kills"))


@pytest.fixture(scope="module")
def paper(home: Path) -> Iterator[Running]:
    with running_paper(home, "--json", str(home / "out.json")) as running:
        running.wait_for("trading on paper", 240)
        yield running


def kill_and_wait(paper: Running, name: str, victim: int) -> None:
    """kill -9, then until the part is another process and ready again, and trades are made."""
    before = paper.process_of(name)
    os.kill(victim, signal.SIGKILL)
    paper.until(lambda: paper.is_started_again(name, before), 30, f"{name} was not started again")
    paper.until(lambda: ready_file(paper.home, name).exists(), 120, f"{name} did not become ready again")


def closed_arbitrages(paper: Running) -> int:
    return int(paper.get("/pnl")["arbitrages"].get("closed", 0))


@pytest.mark.parametrize("name", PARTS)
def test_a_killed_part_comes_back(paper: Running, name: str) -> None:
    kill_and_wait(paper, name, paper.process_of(name))


def test_sparks_jvm_comes_back(paper: Running) -> None:
    group = psutil.Process(paper.process_of("cep"))
    jvm = next(child for child in group.children(recursive=True) if child.name() == "java")
    kill_and_wait(paper, "cep", jvm.pid)


def test_it_trades_on_after_all_that(paper: Running) -> None:
    before = closed_arbitrages(paper)
    paper.until(lambda: closed_arbitrages(paper) > before, 60, "no arbitrage closed after the kills")


def test_the_books_balance_after_all_that(paper: Running) -> None:
    code = paper.stop()
    summary = json.loads((paper.home / "out.json").read_text())
    assert summary["balance_differences"] == []
    assert summary["balanced"] is True
    assert code == 0, paper.said


def test_nothing_outlives_the_supervisor_and_the_next_start_recovers(paper: Running, home: Path) -> None:
    assert paper.process.returncode == 0
    with running_paper(home) as killed:
        killed.wait_for("trading on paper", 240)
        everything = psutil.Process(killed.process.pid).children(recursive=True)
        killed.process.kill()
        killed.process.wait()
        _, left = psutil.wait_procs(everything, timeout=15)
        assert [process.cmdline() for process in left] == []
        assert ours_running(home) == []
    out = home / "next.json"
    with running_paper(home, "--seconds", "20", "--json", str(out)) as recovered:
        assert recovered.process.wait(timeout=300) == 0, recovered.said
    assert json.loads(out.read_text())["balanced"] is True
