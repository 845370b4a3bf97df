"""Which markets a session trades, by the exchanges that its configuration names."""

import pytest

from exchanges.simulated_markets import paper_markets, simulated_markets
from launch.config.configuration import Configuration
from launch.errors import CannotStartError
from launch.sessions.paper import chosen_markets, paper_settings
from market.instruments.markets import fx_route


def test_none_named_means_those_of_paper_mode() -> None:
    assert chosen_markets(()) == paper_markets()
    assert set(paper_settings(Configuration()).taker_fees) == {market.exchange for market in paper_markets()}


def test_a_part_of_them_keeps_all_fx() -> None:
    chosen = chosen_markets(("kraken", "bitstamp"))
    assert {market.exchange for market in chosen if not market.is_fx} == {"kraken", "bitstamp"}
    assert [market for market in chosen if market.is_fx] == [market for market in paper_markets() if market.is_fx]


def test_binance_comes_with_the_price_of_its_currency() -> None:
    names = ("binance", "kraken")
    chosen = chosen_markets(names)
    assert set(chosen) <= set(simulated_markets())
    route = fx_route("USDT", "USD", chosen)
    assert route is not None
    assert (route.symbol, route.inverted) == ("USDT/USD", False)
    settings = paper_settings(Configuration(exchanges=names))
    assert settings.enabled_exchanges == names
    assert settings.taker_fees["binance"] > 0


@pytest.mark.parametrize(("names", "text"), [(("kraken",), "at least two"), (("kraken", "mtgox"), "unknown exchange")])
def test_what_cannot_be_traded_is_one_sentence(names: tuple[str, ...], text: str) -> None:
    with pytest.raises(CannotStartError, match=text) as caught:
        chosen_markets(names)
    assert "\n" not in str(caught.value)
