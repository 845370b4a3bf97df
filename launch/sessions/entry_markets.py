"""The markets of a session whose exchanges have names of their own, or are none of the simulated ones."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from exchanges.simulated_markets import simulated_markets, taker_fees
from launch.config.configuration import Configuration, ExchangeConfiguration
from launch.config.configured_entries import ccxt_id
from launch.errors import CannotStartError
from launch.sessions.chosen_markets import check_standby
from market.instruments.markets import Market, fx_route
from market.money import decimal_of

_SYMBOL = re.compile(r"[A-Z0-9]+/[A-Z0-9]+", re.ASCII)
_UNKNOWN_SIZE = decimal_of("0.00000001")
"""Until the exchange is asked for its markets."""


def entry_markets(names: Sequence[str], config: Configuration, settlement: str) -> tuple[Market, ...]:
    """The markets of `names`: of a simulated exchange those that are known, under our name of it and in its region; of
    another one those that the configuration names. With all FX markets that they need, under ccxt's names.

    Raises CannotStartError.
    """
    check_standby(config)
    known = simulated_markets(config.known_assets)
    names = names or tuple(taker_fees())
    traded = [market for name in dict.fromkeys(names) for market in _traded_at(name, config, known)]
    if len({market.exchange for market in traded}) < 2:
        raise CannotStartError("`exchanges` names only one exchange; an arbitrage needs at least two.")
    fx = tuple(market for market in known if market.is_fx)
    needed = {symbol for market in traded if (symbol := _fx_symbol(market, settlement, fx)) is not None}
    return (*traded, *(market for market in fx if market.symbol in needed))


def has_own_names(names: Iterable[str], config: Configuration) -> bool:
    """Whether any is not simply a simulated exchange under its own name."""
    known = {market.exchange for market in simulated_markets()}
    return any(name not in known and name in config.exchange for name in names)


def _traded_at(name: str, config: Configuration, known: Iterable[Market]) -> list[Market]:
    one, ccxt = config.exchange.get(name, ExchangeConfiguration()), ccxt_id(config, name)
    listed = [market for market in known if market.exchange == ccxt and not market.is_fx]
    if listed:
        named = config.markets.get(name)
        if named and (unknown := set(named.symbols) - {market.symbol for market in listed}):
            raise CannotStartError(f"[markets.{name}] symbols: {min(unknown)!r} is not a market there that is known.")
        listed = [market for market in listed if named is None or market.symbol in named.symbols]
        return [replace(market, exchange=name, region=one.region or market.region) for market in listed]
    if name not in config.markets:
        raise CannotStartError(
            f'{name}: which markets it has is not known; set [markets.{name}] symbols = ["BTC/USDT"].'
        )
    if one.region is None:
        raise CannotStartError(f'{name}: set its region, as in [exchange.{name}] region = "us".')
    return [_named_market(name, one.region, symbol) for symbol in config.markets[name].symbols]


def _named_market(exchange: str, region: str, symbol: str) -> Market:
    """Its sizes and the side of its fee are the exchange's own once that is asked."""
    if _SYMBOL.fullmatch(symbol) is None:
        raise CannotStartError(f"[markets.{exchange}] symbols: {symbol!r} is not a spot market as in BTC/USDT.")
    base, quote_currency = symbol.split("/")
    sizes = (_UNKNOWN_SIZE,) * 4
    return Market(exchange, region, symbol, base, quote_currency, *sizes, fee_side="quote")


def _fx_symbol(market: Market, settlement: str, fx: tuple[Market, ...]) -> str | None:
    try:
        route = fx_route(market.quote_currency, settlement, fx)
    except LookupError:
        raise CannotStartError(
            f"{market.exchange} {market.symbol}: no market converts {market.quote_currency} to {settlement}."
        ) from None
    return None if route is None else route.symbol
