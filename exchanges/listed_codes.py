"""What the codes of exchanges are: the facts of those with a folder, and what was looked at of others."""

from collections.abc import Mapping
from functools import cache

from exchanges.catalogue import all_facts
from exchanges.ports.codes import alike
from market.instruments.assets import ListedCodes

_WHOLE: dict[str, Mapping[str, str]] = {
    "binanceusdm": alike("BTC", "USDT", "USDC"),
    "binancecoinm": alike("BTC", "USD"),
    # recordings of one exchange's order books and of a broker's rates
    "coinbase-eur": alike("BTC", "EUR"),
    "fxcm": alike("EUR", "USD"),
}
_SINGLE: Mapping[str, Mapping[str, str]] = {
    # tickers that made users see 11,021 % and more (ccxt 23965, 13582)
    "bitget": {"EPIK": "EPIK (Solana)"},
    "kucoin": {"EPIK": "EPIK (Ethereum)"},
    "bitfinex": {"UST": "USDT", "LUNA": "LUNC", "LUNA2": "LUNA"},
    # not bitcoin, as it is elsewhere (ccxt's mexc: commonCurrencies)
    "mexc": {"XBT": "XBT (MEXC)"},
}
_SYMBOL_CODES: dict[str, Mapping[str, str]] = {"bitfinex": {"USDT": "UST", "LUNA": "LUNA2", "LUNC": "LUNA"}}


@cache
def listed_codes() -> ListedCodes:
    known = all_facts()
    return ListedCodes(
        whole={facts.name: facts.codes for facts in known if facts.codes} | _WHOLE,
        single=_SINGLE,
        spelled={facts.name: facts.symbol_codes for facts in known} | _SYMBOL_CODES,
    )
