"""A recorded run with changes of the settings and kill -9 in it derives again: every opportunity, cycle, rejection
and step."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from launch.setup.data_dir import ready_file
from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from tests.whole.running import Running, new_home, ours_running, run_command, running_paper

VERIFY_SECONDS = 240
CHANGES: tuple[dict[str, object], ...] = (
    {"min_net_bps": 12.0},
    {"max_notional": "400"},
    {"emit_net_bps": 3.0, "cool_down_ms": 200},
    {"min_net_bps": 5.0, "max_slippage_bps": 8.0},
)
"""Over the run, one after the other."""
CALM = """@App:name('calm')
from quotes[base == 'ETH'] select base as asset output first every 8 sec insert into AssetPauses;
from quotes[base == 'ETH'] select base as asset output last every 11 sec insert into AssetResumes;
from quotes[base == 'BTC'] select base as asset, 6.5 as min_net_bps
output first every 20 sec insert into AssetThresholds;
from quotes[base == 'BTC'] select 'kraken' as buy_exchange, 'bitstamp' as sell_exchange, 8.0 as min_net_bps
output first every 20 sec insert into PairThresholds;
"""
MAY = "pause = true\nasset_thresholds = [4, 40]\npair_thresholds = [4, 40]\nper_minute = 30\n"


def killed(paper: Running, name: str) -> None:
    """kill -9, and the wait until it works again."""
    before = paper.process_of(name)
    os.kill(before, signal.SIGKILL)
    paper.until(lambda: paper.is_started_again(name, before), 30, f"{name} was not started again")
    paper.until(lambda: ready_file(paper.home, name).exists(), 180, f"{name} did not become ready again")


def recorded_run(home: Path, seconds: float) -> Path:
    """Return the folder of a session of at least so long; the books balanced."""
    (home / "calm.app").write_text(CALM)
    configuration = home / "arbitrage.toml"
    configuration.write_text(
        "assets = ['BTC', 'ETH']\n[cycles]\nwithin = true\nacross = true\n"
        f"[apps]\npublish = ['{home / 'calm.app'}']\n[apps.actions.calm]\n{MAY}"
    )
    with running_paper(home, "--record", "--config", str(configuration)) as paper:
        paper.wait_for("trading on paper", 240)
        session_id = paper.session.session_id
        started = wall_now()
        for change, victim in zip(CHANGES, ("bot-kraken", "cep", "logrecorder", None), strict=True):
            paper.pause(seconds / len(CHANGES) / 2)
            paper.patch_settings(change)
            if victim is not None:
                killed(paper, victim)
        paper.pause(max(5.0, seconds - (wall_now() - started) / MICROSECONDS))
        assert paper.stop(180) == 0, paper.said
        assert f"arbitrage replay --verify {session_id}" in paper.said
    assert ours_running(home) == []
    return home / "recordings" / session_id


def verify(home: Path, session: str) -> subprocess.CompletedProcess[str]:
    return run_command(home, "replay", "--verify", session, seconds=VERIFY_SECONDS)


def assert_nothing_differs(home: Path, folder: Path) -> None:
    """By id, and of a copy elsewhere by its folder."""
    done = verify(home, folder.name)
    assert done.returncode == 0, done.stdout + done.stderr
    (reported,) = [line for line in done.stdout.splitlines() if line.startswith("no difference: ")]
    counts = [int(word.replace(",", "")) for word in reported.split() if word[0].isdigit()]
    # opportunities, cycles, rejections, arbitrages, signals of the moving average
    assert len(counts) == 5
    assert min(counts) > 0, reported


def assert_an_app_acted(folder: Path) -> None:
    """Check that the app paused and resumed an asset, and set both thresholds, beside people's changes."""
    versions = [json.loads(line) for line in (folder / "log" / "books" / "settings.jsonl").read_text().splitlines()]
    by_app = [one["after"] for one in versions if one["who"] == "app calm"]
    assert {tuple(after["disabled_assets"]) for after in by_app} == {(), ("ETH",)}
    assert by_app[-1]["asset_thresholds"] == {"BTC": 6.5}
    assert by_app[-1]["pair_thresholds"] == {"kraken>bitstamp": 8.0}
    assert any(not one["who"].startswith("app ") for one in versions[1:])


def with_another_price(folder: Path) -> str:
    """One digit of one quote; which."""
    path = next((folder / "log" / "ticks").rglob("ticks.parquet"))
    table = pq.ParquetFile(path).read()
    rows = table.to_pylist()
    row = rows[next(number for number in range(len(rows) // 2, len(rows)) if rows[number]["kind"] == "quote")]
    digit = "1" if row["ask"][-1] != "1" else "2"
    row["ask"] = row["ask"][:-1] + digit
    row["ask_price"] = float(row["ask"])
    pq.write_table(pa.Table.from_pylist(rows, table.schema), path)
    return f"tick {row['exchange']}:{row['symbol']}:{row['sequence']}"


@pytest.mark.whole
def test_a_minute_with_changes_and_kills_derives_again(tmp_path: Path) -> None:
    home = new_home(tmp_path / "home")
    folder = recorded_run(home, 60)
    assert_nothing_differs(home, folder)
    assert_an_app_acted(folder)
    copy = shutil.copytree(folder, tmp_path / "copy")
    tick = with_another_price(copy)
    done = verify(home, str(copy))
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"DIFFERENT: {tick}: ask" in done.stdout


@pytest.mark.soak
def test_five_minutes_with_changes_and_kills_derive_again(tmp_path: Path) -> None:
    home = new_home(tmp_path / "home")
    assert_nothing_differs(home, recorded_run(home, 300))


@pytest.mark.whole
def test_a_run_that_was_killed_is_named_in_one_sentence(tmp_path: Path) -> None:
    home = new_home(tmp_path / "home")
    (home / "recordings" / "cut" / "log" / "raw").mkdir(parents=True)
    done = verify(home, "cut")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "ended before its log was complete" in done.stderr
