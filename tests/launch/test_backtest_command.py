"""`arbitrage backtest`: the request becomes the run, and what cannot be run gets one sentence."""

import json
import os
import shutil
from decimal import Decimal
from pathlib import Path

import pytest

from backtest.parameters import FeeTier
from backtest.requested_backtest import RequestedBacktest, parameters_for
from launch.commands.backtest import BacktestOptions, recorded_latencies, reproducing_command, requested_backtest
from launch.commands.main import run
from launch.errors import CannotStartError
from launch.sessions.recorded_sessions import manifests
from launch.sessions.tick_set_names import known_sets, named_set
from launch.supervisor.backtest_progress import Progress
from launch.supervisor.ctrl_c import stderr_to
from market.prices.quotes import Quote
from tests.backtest.made_up_set import made_up_files
from tests.backtest.verify.made_up import SESSION_ID, VERSIONS, made_up_session, rows, write_feed
from tick_sets.errors import ImportRejectedError


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("ARBITRAGE_HOME", str(folder))
    return folder


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("backtest nowhere", "nowhere is not a tick set, a folder or a file; the data folder has no tick sets"),
        ("backtest nowhere other", "nowhere is not a tick set"),
        ("backtest {files} --json {folder}", "is a folder; name a file"),
        ("backtest {files} --report /nowhere/report.html", "is not a writable folder; choose another for --report."),
        ("backtest {files} --json {folder}/a --report {folder}/../empty/a", "is named by both --json and --report"),
        ("backtest {files} --set-value min_net_bps", "is not of the form name=value"),
        ("backtest {files} --set-value speed=3", "'speed' is not a setting that a backtest can change"),
        ("backtest {files} --set-value min_net_bps=-9", "min_net_bps must not be below emit_net_bps"),
        ("backtest {files} --latency-ms fast", "'fast' is not a number of milliseconds"),
        ("backtest {files} --latency-ms kraken=3", "latency of 'kraken'"),
        ("backtest {files} --latency-ms -3", "-3 ms is outside 0 to 60,000"),
        ("backtest {files} --fee-tiers kraken", "is not of the form kraken=0:26,50000:24"),
        ("backtest {files} --fee-tiers binance=0:x", "'0:x' is not of the form volume:bps"),
        ("backtest {files} --fee-tiers binance=0:10,0:9", "repeats a volume"),
        ("backtest {files} --fee-tiers binance=0:2000", "needs a volume of 0 or more and -100 to 1000 bps"),
        ("backtest {files} --fee-tiers kraken=0:26", "fees by volume of 'kraken'"),
        ("backtest {files} --failed-percent 101", "101 percent of orders is outside 0 to 100"),
        ("backtest {files} --latency-from {folder}/none.json", "cannot be read"),
        ("backtest {files} --latency-from {garbage}", "is not a JSON object of exchanges and milliseconds"),
        ("backtest {garbage}", "matches no replay profile"),
        ("backtest {folder}", "contains no recording"),
    ],
)
def test_what_cannot_be_run_is_one_sentence(
    home: Path, tmp_path: Path, words: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    spot, usdm = made_up_files(tmp_path / "raw")
    garbage = tmp_path / "garbage.bin"
    garbage.write_bytes(b"\x00garbage")
    folder = tmp_path / "empty"
    folder.mkdir()
    reported = words.format(files=f"{spot} {usdm}", folder=folder, garbage=garbage)
    assert run(reported.split()) == 2
    said = capsys.readouterr().err
    assert said.startswith("arbitrage: ")
    assert sentence in said
    assert said.count("\n") == 1
    assert not list(home.glob("ticks/.*.building"))


def test_a_small_set_needs_no_java(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only a cluster, or a set so large that Spark's start pays, is searched by Spark."""
    monkeypatch.setenv("JAVA_HOME", str(home / "nowhere"))
    spot, usdm = made_up_files(tmp_path / "raw")
    words = ["backtest", str(spot), str(usdm), "--json", str(tmp_path / "out.json")]
    assert run(words) == 0
    assert json.loads((tmp_path / "out.json").read_bytes())["detection"]["rows"] > 0
    assert "ledger reconciled" in capsys.readouterr().out
    assert run([*words, "--master", "spark://127.0.0.1:1"]) == 2
    assert "Java 17" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        "backtest",
        "backtest set --seed 1.5",
        "backtest set --fee-bps 2000",
        "backtest set --fee-bps -101",
        "sweep set --fee-bps -1",
        "backtest set --fee-bps cheap",
    ],
)
def test_a_wrong_option_has_exit_code_2(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(words.split())
    assert ended.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_set_goes_by_its_name_or_its_folder(home: Path, tmp_path: Path) -> None:
    made = named_set(home, tuple(map(str, made_up_files(tmp_path / "raw"))))
    name = made.folder.name
    assert named_set(home, (name,)).manifest == made.manifest
    assert named_set(home, (str(made.folder),)).manifest == made.manifest
    (summary,) = known_sets(home)
    assert (summary.name, summary.exchanges, summary.bases) == (name, ("binance", "binanceusdm"), ("BTC",))
    with pytest.raises(CannotStartError, match=f"the data folder has {name}"):
        named_set(home, ("nowhere",))


@pytest.mark.parametrize("below", ["", "public"])
async def test_a_recorded_session_is_its_log(home: Path, tmp_path: Path, below: str) -> None:
    recorded = home / below / "recordings" / SESSION_ID
    recorded.mkdir(parents=True)
    await made_up_session(recorded)
    before = manifests(home)
    for name in (SESSION_ID, str(recorded), str(recorded / "log"), str(recorded / "log" / "ticks")):
        opened = named_set(home, (name,))
        assert opened.folder == recorded / "log" / "ticks"
        assert opened.manifest.session_id == SESSION_ID
        # the log begins with it, though a new session would not
        settings = parameters_for(opened, RequestedBacktest(follow_logged_settings=True)).settings
        assert (settings.enabled_exchanges, settings.taker_fees) == (
            VERSIONS[0].enabled_exchanges,
            VERSIONS[0].taker_fees,
        )
        assert settings.max_quote_age_ms == VERSIONS[0].max_quote_age_ms
    copied = shutil.copytree(recorded, tmp_path / "elsewhere")
    assert named_set(home, (str(copied),)).folder == copied / "log" / "ticks"
    assert not (home / "ticks").exists()
    (summary,) = known_sets(home)
    assert (summary.name, summary.title) == (SESSION_ID, f"Recorded session {SESSION_ID}")
    assert manifests(home) == before
    assert [name for name, _ in before] == [SESSION_ID]


async def test_a_recorded_session_without_a_log_is_its_feeds(home: Path) -> None:
    recorded = home / "recordings" / SESSION_ID
    recorded.mkdir(parents=True)
    await made_up_session(recorded)
    write_feed(recorded / "desk", [row for row in rows() if isinstance(row, Quote)])
    shutil.rmtree(recorded / "log")
    fed = named_set(home, (SESSION_ID,))
    assert fed.manifest.title == f"the feeds of session {SESSION_ID}"
    assert named_set(home, (str(recorded),)).folder == fed.folder
    with pytest.raises(ImportRejectedError, match="has only ticks, no settings to follow"):
        parameters_for(fed, RequestedBacktest(follow_logged_settings=True))
    assert [one.name for one in known_sets(home)] == [fed.folder.name]


def test_a_set_that_is_not_whole_is_none(home: Path) -> None:
    for name in ("broken", ".half.building"):
        (home / "ticks" / name).mkdir(parents=True)
        (home / "ticks" / name / "manifest.json").write_text("{")
    assert known_sets(home) == []


def test_options_become_a_request_and_a_command_that_repeats_it(tmp_path: Path) -> None:
    recorded = tmp_path / "latencies.json"
    recorded.write_text(json.dumps({"kraken": [41.5, 60]}))
    options = BacktestOptions(
        names=("a set",),
        values=("min_net_bps = 7.5",),
        fee_bps=Decimal("2.50"),
        latency_ms=("80", "binance=10"),
        latency_from=recorded,
        fee_tiers=("binance=50000:8,0:10",),
        failed_percent=2.5,
        seed=9,
        follow_settings=True,
        json=tmp_path / "out.json",
    )
    requested = requested_backtest(options)
    assert (dict(requested.values), dict(requested.latency_ms)) == (
        {"min_net_bps": "7.5"},
        {"*": 80.0, "binance": 10.0},
    )
    tiers = (FeeTier(Decimal(0), Decimal("0.001")), FeeTier(Decimal(50_000), Decimal("0.0008")))
    assert (dict(requested.fee_tiers), requested.failed_share) == ({"binance": tiers}, 0.025)
    assert (dict(requested.latency_samples), requested.seed, requested.follow_logged_settings) == (
        {"kraken": (41.5, 60.0)},
        9,
        True,
    )
    assert reproducing_command(options) == (
        "arbitrage backtest 'a set' --set-value 'min_net_bps = 7.5' --fee-bps 2.5 --latency-ms 80 "
        f"--latency-ms binance=10 --latency-from {recorded} --fee-tiers binance=50000:8,0:10 "
        "--failed-percent 2.5 --follow-settings --seed 9"
    )


@pytest.mark.parametrize("text", ["[1]", "{}", '{"kraken": []}', '{"kraken": ["slow"]}', "no"])
def test_a_file_without_latencies_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "latencies.json"
    path.write_text(text)
    with pytest.raises(CannotStartError, match=r"latencies\.json") as rejected:
        recorded_latencies(path)
    assert "\n" not in str(rejected.value)


def test_progress_is_written_where_the_supervisor_looks(tmp_path: Path) -> None:
    path = tmp_path / "progress.json"
    with Progress(path) as progress:
        progress("trading", 1 / 3)
        assert json.loads(path.read_bytes()) == {"stage": "trading", "share": 0.3333}


def test_what_a_jvm_says_stays_off_the_terminal(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "logs" / "spark.log"
    with stderr_to(log):
        os.write(2, b"noise\n")
    os.write(2, b"heard\n")
    assert log.read_text() == "noise\n"
    assert capfd.readouterr().err == "heard\n"
