"""The simulated market on the command line and in the configuration, and the tapes that may drive it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from backtest.profile_sets import set_of_files
from launch.commands.main import run
from launch.config.configuration import Configuration
from launch.config.session_options import PaperOptions
from launch.errors import CannotStartError
from launch.sessions.paper import paper_session
from launch.sessions.recorded_tape import tape_driven, tape_in, tape_of
from session.session import Session
from session.simulated_market import MARKETS, MarketName
from tests.backtest.made_up_set import made_up_files
from tests.market.samples import USD_MARKET


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("ARBITRAGE_HOME", str(folder))
    return folder


@pytest.fixture
def tape(home: Path, tmp_path: Path) -> Path:
    """Return a tick set of the data folder, quotes of BTC/USDT each tenth of a second."""
    found = set_of_files(home, made_up_files(tmp_path / "recorded"))
    named = home / "ticks" / "spring"
    named.parent.mkdir(exist_ok=True)
    named.symlink_to(found.folder)
    return named


@pytest.mark.parametrize("command", ["paper", "chaos", "exchanges"])
def test_a_wrong_market_is_one_sentence(command: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        run([command, "--market", "bussy"])
    assert "there is no 'bussy' (did you mean busy?)" in capsys.readouterr().err


def test_a_wrong_market_in_the_file_is_one_sentence(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "arbitrage.toml").write_text('market = "wild"')
    assert run(["paper", "--config", str(home / "arbitrage.toml")]) == 2
    assert "market" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("configured", "asked", "chosen"), [("busy", None, "busy"), ("calm", None, "calm"), ("calm", "storm", "storm")]
)
def test_the_session_keeps_the_market_and_the_command_goes_before_the_file(
    home: Path, configured: MarketName, asked: MarketName | None, chosen: MarketName
) -> None:
    options = PaperOptions(market=asked)
    session = paper_session(home, options, Configuration(market=configured))
    assert Session.from_json(session.to_json()).simulated.market.name == chosen


@pytest.mark.parametrize("name", [name for name in MARKETS if name != "storm"])
def test_a_tape_is_kept_with_the_session_and_read_by_the_exchanges(home: Path, tape: Path, name: MarketName) -> None:
    market = tape_driven(home, name, "spring", (USD_MARKET,))
    assert market.name == name
    assert market.tape_folder == tape.resolve()
    assert market.tape_folder is not None
    prices = tape_in(market.tape_folder, ["BTC"]).dollars["BTC"]
    assert prices[0] == pytest.approx(60_005)
    assert max(prices) == pytest.approx(60_605)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--tape autumn", "--tape: autumn is not a tick set, a folder or a file; the data folder has"),
        ("--tape spring --market storm", "--tape: a storm draws its own prices; choose --market calm or busy."),
    ],
)
def test_a_tape_that_cannot_be_used_is_one_sentence(
    home: Path, tape: Path, words: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["paper", *words.split()]) == 2
    assert sentence in capsys.readouterr().err


def test_a_tape_without_the_asset_is_refused_by_name(home: Path, tape: Path) -> None:
    ether = replace(USD_MARKET, base="ETH", symbol="ETH/USD")
    with pytest.raises(CannotStartError, match=r"has no ETH, only BTC; choose another tape\."):
        tape_driven(home, "busy", "spring", (USD_MARKET, ether))


def test_a_tape_in_a_currency_of_unknown_rate_is_refused(home: Path, tape: Path) -> None:
    manifest = tape / "manifest.json"
    document = json.loads(manifest.read_text())
    for market in document["markets"]:
        market["quote_currency"], market["symbol"] = "KRW", "BTC/KRW"
    manifest.write_text(json.dumps(document))
    with pytest.raises(CannotStartError, match="BTC is quoted in none of USD, "):
        tape_driven(home, "busy", "spring", (USD_MARKET,))


def test_a_tape_that_is_gone_when_the_exchanges_start_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(CannotStartError, match=r"^--tape: .*is no tick set"):
        tape_in(tmp_path / "gone", ["BTC"])


def test_live_prices_have_no_tape_driven(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("coinbaseexchange", "bitstamp", "bitflyer", "kraken")
    (home / "arbitrage.toml").write_text("".join(f'[exchange.{name}]\nmode = "public"\n' for name in names))
    assert run(["paper", "--market", "calm", "--config", str(home / "arbitrage.toml")]) == 2
    assert "--market and --tape are for simulated exchanges" in capsys.readouterr().err


def test_prices_stand_still_where_the_tape_has_none(home: Path, tmp_path: Path) -> None:
    """Its spot market was silent for ten seconds."""
    found = set_of_files(home, made_up_files(tmp_path / "recorded"))
    prices = tape_of(found, ["BTC"]).dollars["BTC"]
    assert len(prices) > 100
    assert set(prices[30:100]) == {60_005.0}
