"""Names of exchanges and reasons as a trader reads them: the same words as the live panels have."""

EXCHANGES = {
    "coinbaseexchange": "Coinbase",
    "coinbase": "Coinbase",
    "bitstamp": "Bitstamp",
    "bitflyer": "bitFlyer",
    "kraken": "Kraken",
    "binance": "Binance",
}


def exchange_name(exchange: str) -> str:
    """Its own id, where nobody gave it a name."""
    return EXCHANGES.get(exchange, exchange)


def pair_words(pair: str) -> str:
    """Of "buy → sell"."""
    return " → ".join(map(exchange_name, pair.split(" → ")))


def reason_words(reason: str) -> str:
    return reason.replace("_", " ")
