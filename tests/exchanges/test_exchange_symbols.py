"""What exchanges are asked for: their own codes of a symbol, whatever it is compared as."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace
from typing import Protocol

import pytest

from exchanges.binance.symbols import binance_symbol
from exchanges.bitflyer.symbols import bitflyer_product
from exchanges.bitstamp.orders import BitstampOrderApi
from exchanges.bitstamp.symbols import bitstamp_codes, bitstamp_name, bitstamp_pair
from exchanges.bybit.symbols import bybit_symbol
from exchanges.coinbase.symbols import coinbase_product
from exchanges.coinbaseexchange.orders import CoinbaseExchangeOrderApi
from exchanges.coinbaseexchange.symbols import coinbaseexchange_product
from exchanges.kraken.orders import KrakenOrderApi
from exchanges.kraken.symbols import kraken_market_id, kraken_pair, kraken_stream_symbol
from exchanges.okx.symbols import okx_instrument
from market.instruments.markets import Market
from tests.market.samples import USD_MARKET


class HasBalances(Protocol):
    async def balances(self) -> dict[str, Decimal]: ...


def market(symbol: str) -> Market:
    """Return a market that is compared under another name than its symbol's."""
    return replace(USD_MARKET, symbol=symbol, base="COIN", quote_currency="MONEY")


@pytest.mark.parametrize(
    ("name_of", "symbol", "name"),
    [
        (kraken_pair, "BTC/USD", "XBTUSD"),
        (kraken_pair, "DOGE/EUR", "XDGEUR"),
        # LUNAUSD there is LUNC
        (kraken_pair, "LUNC/USD", "LUNAUSD"),
        (kraken_pair, "LUNA/USD", "LUNA2USD"),
        (kraken_pair, "USTC/EUR", "USTEUR"),
        (kraken_market_id, "BTC/USD", "XXBTZUSD"),
        (kraken_market_id, "DOGE/USD", "XDGUSD"),
        (kraken_market_id, "LUNC/USD", "LUNAUSD"),
        (kraken_stream_symbol, "BTC/USD", "BTC/USD"),
        (kraken_stream_symbol, "DOGE/USD", "DOGE/USD"),
        (kraken_stream_symbol, "LUNC/USD", "LUNA/USD"),
        (kraken_stream_symbol, "LUNA/USD", "LUNA2/USD"),
        (bitstamp_pair, "BTC/USD", "btcusd"),
        (bitstamp_pair, "USTC/USD", "ustusd"),
        (bitstamp_name, "USTC/USD", "UST/USD"),
        (bitstamp_codes, "USTC/USD", ("ust", "usd")),
        (binance_symbol, "MATIC/USDT", "MATICUSDT"),
        (binance_symbol, "LUNC/USDT", "LUNCUSDT"),
        (bybit_symbol, "LUNC/USDT", "LUNCUSDT"),
        (okx_instrument, "LUNC/USDT", "LUNC-USDT"),
        (coinbaseexchange_product, "MATIC/USD", "MATIC-USD"),
        (coinbaseexchange_product, "CELO/USD", "CGLD-USD"),
        (coinbase_product, "CELO/USD", "CGLD-USD"),
        (bitflyer_product, "BTC/JPY", "BTC_JPY"),
    ],
)
def test_names_of_markets(name_of: Callable[[Market], object], symbol: str, name: object) -> None:
    assert name_of(market(symbol)) == name


@pytest.mark.parametrize(
    ("api", "method", "answer", "balances"),
    [
        (
            KrakenOrderApi,
            "privatePostBalanceEx",
            {"result": {name: {"balance": "2"} for name in ("XXBT", "XETH", "ZUSD", "SOL", "XXMR", "LUNA", "LUNA2")}},
            ("BTC", "ETH", "USD", "SOL", "XMR", "LUNC", "LUNA"),
        ),
        (
            BitstampOrderApi,
            "privatePostAccountBalances",
            [{"currency": name, "total": "2"} for name in ("btc", "ust")],
            ("BTC", "USTC"),
        ),
        (
            CoinbaseExchangeOrderApi,
            "privateGetAccounts",
            [{"currency": name, "balance": "2"} for name in ("BTC", "CGLD")],
            ("BTC", "CELO"),
        ),
    ],
)
async def test_balances_have_the_codes_of_our_symbols(
    api: Callable[[object], HasBalances], method: str, answer: object, balances: tuple[str, ...]
) -> None:
    async def reply(_parameters: Mapping[str, str] | None = None) -> object:
        return answer

    found = await api(SimpleNamespace(**{method: reply})).balances()
    assert found == dict.fromkeys(balances, Decimal(2))
