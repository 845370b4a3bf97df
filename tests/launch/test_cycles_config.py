"""`[cycles]`: read, rejected in one sentence, and shown by `arbitrage markets`."""

from dataclasses import replace
from pathlib import Path

import pytest

from exchanges.simulated_markets import cross_markets
from launch.commands.markets import MarketsOptions, list_markets
from launch.config.configuration import read_configuration
from launch.config.cycles import cycle_terms
from launch.config.session_options import PaperOptions
from launch.config.watched_cycles import cycle_notes, regional_cycle_notes
from launch.errors import CannotStartError
from launch.sessions.paper import paper_session
from market.instruments.cycles import CycleTerms
from session.session import Session

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
    session = of_session(tmp_path, "")
    assert (session.cycles, session.watched_cycles()) == (None, ())
    assert not set(session.markets) & set(cross_markets())
    assert cycle_notes(read_configuration(written(tmp_path, ""), {}), session) == ()


def of_session(tmp_path: Path, text: str, options: PaperOptions | None = None) -> Session:
    return paper_session(tmp_path, options or PaperOptions(), read_configuration(written(tmp_path, text), {}))


def test_a_session_watches_what_markets_lists_and_trades_crosses_for_it(tmp_path: Path) -> None:
    text = 'assets = ["BTC", "ETH"]\n[cycles]\nwithin = true\nacross = true'
    session = of_session(tmp_path, text)
    listed = [line.rpartition("[")[2].rstrip("]") for line in shown(tmp_path, text) if " legs from " in line]
    assert [cycle.cycle_id for cycle in session.watched_cycles()] == listed
    assert {market.symbol for market in session.markets_of("kraken")} >= {"ETH/BTC", "BTC/EUR", "ETH/EUR"}
    assert not session.markets_of("binance")
    assert any(len(cycle.exchanges) == 1 for cycle in session.watched_cycles())
    (note,) = cycle_notes(read_configuration(written(tmp_path, text), {}), session)
    assert f"[cycles] watches {len(listed)} cycles" in note


@pytest.mark.parametrize("text", ["within = false\nacross = false", 'within = ["bitstamp"]'])
def test_a_session_without_any_cycle_is_as_one_without_the_table(tmp_path: Path, text: str) -> None:
    session = of_session(tmp_path, f"[cycles]\n{text}")
    assert session.cycles is None
    (note,) = cycle_notes(read_configuration(written(tmp_path, f"[cycles]\n{text}"), {}), session)
    assert "watches no cycle here" in note


def test_a_session_with_money_says_that_it_trades_no_cycle(tmp_path: Path) -> None:
    text = 'assets = ["BTC", "ETH"]\n[cycles]\nwithin = true\nacross = true'
    session = replace(of_session(tmp_path, text), mode="live")
    (note,) = cycle_notes(read_configuration(written(tmp_path, text), {}), session)
    assert f"watches {len(session.watched_cycles())} cycles and trades none of them: with money" in note
    # nor may a bot send an order in a market that is there for cycles alone
    assert session.ordered_markets == session.traded


def test_a_session_with_regions_says_that_it_watches_no_cycle(tmp_path: Path) -> None:
    (note,) = regional_cycle_notes(read_configuration(written(tmp_path, "[cycles]\nwithin = true"), {}))
    assert "[cycles] is for sessions without regions; this one trades pairs of exchanges" in note
    assert regional_cycle_notes(read_configuration(written(tmp_path, ""), {})) == ()


def test_a_storm_has_no_crosses(tmp_path: Path) -> None:
    session = of_session(tmp_path, "[cycles]\nacross = true", PaperOptions(market="storm"))
    assert not set(session.markets) & set(cross_markets())
    assert session.cycles is not None


def test_cycles_need_one_order_of_all_quotes(tmp_path: Path) -> None:
    with pytest.raises(CannotStartError, match=r"\[cycles\] needs one order of all quotes; set partitions = 1"):
        of_session(tmp_path, 'partitions = 2\nassets = ["BTC", "ETH"]\n[cycles]\nacross = true')


def test_an_unknown_exchange_is_named(tmp_path: Path) -> None:
    with pytest.raises(CannotStartError, match=r"\[cycles\] within: there is no exchange 'krakn' here; known are "):
        shown(tmp_path, '[cycles]\nwithin = ["krakn"]')
