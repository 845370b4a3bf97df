"""docs/exchanges.md names every endpoint of the simulated exchanges."""

import re
from pathlib import Path

import pytest

from runtime.clock import SystemClock
from simulators.catalogue import EXCHANGES
from simulators.server import ExchangesOptions, SimulatedExchanges

DOCUMENT = Path(__file__).parents[2] / "docs" / "exchanges.md"
TITLES = {
    "coinbaseexchange": "Coinbase Exchange",
    "bitstamp": "Bitstamp",
    "bitflyer": "bitFlyer",
    "kraken": "Kraken",
    "binance": "Binance",
    "bybit": "Bybit",
    "okx": "OKX",
    "coinbase": "Coinbase Advanced",
}
STREAMS = ("/ws", "/v5/public", "/v5/private")
"""Paths of Kraken's older stream, beside the root, of OKX's and of Bybit's."""
REGIONS = {"eu", "usa"}
"""bitFlyer's lists of markets elsewhere; the same endpoint."""


@pytest.mark.parametrize("exchange", EXCHANGES)
def test_each_is_in_the_table(exchange: str, tmp_path: Path) -> None:
    world = SimulatedExchanges.open(tmp_path, SystemClock(), ExchangesOptions(0, only=(exchange,)))
    resources = {route.resource for route in world.application_of(exchange).router.routes()}
    paths = {resource.canonical for resource in resources if resource is not None}
    asked = {path for path in paths if path != "/" and not path.startswith(STREAMS)}
    assert len(asked) > 10
    assert sorted(path for path in asked if name_of(path) not in section(TITLES[exchange])) == []


def name_of(path: str) -> str:
    """Return the last word of a path that is the same in each request."""
    words = path.replace("{side}", "buy").split("/")
    return [word for word in words if word and not word.startswith("{") and word not in REGIONS][-1]


def section(title: str) -> str:
    """Return the text below a heading."""
    _, _, simulated = DOCUMENT.read_text().partition("## What is simulated")
    texts = re.split(r"^##+ ", simulated, flags=re.MULTILINE)
    return next(text for text in texts if text.startswith(title))
