"""Small inputs from outside that once gave a wrong result, imported as a person types it."""

from pathlib import Path

import pytest

from launch.commands.main import run
from tests.tick_sets.importers.shared_cases import case_or_skip

D7 = "d7_cdd_like.csv"


def imported(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str]:
    """Return the exit code, and all output."""
    code = run(["import", *map(str, words), "--set", "mine"])
    said = capsys.readouterr()
    return code, said.out + said.err


def test_a_price_that_money_cannot_hold_is_out_of_bounds(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [case_or_skip("d5_ada_kraken.csv"), case_or_skip("d5_ada_bitstamp.csv")]
    code, said = imported(capsys, "tardis-quotes", *files)
    assert (code, said.count("\n")) == (2, 1)
    assert "d5_ada_bitstamp.csv: contains no usable row (1 out_of_bounds)" in said


def test_only_a_rate_converts_a_coin(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [case_or_skip("d6_eth_btc_binance.csv"), case_or_skip("d6_eth_usd_kraken.csv")]
    code, said = imported(capsys, "tardis-quotes", *files)
    assert code == 0
    assert "nothing converts the BTC of binance ETH/BTC to USD: import rates of BTC/USD\n" in said
    assert "--alike" not in said


def test_a_file_in_two_units_is_rejected_or_read_whole(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before, eight of nine rows were unreadable, and the exit code was 0."""
    mapping, words = case_or_skip("d7_cdd_like.toml"), ("csv-bars", case_or_skip(D7), "--half-spread-bps", "1")
    code, said = imported(capsys, *words, "--mapping", mapping)
    assert (code, said.count("\n")) == (2, 1)
    assert "line 2: its time 1502942400.0 is not in milliseconds since 1970; it would be one in seconds." in said
    by_size = tmp_path / "auto.toml"
    by_size.write_text(mapping.read_text().replace('"ms"', '"auto"'))
    code, said = imported(capsys, *words, "--mapping", by_size)
    assert (code, said.splitlines()[0]) == (0, f"{D7}: 9 quotes of binance BTC/USDT, 0 rejected")


def test_mostly_unreadable_rows_are_no_import(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same file by a column of texts in two forms, of which one is named."""
    mapping = tmp_path / "text.toml"
    text = case_or_skip("d7_cdd_like.toml").read_text()
    mapping.write_text(text.replace('column="unix",unit="ms"', 'column="date",unit="text",format="%Y-%m-%d %H:%M:%S"'))
    words = ("csv-bars", case_or_skip(D7), "--half-spread-bps", "1", "--mapping", mapping)
    code, said = imported(capsys, *words)
    assert (code, said.count("\n")) == (2, 1)
    assert (
        "8 of its 9 rows cannot be read, so nothing of it is imported: line 2 has no time; line 3 has no time" in said
    )
    assert not list(home.glob("ticks/[!.]*"))


def test_a_file_whose_newest_rows_come_first_says_what_to_do(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, mapping = tmp_path / "bars.csv", tmp_path / "bars.toml"
    rows = "".join(f"{1_725_000_000 - 60 * number},100,1\n" for number in range(50))
    path.write_text(f"https://somewhere.example\nat,close,volume\n{rows}")
    text = 'exchange="kraken"\nsymbol="BTC/USD"\nbar_seconds=60\nskip_lines=1\n{}\n[time]\ncolumn="at"\nunit="s"\n'
    text += '[bar]\nprice="close"\namount="volume"\n'
    mapping.write_text(text.format(""))
    words = ("csv-bars", path, "--half-spread-bps", "1", "--mapping", mapping)
    code, said = imported(capsys, *words)
    assert code == 2
    assert "sort the file by time first, or map its columns with newest_first = true." in said
    mapping.write_text(text.format("newest_first=true"))
    assert imported(capsys, *words)[0] == 0


def markets_of(capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert run(["sets", "show", "mine"]) == 0
    lines = capsys.readouterr().out.splitlines()
    return [line.removeprefix("market: ") for line in lines if line.startswith("market: ")]


def test_symbols_without_a_separator_are_split_where_they_should_be(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("d2_bitstamp_grtusd.csv", "d2_bitstamp_usdtusd.csv", "d2_kraken_grt.csv")
    assert imported(capsys, "tardis-quotes", *map(case_or_skip, names))[0] == 0
    assert markets_of(capsys) == [
        "bitstamp GRT/USD, spot, compared as GRT in USD",
        "kraken GRT/USD, spot, compared as GRT in USD",
        "bitstamp USDT/USD, rate, compared as USDT in USD",
    ]


def test_one_code_on_two_exchanges_is_two_coins(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("d3_kraken_luna.csv", "d3_binance_luna.csv", "d3_binance_lunc.csv", "d3_upbit_krw_btc.csv")
    assert imported(capsys, "tardis-quotes", *map(case_or_skip, names), "--alike", "USDT=USD")[0] == 0
    assert markets_of(capsys) == [
        "binance LUNA/USDT, spot, compared as LUNA in USD",
        "binance LUNC/USDT, spot, compared as LUNC in USD",
        "kraken LUNC/USD, spot, compared as LUNC in USD",
        "upbit BTC/KRW, spot, compared as BTC in KRW",
    ]
