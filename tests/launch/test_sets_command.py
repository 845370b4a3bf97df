"""`arbitrage sets` as it is typed: its output and its exit codes."""

import json
from pathlib import Path

import pytest

from launch.commands.main import run
from launch.commands.sets import SetsOptions, run_sets
from tests.launch.tardis_rows import HEADER, TIME
from tick_sets.sets.tick_set import open_tick_set


@pytest.fixture
def mine(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Return a set of two imports that nobody said alike of."""
    for name, market in (("a", "binance,BTCUSDT"), ("b", "kraken,XBT/USD")):
        path = tmp_path / f"{name}.csv"
        path.write_text(HEADER + f"{market},{TIME},{TIME},1,101,100,1\n")
        assert run(["import", "tardis-quotes", str(path), "--set", "mine"]) == 0
    capsys.readouterr()
    return home / "ticks" / "mine"


def said(capsys: pytest.CaptureFixture[str], words: str, code: int = 0) -> str:
    assert run(words.split()) == code
    out = capsys.readouterr()
    assert "Traceback" not in out.err
    return out.out if code == 0 else out.err


def test_the_list_names_what_is_in_the_way(mine: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    line = "mine: 2 quotes of BTC on binance, kraken, 2024-08-08 23:54 to 2024-08-08 23:54 UTC"
    reported = said(capsys, f"sets list --json {tmp_path / 'out.json'}")
    assert reported.startswith(line)
    assert "cannot be backtested yet" in reported
    assert said(capsys, "sets") == reported
    (row,) = json.loads((tmp_path / "out.json").read_bytes())
    assert (row["name"], row["quotes"], row["exchanges"], len(row["problems"])) == ("mine", 2, ["binance", "kraken"], 1)


def test_a_set_is_shown_repaired_and_removed(mine: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    reported = said(capsys, f"sets show mine --json {tmp_path / 'out.json'}")
    assert "market: binance BTC/USDT, spot, compared as BTC in USDT" in reported
    assert "cannot be backtested yet: nothing converts the USDT of binance BTC/USDT to USD" in reported
    assert [one["name"] for one in json.loads((tmp_path / "out.json").read_bytes())["sources"]] == ["a.csv", "b.csv"]
    reported = said(capsys, "sets repair mine --alike USDT=USD")
    assert "assumed: USDT counts as USD: they are compared 1:1" in reported
    assert "cannot be backtested" not in reported
    assert [one.quote_currency for one in open_tick_set(mine).manifest.markets] == ["USD", "USD"]
    assert "nothing to repair" in said(capsys, "sets repair mine")
    assert "dropped: 1 quotes of binance BTC/USDT of a.csv" in said(capsys, "sets repair mine --drop a.csv")
    assert said(capsys, "sets remove mine --yes") == "deleted: mine\n"
    assert "no tick sets yet" in said(capsys, "sets")
    assert run(["sets", "show", "nosuch"]) == 2
    said_then = capsys.readouterr().err
    assert said_then == (
        "arbitrage: nosuch is not a tick set; the data folder has none yet; create one with `arbitrage import`.\n"
    )
    assert list(mine.parent.iterdir()) == []


@pytest.mark.parametrize(("answer", "stays"), [("", True), ("n", True), ("y", False), ("YES", False)])
def test_it_asks_before_it_removes(mine: Path, home: Path, answer: str, stays: bool) -> None:
    asked: list[str] = []

    def ask(question: str) -> str:
        asked.append(question)
        return answer

    code = run_sets(home, SetsOptions("remove", ("mine",)), lambda _: None, ask)
    assert (mine.exists(), code) == (stays, int(stays))
    assert asked[0].startswith("delete mine (0.0 MB) permanently?")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("sets show other", "other is not a tick set; the data folder has mine."),
        ("sets repair other", "other is not a tick set; the data folder has mine."),
        ("sets remove other --yes", "other is not a tick set; the data folder has mine."),
        ("sets remove ../home --yes", "../home is not a tick set"),
        ("sets repair mine --alike USDT", "--alike 'USDT' is not of the form ASSET=ASSET"),
        ("sets repair mine --unlike USDT", "mine: does not count USDT as another asset; it counts nothing as another."),
        ("sets repair mine --drop c.csv", "mine: has no import c.csv; it has a.csv, b.csv."),
        ("sets repair mine --drop-market kraken", "--drop-market 'kraken' is not of the form 'EXCHANGE SYMBOL'"),
        ("sets repair mine --drop a.csv --drop b.csv", "no traded market would be left"),
        ("sets remove mine", "mine (0.0 MB): would be deleted permanently; without a terminal, confirm with --yes."),
        ("sets list --json /nowhere/out.json", "/nowhere"),
    ],
)
def test_a_mistake_is_one_sentence_and_changes_nothing(
    mine: Path, words: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    reported = said(capsys, words, code=2)
    assert sentence in reported
    assert reported.startswith("arbitrage: ")
    assert reported.count("\n") == 1
    assert open_tick_set(mine).manifest.quotes == 2


def test_what_is_half_done_or_broken_is_listed(mine: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine.rename(mine.parent / ".mine.old")
    (home / "ticks" / "broken").mkdir()
    reported = said(capsys, "sets").splitlines()
    assert "broken: " in reported[0]
    assert "is no tick set (it has no manifest.json)" in reported[0]
    assert reported[1] == "mine: an interrupted import left it incomplete; run `arbitrage sets repair mine`"
    assert "it was restored" in said(capsys, "sets repair mine")
    assert "deleted: broken" in said(capsys, "sets remove broken --yes")


def test_a_set_of_one_exchange_is_no_backtest(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before, it came to zeros without a message."""
    said(capsys, "sets repair mine --drop a.csv")
    for command in ("backtest mine", "sweep mine --grid min_net_bps=1:3:1"):
        reported = said(capsys, command, code=2)
        assert reported == (
            "arbitrage: mine: there is nothing to compare: it has BTC on kraken alone; import the same asset of "
            "another exchange into it.\n"
        )


def test_a_set_with_one_exchange_enabled_is_no_backtest(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "sets repair mine --alike USDT=USD")
    reported = said(capsys, "backtest mine --set-value enabled_exchanges=kraken", code=2)
    assert "of BTC on binance and kraken no two are enabled; enable more, as in" in reported
