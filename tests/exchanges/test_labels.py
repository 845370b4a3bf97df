"""Every exchange that is traded on or recorded has a name for people, said in one place."""

import pytest

from exchanges.labels import exchange_labels, exchange_name, pair_name, part_name


@pytest.mark.parametrize("words", exchange_labels().values())
def test_names_are_short_and_for_people(words: str) -> None:
    assert "_" not in words
    assert not words.endswith(".")
    assert len(words) <= 40


def test_exchanges_that_are_traded_have_names() -> None:
    traded = ("coinbaseexchange", "bitstamp", "bitflyer", "kraken", "binance", "bybit", "okx", "coinbase")
    names = ["Coinbase", "Bitstamp", "bitFlyer", "Kraken", "Binance", "Bybit", "OKX", "Coinbase Advanced"]
    assert [exchange_name(one) for one in traded] == names


def test_what_has_no_name_keeps_its_own() -> None:
    assert exchange_name("alpha") == "alpha"
    assert pair_name("bitflyer → alpha") == "bitFlyer → alpha"
    assert pair_name("kraken") == "Kraken"
    assert part_name("bot-coinbaseexchange-2") == "bot-Coinbase-2"
    assert part_name("feed coinbase-eur BTC/EUR") == "feed Coinbase EUR BTC/EUR"
    assert part_name("feed-krakenish") == "feed-krakenish"
