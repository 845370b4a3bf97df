"""`[cycles]`: read, rejected in one sentence, and shown by `arbitrage markets`."""

from pathlib import Path

import pytest

from launch.commands.markets import MarketsOptions, list_markets
from launch.config.configuration import read_configuration
from launch.config.cycles import cycle_notes, cycle_terms
from launch.errors import CannotStartError
from market.instruments.cycles import CycleTerms

HERE = ("kraken", "bitstamp", "binance")


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "arbitrage.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", None),
        ("[cycles]\nwithin = false\nacross = false", None),
        ("[cycles]\nwithin = true", CycleTerms(3, frozenset(HERE), frozenset())),
        ("[cycles]\nmax_legs = 5\nacross = true", CycleTerms(5, frozenset(), frozenset(HERE))),
        (
            '[cycles]\nmax_legs = 4\nwithin = ["binance"]\nacross = ["kraken", "bitstamp"]',
            CycleTerms(4, frozenset({"binance"}), frozenset({"kraken", "bitstamp"})),
        ),
    ],
)
def test_absent_is_off_and_true_is_every_exchange(tmp_path: Path, text: str, terms: CycleTerms | None) -> None:
    assert cycle_terms(read_configuration(written(tmp_path, text), {}).cycles, HERE) == terms


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("max_legs = 2\nwithin = true", "cycles.max_legs: must be at least 3"),
        ("max_legs = 6\nwithin = true", "cycles.max_legs: must be at most 5"),
        ("max_legs = true\nwithin = true", "cycles.max_legs: must be a whole number"),
        ("max_legs = 3.5\nwithin = true", "cycles.max_legs: must be a whole number"),
        ("max_legs = 3", "cycles: finds nothing yet; set within, across or both"),
        ('within = "kraken"', "cycles.within: must be true, false or a list of exchanges"),
        ("within = 1", "cycles.within: must be true, false or a list of exchanges"),
        ("within = [1]", "cycles.within: must be true, false or a list of exchanges"),
        ("within = []", "cycles.within: must name an exchange"),
        ('across = ["kraken"]', "cycles.across: must name two exchanges or more"),
        ('across = ["kraken", "kraken"]', "cycles.across: must name two exchanges or more"),
        ("within = true\nlegs = 3", "cycles.legs: there is no such setting"),
    ],
)
def test_what_cannot_be_is_one_sentence(tmp_path: Path, text: str, reported: str) -> None:
    with pytest.raises(CannotStartError) as rejected:
        read_configuration(written(tmp_path, f"[cycles]\n{text}"), {})
    assert reported in str(rejected.value)
    assert "\n" not in str(rejected.value)


def shown(tmp_path: Path, text: str, options: MarketsOptions | None = None) -> list[str]:
    said: list[str] = []
    list_markets(options or MarketsOptions(), read_configuration(written(tmp_path, text), {}), said.append)
    return [line for text in said for line in text.splitlines()]


def test_markets_lists_cycles_over_exchanges(tmp_path: Path) -> None:
    lines = shown(tmp_path, "[cycles]\nacross = true")
    words = "buy BTC/USD at kraken, sell BTC/EUR at bitstamp, sell EUR/USD at kraken"
    assert f"  3 legs from USD: {words}  [kraken:BTC/USD:buy>bitstamp:BTC/EUR:sell>kraken:EUR/USD:sell]" in lines
    assert not any("binance" in line for line in lines)


def test_markets_says_why_not(tmp_path: Path) -> None:
    lines = shown(tmp_path, '[cycles]\nwithin = ["bitstamp"]')
    assert "cycles of at most 3 legs: 0" in lines
    assert "  not: there is no cycle of at most 3 legs within bitstamp: it has BTC/EUR alone" in lines


def test_markets_says_which_balance_is_missing(tmp_path: Path) -> None:
    lines = shown(tmp_path, '[cycles]\nacross = true\n[paper.balances.bitstamp]\nBTC = "1"')
    assert any("EUR at bitstamp, where none is held" in line for line in lines)


def test_an_asset_or_exchange_narrows_the_list(tmp_path: Path) -> None:
    text = "[cycles]\nacross = true"
    every = [line for line in shown(tmp_path, text) if " legs from " in line]
    bitflyer = [line for line in shown(tmp_path, text, MarketsOptions(exchange="bitflyer")) if " legs from " in line]
    assert bitflyer
    assert all("bitflyer" in line for line in bitflyer)
    assert any("bitflyer" not in line for line in every)


def test_without_the_table_nothing_is_said_of_cycles(tmp_path: Path) -> None:
    assert not any("cycle" in line for line in shown(tmp_path, ""))
    assert cycle_notes(None, HERE, "a.toml") == ()


def test_a_session_says_that_it_trades_pairs_alone(tmp_path: Path) -> None:
    config = read_configuration(written(tmp_path, "[cycles]\nwithin = true"), {})
    assert "this session trades pairs of exchanges" in cycle_notes(config.cycles, HERE, config.file)[0]


def test_an_unknown_exchange_is_named(tmp_path: Path) -> None:
    with pytest.raises(CannotStartError, match=r"\[cycles\] within: there is no exchange 'krakn' here; known are "):
        shown(tmp_path, '[cycles]\nwithin = ["krakn"]')
