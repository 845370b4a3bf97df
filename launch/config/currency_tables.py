"""Checks what a configuration says of a currency on an exchange: `[TABLE.EXCHANGE.CURRENCY]`."""

from collections.abc import Iterable, Mapping

from launch.errors import CannotStartError
from market.instruments.markets import Market


def currencies_of(markets: Iterable[Market]) -> dict[str, tuple[str, ...]]:
    """Return exchange → the currencies of its markets, each once, in their order."""
    found: dict[str, dict[str, None]] = {}
    for market in markets:
        found.setdefault(market.exchange, {}).update({market.base: None, market.quote_currency: None})
    return {exchange: tuple(names) for exchange, names in found.items()}


def check_named(table: str, configured: Mapping[str, Iterable[str]], currencies: Mapping[str, Iterable[str]]) -> None:
    """Raise CannotStartError for an exchange or a currency that is not among `currencies`: a typo would
    leave the default in force, and nobody would know."""
    for exchange, named in configured.items():
        if exchange not in currencies:
            raise CannotStartError(f"[{table}.{exchange}]: {exchange} is not traded, only {', '.join(currencies)}.")
        for currency in named:
            if currency not in currencies[exchange]:
                had = ", ".join(currencies[exchange])
                raise CannotStartError(f"[{table}.{exchange}]: {exchange} has no {currency}, only {had}.")
