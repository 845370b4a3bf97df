"""The markets of a session with exchanges under names of their own, or that are not simulated."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from exchanges.listed_codes import listed_codes
from exchanges.simulated_markets import simulated_bases, simulated_markets, taker_fees
from launch.config.configuration import Configuration, ExchangeConfiguration
from launch.config.configured_entries import ccxt_id, session_codes
from launch.errors import CannotStartError
from launch.sessions.chosen_markets import asked_crosses, check_compared, check_standby
from market.instruments.assets import said_fault
from market.instruments.markets import Market, codes_in, fx_route
from market.money import decimal_of

_SYMBOL = re.compile(r"[A-Z0-9]+/[A-Z0-9]+", re.ASCII)
_UNKNOWN_SIZES = (decimal_of("0.00000001"),) * 4
"""Placeholder until the exchange is asked for its markets."""


def entry_markets(names: Sequence[str], config: Configuration, settlement: str) -> tuple[Market, ...]:
    """Return the markets of `names`, with all FX markets that they need, under ccxt's names.

    Of a simulated exchange: those that are known, under our name of it and in its region; of another one: those that
    the configuration names. Raises CannotStartError.
    """
    check_standby(config)
    markets = listed_entry_markets(names, config)
    traded = [market for market in markets if not market.is_fx]
    if len({market.exchange for market in traded}) < 2:
        raise CannotStartError("`exchanges` names only one exchange; an arbitrage needs at least two.")
    _check_said(traded, config)
    codes = session_codes(config)
    if fault := said_fault(listed_codes(), traded, codes):
        raise CannotStartError(f"{fault}.")
    # by default the one asset is Bitcoin, which users who name their symbols may not want
    assets = config.known_assets if "assets" in config.model_fields_set else config.standby_assets
    check_compared(markets, assets, settlement, codes, has_cycles=config.cycles is not None)
    fx = tuple(market for market in markets if market.is_fx)
    routes = [fx_route(market.quote_currency, settlement, fx) for market in traded]
    needed = {route.symbol for route in routes if route is not None}
    return (*traded, *(market for market in fx if market.symbol in needed))


def listed_entry_markets(names: Sequence[str], config: Configuration) -> tuple[Market, ...]:
    """Return them as `entry_markets`, whether they can be compared or not, and with all FX markets. Raises
    CannotStartError."""
    known = (*simulated_markets(config.known_assets), *asked_crosses(config))
    traded = [
        market for name in dict.fromkeys(names or tuple(taker_fees())) for market in _traded_at(name, config, known)
    ]
    return (*traded, *(market for market in known if market.is_fx))


def has_own_names(names: Iterable[str], config: Configuration) -> bool:
    """Return whether any is not simply a simulated exchange under its own name."""
    known = {market.exchange for market in simulated_markets()}
    return bool(config.asset) or any(name not in known and name in config.exchange for name in names)


def _check_said(markets: Sequence[Market], config: Configuration) -> None:
    """Raise CannotStartError for an `[asset.NAME]` that fits no market: a typo would have no effect."""
    traded: dict[str, set[str]] = {}
    for market in markets:
        traded.setdefault(market.exchange, set()).update(codes_in(market.symbol))
    for code, said in config.asset.items():
        for exchange in said.compare:
            place = f"[asset.{code}] compare"
            if exchange not in traded:
                raise CannotStartError(f"{place}: {exchange} takes no part; the exchanges are {', '.join(traded)}.")
            if code not in traded[exchange]:
                raise CannotStartError(
                    f"{place}: {exchange} has no market of {code} here; name one in [markets.{exchange}] symbols."
                )


def _traded_at(name: str, config: Configuration, known: Iterable[Market]) -> list[Market]:
    one, ccxt = config.exchange.get(name, ExchangeConfiguration()), ccxt_id(config, name)
    template = next((market for market in simulated_markets() if market.exchange == ccxt), None)
    if template is not None:
        region = one.region or template.region
        listed = [market for market in known if market.exchange == ccxt and not market.is_fx]
        own = [replace(market, exchange=name, region=region) for market in listed]
        said = [] if one.mode == "simulated" else _said_markets(replace(template, exchange=name, region=region), config)
        return _only_named(name, [*own, *said], config)
    if name not in config.markets:
        raise CannotStartError(
            f'{name}: which markets it has is not known; set [markets.{name}] symbols = ["BTC/USDT"].'
        )
    if one.region is None:
        raise CannotStartError(f'{name}: set its region, as in [exchange.{name}] region = "us".')
    return [_named_market(name, one.region, symbol) for symbol in config.markets[name].symbols]


def _only_named(name: str, markets: list[Market], config: Configuration) -> list[Market]:
    named = config.markets.get(name)
    if named is None:
        return markets
    if unknown := set(named.symbols) - {market.symbol for market in markets}:
        raise CannotStartError(f"[markets.{name}] symbols: {min(unknown)!r} is not a market there that is known.")
    return [market for market in markets if market.symbol in named.symbols]


def _said_markets(template: Market, config: Configuration) -> list[Market]:
    """Return the markets named at an exchange of ours whose assets are not on our list, but which the user says are one
    with others."""
    name = template.exchange
    symbols = config.markets[name].symbols if name in config.markets else ()
    said = {code for code, one in config.asset.items() if name in one.compare}
    return [
        replace(_named_market(name, template.region, symbol), fee_side=template.fee_side)
        for symbol in symbols
        if codes_in(symbol)[0] in said - set(simulated_bases())
    ]


def _named_market(exchange: str, region: str, symbol: str) -> Market:
    """Return a market whose sizes and side of the fee come from the exchange once that is asked."""
    if _SYMBOL.fullmatch(symbol) is None:
        raise CannotStartError(f"[markets.{exchange}] symbols: {symbol!r} is not a spot market as in BTC/USDT.")
    base, quote_currency = codes_in(symbol)
    return Market(exchange, region, symbol, base, quote_currency, *_UNKNOWN_SIZES, fee_side="quote")


def has_stated_sizes(market: Market) -> bool:
    """Return whether its sizes are known before the exchange is asked."""
    sizes = (market.tick_size, market.lot_step, market.minimum_amount, market.minimum_notional)
    return sizes != _UNKNOWN_SIZES
