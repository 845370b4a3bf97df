"""A session of which two exchanges are reached through ccxt alone."""

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
