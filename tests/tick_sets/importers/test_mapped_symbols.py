from pathlib import Path

import pytest

from tick_sets.errors import ImportRejectedError
from tick_sets.mapped.symbols import OneTicker

SAME = [
    ("BTC/USDT", "BTCUSDT"),
    ("BTC/USDT", "btc-usdt"),
    ("BTC/USDT:USDT", "BTCUSDT"),
    ("BTC/USD:BTC", "BTCUSD_PERP"),
    ("BTC/USD:BTC", "BTCUSD_240927"),
    ("BTC/USD:BTC", "BTCUSDU24"),
]
OTHER = [
    ("BTC/USD", "BTCUSDT"),
    ("BTC/USDT", "BTCUSD"),
    ("BTC/USD:BTC", "BTCUSDT"),
    ("BTC/USDT", "BTCUSDT_PERP"),
    ("BTC/USDT", "WBTCUSDT"),
    ("BTC/USDT", "None"),
]


@pytest.mark.parametrize(("symbol", "ticker"), SAME)
def test_a_ticker_of_the_named_market(symbol: str, ticker: str) -> None:
    one = OneTicker(Path("some.gz"), symbol)
    one.check(ticker, 1)
    one.check(ticker, 2)


@pytest.mark.parametrize(("symbol", "ticker"), OTHER)
def test_a_ticker_of_another_market_is_rejected(symbol: str, ticker: str) -> None:
    with pytest.raises(ImportRejectedError, match=f"some.gz, line 7: is about {ticker}, while {symbol} is named"):
        OneTicker(Path("some.gz"), symbol).check(ticker, 7)


def test_one_file_is_about_one_ticker() -> None:
    one = OneTicker(Path("some.gz"), "BTC/USDT")
    one.check("BTCUSDT", 1)
    with pytest.raises(
        ImportRejectedError, match="line 2: is about btcusdt, while the rows before it are about BTCUSDT"
    ):
        one.check("btcusdt", 2)
