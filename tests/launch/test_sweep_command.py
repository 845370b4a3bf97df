"""`arbitrage sweep`: what cannot be swept gets one sentence; after a kill the same command ends as if never
interrupted."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from threading import Event

import pytest

from launch.commands.main import run
from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from tests.backtest.sweep_samples import log_of, tick_set_of

SWEEP = "--grid min_net_bps=4:11:1 --grid latency_ms=0:70:10 --name mine --walk-forward 1 --master local[2]"
SECONDS = 240.0


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    monkeypatch.setenv("ARBITRAGE_HOME", str(folder))
    tick_set_of(log_of(seed=11, rows=120), folder / "ticks" / "set")
    return folder


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("sweep", "name a tick set, or a sweep with --resume or --show"),
        ("sweep set", "nothing is varied: name at least one parameter"),
        ("sweep nowhere --grid min_net_bps=1", "nowhere is not a tick set, a folder or a file"),
        ("sweep --grid min_net_bps=1", "name a tick set, or a sweep with --resume or --show"),
        ("sweep set --grid min_net_pbs=1", "'min_net_pbs' is not a sweep parameter"),
        ("sweep set --grid min_net_bps=", "has no values"),
        ("sweep set --grid min_net_bps=9:3:1", "is empty"),
        ("sweep set --grid max_notional=0,5", "max_notional=0: must be more than 0"),
        ("sweep set --grid latency_ms=0:1000:1 --grid fee_bps=0:100:1", "101,101 sets are too many"),
        ("sweep set --range max_notional=1:5", "max_notional is a range: say with --random N"),
        ("sweep set --range max_notional=1:5 --random 0", "--random must draw at least one set"),
        ("sweep set --grid min_net_bps=1 --walk-forward 0", "--walk-forward 0: takes 1 to 1,000 folds"),
        ("sweep set --grid min_net_bps=-5,-4", "no set is valid"),
        ("sweep set --grid min_net_bps=1 --name a/b", "'a/b' is not a valid sweep name"),
        ("sweep set --grid min_net_bps=1 --json {home}", "is a folder; name a file for --json"),
        ("sweep --show mine", "there is no sweep 'mine'"),
        ("sweep --resume mine", "there is no sweep 'mine'"),
        ("sweep set --resume mine", "--resume takes the tick set and the parameters from the stored sweep"),
        (
            "sweep --resume mine --walk-forward 3",
            "--resume takes the tick set and the parameters from the stored sweep",
        ),
        ("sweep --resume mine --fee-bps 1", "--resume takes the tick set and the parameters from the stored sweep"),
        (
            "sweep --show mine --grid min_net_bps=1",
            "--show takes the tick set and the parameters from the stored sweep",
        ),
        ("sweep --show mine --resume mine", "--show and --resume exclude each other"),
        ("sweep set --grid min_net_bps=1 --set-value min_net_bps=2", "min_net_bps is varied, so it cannot be given"),
    ],
)
def test_what_cannot_be_swept_is_one_sentence(
    words: str, sentence: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([word.format(home=home) for word in words.split()]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.startswith("arbitrage: ")
    assert said.count("\n") == 1
    assert not (home / "sweeps").exists()


def command(home: Path, words: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "launch.commands.main", *words.split()],
        env={**os.environ, "ARBITRAGE_HOME": str(home)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def ended(process: "subprocess.Popen[bytes]") -> int:
    try:
        return process.wait(SECONDS)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def parts(home: Path) -> list[Path]:
    return sorted((home / "sweeps" / "mine" / "results").glob("part-*"))


@pytest.mark.whole
def test_killed_in_the_middle_it_goes_on_to_the_very_same_result(home: Path, tmp_path: Path) -> None:
    if shutil.which("java") is None:
        pytest.skip("no java on the PATH")
    whole = tmp_path / "undisturbed"
    shutil.copytree(home, whole)
    assert ended(command(whole, f"sweep set {SWEEP} --json {tmp_path}/whole.json")) == 0
    every = [path.name for path in parts(whole)]
    assert len(every) == 64

    killed, deadline, nap = command(home, f"sweep set {SWEEP}"), wall_now() + SECONDS * MICROSECONDS, Event()
    while len(parts(home)) < 3 and wall_now() < deadline and killed.poll() is None:
        nap.wait(0.02)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    left = {path.name: path.stat().st_mtime_ns for path in parts(home)}
    assert 3 <= len(left) < 64

    assert ended(command(home, f"sweep --resume mine --json {tmp_path}/resumed.json")) == 0
    assert (tmp_path / "resumed.json").read_bytes() == (tmp_path / "whole.json").read_bytes()
    assert [path.read_bytes() for path in parts(home)] == [path.read_bytes() for path in parts(whole)]
    assert {name: (parts(home)[0].parent / name).stat().st_mtime_ns for name in left} == left

    document = json.loads((tmp_path / "resumed.json").read_bytes())
    assert (document["finished"], document["missing"]) == (64, 0)
    assert run(["sweep", "--show", "mine"]) == 0
    # another definition, or other ticks, under the same name
    assert run(f"sweep set {SWEEP} --seed 2".split()) == 2
    shutil.rmtree(home / "ticks" / "set")
    tick_set_of(log_of(seed=12, rows=120), home / "ticks" / "set")
    assert run(f"sweep set {SWEEP}".split()) == 2
