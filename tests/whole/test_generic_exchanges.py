"""Sessions of which some exchanges are reached through ccxt alone."""

import json
from pathlib import Path

import pytest

from tests.whole.running import new_home, running_paper

pytestmark = pytest.mark.soak

GENERIC = ("kraken", "bitflyer")


def test_it_trades_and_the_books_balance(tmp_path: Path) -> None:
    home, configuration = new_home(tmp_path / "home"), tmp_path / "arbitrage.toml"
    configuration.write_text("\n".join(f'[exchange.{name}]\nadapter = "generic"' for name in GENERIC))
    out = home / "out.json"
    with running_paper(home, "--config", str(configuration), "--seconds", "60", "--json", str(out)) as paper:
        assert paper.process.wait(timeout=400) == 0, paper.said
    summary = json.loads(out.read_text())
    assert summary["balanced"] is True
    assert all(summary["quotes"][name] > 0 for name in GENERIC)
    assert {fill["exchange"] for fill in summary["fills"]} >= set(GENERIC)


EIGHT = """
assets = ["BTC", "ETH", "SOL"]
exchanges = ["coinbaseexchange", "bitstamp", "bitflyer", "kraken", "binance", "kraken2", "bitstamp2", "binance2"]
""" + "".join(
    f'[exchange.{name}2]\nccxt = "{name}"\nadapter = "generic"\n' for name in ("kraken", "bitstamp", "binance")
)


def test_eight_accounts_at_five_exchanges(tmp_path: Path) -> None:
    home, configuration = new_home(tmp_path / "home"), tmp_path / "arbitrage.toml"
    configuration.write_text(EIGHT)
    out = home / "out.json"
    with running_paper(home, "--config", str(configuration), "--seconds", "90", "--json", str(out)) as paper:
        assert paper.process.wait(timeout=400) == 0, paper.said
    summary = json.loads(out.read_text())
    assert summary["balanced"] is True
    assert all(summary["quotes"][name] > 0 for name in summary["quotes"])
    assert {fill["exchange"] for fill in summary["fills"]} & {"kraken2", "bitstamp2", "binance2"}
