"""Display names of exchanges, for pages, notices, commands and reports: of the catalogue, and of recordings."""

import re
from collections.abc import Iterable, Mapping
from functools import cache

from exchanges.catalogue import all_facts

_OF_RECORDINGS: Mapping[str, str] = {
    "binancecoinm": "Binance COIN-M",
    "binanceusdm": "Binance USD-M",
    "coinbase-eur": "Coinbase EUR",
    "fxcm": "FXCM",
}


@cache
def exchange_labels() -> Mapping[str, str]:
    """Exchange → its display name."""
    return {**{facts.name: facts.label for facts in all_facts()}, **_OF_RECORDINGS}


def exchange_name(exchange: str) -> str:
    """Return the id itself if there is no name."""
    return exchange_labels().get(exchange, exchange)


def exchange_names(exchanges: Iterable[str]) -> str:
    """`Kraken → Bitstamp`."""
    return " → ".join(map(exchange_name, exchanges))


def pair_name(pair: str) -> str:
    """Return the names in "buy → sell", or of one exchange."""
    return exchange_names(pair.split(" → "))


def part_name(name: str) -> str:
    """Name of a process of the session, with the exchange's display name: `bot-Coinbase`."""
    labels = exchange_labels()
    return _any_exchange().sub(lambda found: labels[found[0]], name)


@cache
def _any_exchange() -> re.Pattern[str]:
    longest_first = sorted(exchange_labels(), key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(longest_first)})(?!\w)")
