"""`arbitrage import` as it is typed: its output and its exit codes."""

import shlex
from decimal import Decimal
from pathlib import Path

import pytest

from launch.commands.entry_points import parser_of_commands
from launch.commands.main import run
from tests.launch.tardis_rows import HEADER, TIME
from tick_sets.importers.import_formats import FORMATS
from tick_sets.sets.tick_set import open_tick_set


@pytest.fixture
def quotes(tmp_path: Path) -> Path:
    path = tmp_path / "quotes.csv"
    rows = (f"kraken,XBT/USD,{TIME},{TIME + number},1,101,{100 + number},1\n" for number in range(3))
    path.write_text(HEADER + "".join(rows))
    return path


def test_it_says_what_came_in_and_what_did_not(home: Path, quotes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", "tardis-quotes", str(quotes), "--set", "mine"]) == 0
    folder = home / "ticks" / "mine"
    assert capsys.readouterr().out.splitlines() == [
        "quotes.csv: 1 quotes of kraken BTC/USD, 2 rejected",
        "rows in: 1",
        f"rejected: 2 crossed, each in {folder / 'rejected.jsonl'}",
        "cannot be backtested yet: there is nothing to compare: it has BTC on kraken alone; "
        "import the same asset of another exchange into it",
        f"set: {folder} (1 quotes of BTC)",
    ]
    assert open_tick_set(folder).manifest.rejected == {"crossed": 2}


def test_a_folder_or_a_pattern_stands_for_its_files(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files come by name, whatever the file system's order; hidden files and checksums are left out."""
    below = tmp_path / "data" / "2024"
    below.mkdir(parents=True)
    for number, name in enumerate(("c.csv", "a.csv", ".hidden.csv", "a.csv.CHECKSUM", "b.csv")):
        (below / name).write_text(f"{HEADER}kraken,XBT/USD,{TIME},{TIME + number},1,101,100,1\n")
    for name, words in (("one", str(tmp_path / "data")), ("two", f"{tmp_path}/*/**/[ab].csv")):
        assert run(["import", "tardis-quotes", words, "--set", name]) == 0
        said = capsys.readouterr().out.splitlines()
        files = ["a.csv", "b.csv", "c.csv"] if name == "one" else ["a.csv", "b.csv"]
        assert said[0] == f"{words}: {len(files)} files"
        assert [line.partition(":")[0] for line in said[1 : len(files) + 1]] == files
    (tmp_path / "data" / "loop").symlink_to(tmp_path / "data")
    assert run(["import", "tardis-quotes", str(tmp_path / "data"), "--set", "three"]) == 0


@pytest.mark.parametrize("words", ["nothing*.csv", "empty"])
def test_a_folder_without_files_is_rejected(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    assert run(["import", "tardis-quotes", words]) == 2
    assert f"{words}: this " in capsys.readouterr().err


def test_what_a_contract_is_worth_is_said_or_asked_for(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"{HEADER}somewhere,x,{TIME},{TIME},1,101,100,7\n")
    words = ["import", "tardis-quotes", str(path), "--symbol", "BTC/USD:BTC", "--alike", "BTC contract=BTC"]
    assert run(words) == 2
    assert "set it, for example --contract-size 100." in capsys.readouterr().err
    assert run([*words, "--contract-size", "50"]) == 0
    said = capsys.readouterr().out
    assert "assumed: amounts of somewhere BTC/USD:BTC count contracts of 50 USD: they became base amounts" in said
    with pytest.raises(SystemExit) as ended:
        run([*words, "--contract-size", "0"])
    assert ended.value.code == 2


def test_size_rules_that_nobody_knows_are_given(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, later = tmp_path / "a.csv", tmp_path / "b.csv"
    for number, one in enumerate((path, later)):
        one.write_text(f"{HEADER}okx,SOL-USDT,{TIME},{TIME + number},1,101,100,1\n")
    words = ["import", "tardis-quotes", "--set", "mine"]
    assert run([*words, str(path), "--step", "0.001", "--min-notional", "10"]) == 0
    given = "size rules of okx SOL/USDT are those that were given: amounts in steps of 0.001, at least 10 USDT"
    assert f"assumed: {given}\n" in capsys.readouterr().out
    (market,) = open_tick_set(home / "ticks" / "mine").manifest.markets
    rules = market.lot_step, market.minimum_amount, market.minimum_notional
    assert rules == (Decimal("0.001"), Decimal("0.001"), Decimal(10))
    # a later import does not change what the set has, and its words hold for that, too
    assert run([*words, str(later), "--step", "0.01"]) == 2
    assert "okx SOL/USDT: has other size rules in this set (amounts in steps of 0.001, at least 10 USDT)" in (
        capsys.readouterr().err
    )
    assert run([*words, str(later)]) == 0
    assert open_tick_set(home / "ticks" / "mine").manifest.markets == (market,)
    assert given in capsys.readouterr().out


def test_size_rules_that_are_known_are_not_given(home: Path, quotes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", "tardis-quotes", str(quotes), "--min-notional", "10"]) == 2
    assert "kraken BTC/USD: its size rules are known (amounts in steps of " in capsys.readouterr().err


def test_the_list_names_every_format_and_its_needs(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(["import", "--list"])
    assert not ended.value.code
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == sorted(FORMATS)
    reported = next(line for line in lines if line.startswith("binance-trades"))
    assert reported.endswith("(needs --exchange, --half-spread-bps)")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["parquet", "FILE"], "'parquet' is not a format; known are binance-aggtrades,"),
        (["tardis-trades", "FILE"], "tardis-trades needs --half-spread-bps"),
        (["tardis-trades", "FILE", "--half-spread-bps", "0"], "a bid equal to the ask is not a quote"),
        (["kraken-trades", "FILE", "--half-spread-bps", "1"], "kraken-trades needs --exchange"),
        (["csv", "FILE"], "csv needs --mapping FILE"),
        (["tardis-quotes", "FILE", "--set=--master"], "--set '--master' is not a valid folder name"),
        (["tardis-quotes", "FILE", "--alike", "BTC=../../x"], "'../../x': is not the name of an exchange or an asset"),
        (["tardis-quotes", "FILE", "--alike", "USDT"], "--alike 'USDT' is not of the form ASSET=ASSET"),
        (["tardis-quotes", "FILE", "--set", "../x"], "--set '../x' is not a valid folder name"),
        (["tardis-quotes", "absent.csv"], "absent.csv: cannot be read (No such file or directory)."),
        (["kaiko-tob", "FILE"], "is no kaiko-tob; it looks like tardis-quotes."),
    ],
)
def test_a_mistake_is_one_sentence_and_leaves_nothing(
    words: list[str], sentence: str, home: Path, quotes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["import", *(str(quotes) if word == "FILE" else word for word in words)]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.startswith("arbitrage: ")
    assert said.count("\n") == 1
    assert not list(home.glob("ticks/[!.]*"))


PAGE = (Path(__file__).parents[2] / "docs" / "import.md").read_text()
EXAMPLES = [
    line
    for line in PAGE.replace("\\\n", "").splitlines()
    if line.startswith("arbitrage import ") and ("FORMAT" not in line and "--list" not in line)
]


def test_the_examples_of_the_documents_can_be_typed() -> None:
    """There is one of every kind of source, each with what its format needs."""
    used = set()
    for line in EXAMPLES:
        arguments = parser_of_commands().parse_args(shlex.split(line)[1:])
        missing = [need for need in FORMATS[arguments.format].needs if getattr(arguments, need) is None]
        assert (line, missing) == (line, [])
        used.add(arguments.format.partition("-")[0])
    assert used == {name.partition("-")[0] for name in FORMATS}
    assert [name for name in FORMATS if f"`{name}`" not in PAGE] == []
