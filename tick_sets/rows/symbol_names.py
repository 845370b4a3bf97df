"""Maps third-party names of exchanges and symbols to ours."""

import re
from pathlib import Path

from exchanges.common_codes import common_code
from exchanges.listed_codes import listed_codes
from tick_sets.errors import ImportRejectedError, reject
from tick_sets.rows.import_format import FileOptions
from tick_sets.rows.pair_names import UnclearPairError, pair_of

_EXCHANGES = {
    "coinbase": "coinbaseexchange",
    "coinbase-exchange": "coinbaseexchange",
    "cbse": "coinbaseexchange",
    "krkn": "kraken",
    "stmp": "bitstamp",
    "bfly": "bitflyer",
    "bnce": "binance",
    "bfnx": "bitfinex",
    "binance-futures": "binanceusdm",
    "binance-delivery": "binancecoinm",
    "okex": "okx",
    "binance-us": "binanceus",
    "bybit-spot": "bybit",
    "huobi": "htx",
    "gate-io": "gate",
    "crypto-com": "cryptocom",
    "upbt": "upbit",
}
_UNIFIED = re.compile(r"[A-Z0-9.]+/[A-Z0-9.]+:[A-Z0-9.]+(-[0-9]{6})?")
"""A contract under its name here, which is ccxt's."""
_DELIVERED = re.compile(r"(.+)_([0-9]{6})")


def our_exchange(name: str) -> str:
    plain = name.strip().lower()
    return _EXCHANGES.get(plain, plain)


def our_symbol(path: Path, exchange: str, name: str) -> str:
    """Return BTCUSDT, btc-usdt, BTC_USDT or XBT/USD as BTC/USDT or BTC/USD; a contract as BTC/USDT:USDT, BTC/USD:BTC,
    and with its day of delivery BTC/USDT:USDT-240927. Raises ImportRejectedError if the meaning of the name is not
    plain."""
    text = name.strip().upper()
    if _UNIFIED.fullmatch(text):
        return text
    settles_in_base, settles = exchange == "binancecoinm", exchange in ("binanceusdm", "binancecoinm")
    dated = _DELIVERED.fullmatch(text) if settles else None
    plain = dated[1] if dated else text.removesuffix("_PERP") if settles_in_base else text
    try:
        base, quote = (common_code(exchange, code) for code in pair_of(exchange, plain))
    except UnclearPairError as unclear:
        reject(path, None, f"{name} of {exchange} {unclear}")
    settled_in = f":{base if settles_in_base else quote}" if settles else ""
    return f"{base}/{quote}{settled_in}{f'-{dated[2]}' if dated else ''}"


def chosen_symbol(path: Path, exchange: str, name: str, wanted: str | None) -> str:
    """Return `our_symbol` of a name in a file of many markets; as it stands if it is unclear, and another market is
    wanted. Raises ImportRejectedError: also if the wanted symbol has the exchange's own code of a coin."""
    try:
        symbol = our_symbol(path, exchange, name)
    except ImportRejectedError:
        if wanted is None:
            raise
        return name
    if wanted not in (None, symbol.partition(":")[0]) and "/".join(pair_of(exchange, name.strip().upper())) == wanted:
        reject(path, None, f"{wanted} of {exchange} is called {symbol} here; say --symbol {symbol}")
    return symbol


def named_market(path: Path, options: FileOptions) -> tuple[str, str]:
    """Return (exchange, symbol) from the options, because the file does not say them. Raises ImportRejectedError."""
    if options.exchange is None:
        reject(path, None, "does not say which exchange it is from; set it, for example --exchange kraken")
    if options.symbol is None:
        reject(path, None, "does not say which symbol it is about; set it, for example --symbol BTC/USD")
    return options.exchange, options.symbol


def check_file_name(path: Path, exchange: str, symbol: str) -> None:
    """Raise ImportRejectedError if the file is named after a code that is another coin there than the one that the
    symbol names: Kraken's LUNAUSD.csv has prices of LUNC."""
    named, _, quote = symbol.partition(":")[0].partition("/")
    meant, pair = common_code(exchange, named), path.name.upper().partition(".")[0].partition("_")[0]
    if meant != named and pair == named + quote:
        reject(
            path,
            None,
            f"is named {pair}, and {named} on {exchange} is {meant}; say --symbol {meant}/{quote}, or rename it",
        )


def is_currency_pair(exchange: str, symbol: str) -> bool:
    """Return whether both sides settle trades: then it is an FX rate."""
    base, _, quote = symbol.partition(":")[0].partition("/")
    return all(_is_currency(exchange, code) for code in (base, quote))


def _is_currency(exchange: str, code: str) -> bool:
    # known on any exchange with our own names: files of rates come from brokers that nobody has listed
    codes = listed_codes()
    asset = codes.asset_of(exchange, code) or codes.asset_of("bitstamp", code) or codes.asset_of("bitflyer", code)
    return asset is not None and asset.kind in ("fiat", "stable coin")
