"""Our name of an exchange's market: a table of names as exchanges write them."""

from pathlib import Path

import pytest

from tick_sets.errors import ImportRejectedError
from tick_sets.rows.symbol_names import chosen_symbol, our_exchange, our_symbol

NAMES = (
    # without a separator, by what the exchange quotes in
    ("bitstamp", "grtusd", "GRT/USD"),
    ("bitstamp", "usdtusd", "USDT/USD"),
    ("bitstamp", "shibusd", "SHIB/USD"),
    ("bitstamp", "xrprlusd", "XRP/RLUSD"),
    ("bitstamp", "btceur", "BTC/EUR"),
    ("binance", "GRTUSDT", "GRT/USDT"),
    ("binance", "BTCBUSD", "BTC/BUSD"),
    ("binance", "SHIBTUSD", "SHIB/TUSD"),
    ("binance", "BNBFDUSD", "BNB/FDUSD"),
    ("binance", "NEIROUSDT", "NEIRO/USDT"),
    ("binanceus", "BNBUSD", "BNB/USD"),
    ("binanceus", "BNBBUSD", "BNB/BUSD"),
    ("gemini", "btcgusd", "BTC/GUSD"),
    ("gemini", "dotusd", "DOT/USD"),
    ("kraken", "XXBTZUSD", "BTC/USD"),
    ("kraken", "XTZUSD", "XTZ/USD"),
    ("kraken", "XBTUSDT", "BTC/USDT"),
    ("kraken", "DOTUSD", "DOT/USD"),
    ("bitfinex", "BTCUST", "BTC/USDT"),
    ("bitfinex", "DUSK:USD", "DUSK/USD"),
    ("htx", "dothusd", "DOT/HUSD"),
    ("nobody", "dotusd", "DOT/USD"),
    ("nobody", "bnbusd", "BNB/USD"),
    ("nobody", "abceur", "ABC/EUR"),
    # which code comes first
    ("kraken", "XXMRZUSD", "XMR/USD"),
    ("kraken", "XREPXETH", "REP/ETH"),
    ("gemini", "paxgusd", "PAXG/USD"),
    # any currency, if nothing else ends the name
    ("fxcm", "EURCHF", "EUR/CHF"),
    ("luno", "XBTZAR", "BTC/ZAR"),
    ("oanda", "USD_CNH", "USD/CNH"),
    # coins that stand for a currency, priced in coins
    ("kucoin", "PAX-ETH", "PAX/ETH"),
    ("gemini", "DAI-BTC", "DAI/BTC"),
    ("upbit", "KRW-BTC", "BTC/KRW"),
    ("upbit", "USDT-ETH", "ETH/USDT"),
    ("poloniex", "USDT_BTC", "BTC/USDT"),
    ("poloniex", "BTC_USDT", "BTC/USDT"),
    ("poloniex", "BTC_ETH", "ETH/BTC"),
    ("bithumb", "KRW-XRP", "XRP/KRW"),
    ("bithumb", "XRP_KRW", "XRP/KRW"),
    ("okx", "BTC-USDT", "BTC/USDT"),
    ("kraken", "EUR/USD", "EUR/USD"),
    ("binanceus", "USDC/BUSD", "USDC/BUSD"),
    ("nobody", "usdt_rub", "USDT/RUB"),
    # one code, two coins
    ("kraken", "LUNA/USD", "LUNC/USD"),
    ("kraken", "LUNA2/USD", "LUNA/USD"),
    ("kraken", "XBT/USD", "BTC/USD"),
    ("mexc", "XBTUSDT", "XBT/USDT"),
    ("nobody", "XBT/USD", "BTC/USD"),
    # contracts
    ("binanceusdm", "BTCUSDT", "BTC/USDT:USDT"),
    ("binanceusdm", "BTCUSDT_240927", "BTC/USDT:USDT-240927"),
    ("binancecoinm", "BTCUSD_PERP", "BTC/USD:BTC"),
    ("binancecoinm", "DOTUSD_240927", "DOT/USD:DOT-240927"),
    ("binanceusdm", "1000SHIBUSDT", "1000SHIB/USDT:USDT"),
    ("okx", "BTC/USD:BTC-240927", "BTC/USD:BTC-240927"),
)
UNCLEAR = (
    ("nobody", "usdtusd", "usdtusd of nobody may be USDT/USD or USD/TUSD; set it, for example --symbol USDT/USD"),
    ("nobody", "btcbusd", "may be BTCB/USD or BTC/BUSD"),
    ("nobody", "optusd", "may be OPT/USD or OP/TUSD"),
    ("binance", "DOTUSD", "may be DO/TUSD or DOT/USD"),
    ("poloniex", "USDC_USDT", "may be USDC/USDT or USDT/USDC"),
    ("poloniex", "DOGE_SHIB", "may be DOGE/SHIB or SHIB/DOGE"),
    ("nobody", "KRW-BTC", "may be KRW/BTC or BTC/KRW; set it, for example --symbol KRW/BTC"),
    ("nobody", "USDT_BTC", "may be USDT/BTC or BTC/USDT"),
    ("deribit", "BTC-PERPETUAL", "is a contract; say what it is on and settled in"),
    ("deribit", "BTC-27SEP24", "is a contract"),
    ("okx", "BTC-USDT-SWAP", "is a contract"),
    ("bybit", "BTCUSDT_240927", "is a contract"),
    ("bitflyer", "FX_BTC_JPY", "is no name of a pair"),
    ("binance", "ETHPLN1", "ends in no currency that it may be priced in"),
    ("nobody", "BTC", "ends in no currency"),
)


@pytest.mark.parametrize(("exchange", "name", "symbol"), NAMES)
def test_what_a_name_means(exchange: str, name: str, symbol: str) -> None:
    assert our_symbol(Path("file.csv"), exchange, name) == symbol


@pytest.mark.parametrize(("exchange", "name", "why"), UNCLEAR)
def test_what_may_mean_two_markets_is_refused(exchange: str, name: str, why: str) -> None:
    with pytest.raises(ImportRejectedError) as rejected:
        our_symbol(Path("file.csv"), exchange, name)
    assert why in str(rejected.value)


def test_exchanges_under_the_names_of_their_files() -> None:
    assert [our_exchange(name) for name in ("huobi", "gate-io", "UPBT", "kraken")] == ["htx", "gate", "upbit", "kraken"]


@pytest.mark.parametrize(("name", "symbol"), [("BTCUSD", "BTC/USD"), ("BTC-PERP", "BTC-PERP"), ("DSHUSD", "DASH/USD")])
def test_an_unclear_name_is_another_market_if_one_is_wanted(name: str, symbol: str) -> None:
    assert chosen_symbol(Path("file.csv"), "bitfinex", name, "BTC/USD") == symbol


def test_an_exchanges_own_code_is_not_chosen_silently() -> None:
    with pytest.raises(ImportRejectedError, match="DSH/USD of bitfinex is called DASH/USD here; say --symbol DASH/USD"):
        chosen_symbol(Path("file.csv"), "bitfinex", "DSHUSD", "DSH/USD")
