"""`arbitrage markets`: what is configured, unless more is asked for."""

from typing import Any

import pytest

from exchanges.simulated_markets import simulated_bases, simulated_markets
from launch.commands.markets import MarketsOptions, list_markets
from launch.config.configuration import Configuration

PAPER = {("BTC", name) for name in ("coinbaseexchange", "bitstamp", "bitflyer", "kraken")}
LISTED = {(market.base, market.exchange) for market in simulated_markets(simulated_bases()) if not market.is_fx}
NO_OPTIONS = MarketsOptions()


@pytest.mark.parametrize(
    ("known", "options", "shown"),
    [
        ({}, NO_OPTIONS, PAPER),
        (
            {"exchanges": ["kraken", "binance"], "assets": ["BTC", "ETH"]},
            NO_OPTIONS,
            {(base, name) for base in ("BTC", "ETH") for name in ("kraken", "binance")},
        ),
        ({"markets": {"kraken": {"symbols": []}}}, NO_OPTIONS, PAPER - {("BTC", "kraken")}),
        ({}, MarketsOptions(is_all=True), LISTED),
        ({}, MarketsOptions(asset="ETH"), {one for one in LISTED if one[0] == "ETH"}),
        ({}, MarketsOptions(exchange="binance"), {one for one in LISTED if one[1] == "binance"}),
    ],
)
def test_what_is_configured_is_listed_and_the_rest_if_asked_for(
    known: dict[str, Any], options: MarketsOptions, shown: set[tuple[str, str]]
) -> None:
    said: list[str] = []
    assert list_markets(options, Configuration.model_validate(known), said.append) == 0
    rows = [line.split() for line in said[0].splitlines()[1:]]
    assert {(row[0], row[1]) for row in rows} == shown
    assert ("--all lists" in said[-1]) == (not options.asks_for_listed)


def test_it_compares_with_what_is_configured() -> None:
    said: list[str] = []
    list_markets(NO_OPTIONS, Configuration(), said.append)
    assert "binance" not in "\n".join(said)
