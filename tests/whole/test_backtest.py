"""A backtest as a user runs it: files to tick set to JSON and report; and started on the dashboard's own interface."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.backtest.made_up_set import ROWS, made_up_files
from tests.whole.running import Running, new_home, run_command, running_paper

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_home(tmp_path_factory.mktemp("backtest"))


def backtest(home: Path, *words: str) -> dict[str, Any]:
    out = home / "out.json"
    done = run_command(home, "backtest", *words, "--json", str(out), "--master", "local[2]", seconds=240)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(out.read_text())
    return document


def test_files_become_a_result_and_a_report_the_same_each_time(home: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    files = tuple(map(str, made_up_files(tmp_path / "raw")))
    first = backtest(home, *files, "--report", str(report))
    page = report.read_text()
    assert (first["quotes"], first["rejected_by_reason"]) == (2 * ROWS, {"crossed": 1})
    assert first["opportunities"] == first["detection"]["opportunities"] > 0
    assert first["trades"] >= 1
    assert float(first["pnl"]["net"]) > 0
    assert first["balanced"]
    assert first["opportunities"] == first["rejections"] + len(first["arbitrages"])
    assert first["command"] in page.replace("&#x27;", "'")
    again = backtest(home, *files, "--report", str(report))
    assert {**again, "seconds": None} == {**first, "seconds": None}
    assert report.read_text() == page


def done_after(paper: Running, job: str, seconds: float) -> dict[str, Any]:
    paper.until(lambda: paper.get(job)["state"] not in ("queued", "running"), seconds, "the backtest did not end")
    row: dict[str, Any] = paper.get(job)
    return row


@pytest.mark.soak
def test_one_is_started_over_rest_beside_trading(home: Path) -> None:
    with running_paper(home) as paper:
        paper.wait_for("trading on paper", 240)
        paper.until(lambda: paper.get("/tick-sets"), 30, "no tick set was told")
        name = paper.get("/tick-sets")[0]["name"]
        answer = httpx.post(
            f"{paper.url}/api/backtests",
            json={"tick_set": name, "settings": {"min_net_bps": 6}, "latency_ms": 10},
            headers={"X-API-Key": paper.key},
            timeout=10,
        )
        job = answer.raise_for_status().json()
        row = done_after(paper, f"/backtests/{job['backtest_id']}", 240)
        assert row["state"] == "done", row["reason"]
        assert row["figures"]["quotes"] == 2 * ROWS
        assert row["figures"]["trades"] >= 1
        trades = paper.get(f"/backtests/{row['backtest_id']}/trades")["items"]
        assert [one["number"] for one in trades] == list(range(row["figures"]["trades"], 0, -1))
        report = httpx.get(f"{paper.url}{row['report']}", timeout=10)
        assert "Backtest" in report.text
        assert "sandbox" in report.headers["content-security-policy"]
        assert paper.get("/health")["status"] == "ok"
        assert paper.stop() == 0
