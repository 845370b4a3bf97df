"""Every app in `apps/`: its cases, that they show something, and that those on the product's streams can be hosted."""

import json
from pathlib import Path

import pytest

from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.hosts.hosted_app import app_source
from cep.apps.hosts.product_streams import parse_with_product_streams, read_streams
from exchanges.simulated_markets import simulated_markets
from launch.commands.main import run

FOLDER = Path(__file__).parents[3] / "apps"
APPS = sorted(FOLDER.glob("*.app"))
DOCS = Path(__file__).parents[3] / "docs" / "apps" / "running.md"


@pytest.mark.parametrize("app", APPS, ids=lambda app: app.stem)
def test_its_cases_are_as_expected(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases = app.with_suffix(".jsonl")
    assert run(["app", "test", str(app), str(cases)]) == 0
    assert "cases as expected" in capsys.readouterr().out
    rows = [len(json.loads(line)["expected"]["out"]) for line in cases.read_text().splitlines()]
    assert max(rows) > 0


def test_each_exchange_is_averaged_in_its_own_region_alone() -> None:
    """The text of the app has the regions of exchanges in it."""
    app = parse_with_product_streams((FOLDER / "regional-average.app").read_text())
    markets = {one.exchange: str(one.region) for one in simulated_markets()}
    averaged: list[tuple[str, str]] = []
    for region in sorted(set(markets.values())):
        engine = StreamEngine(app, variables={"region": region})
        engine.listen("Averages", lambda _, row: averaged.append((row[1], row[0])))
        for exchange in markets:
            quote = {"exchange": exchange, "symbol": "BTC/X", "bid": 1.0, "ask": 1.0}
            engine.send("quotes", 1, tuple(quote.get(one.name) for one in engine.columns_of("quotes")))
        engine.advance(60_000)
    assert sorted(averaged) == sorted(markets.items())
    assert len(set(markets.values())) > 2


@pytest.mark.parametrize("app", APPS, ids=lambda app: app.stem)
def test_it_is_named_as_its_file_and_in_the_docs(app: Path) -> None:
    text = app.read_text()
    assert f"@App:name('{app.stem}')" in text
    assert "@App:description(" in text
    assert f"`{app.stem}`" in DOCS.read_text()
    if read_streams(parse_with_product_streams(text)):
        assert app_source(text, "file").name == app.stem
