"""`arbitrage markets`: what can be compared with what, under which rules and fees, and why something is not."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from exchanges.listed_codes import listed_codes
from exchanges.simulated_markets import (
    cross_markets,
    paper_markets,
    simulated_bases,
    simulated_markets,
    simulated_taker_fees,
)
from launch.config.configuration import Configuration, first_settings
from launch.config.configured_entries import ccxt_id, session_codes
from launch.config.watched_cycles import ShownCycles, cycle_lines
from launch.errors import CannotStartError
from launch.sessions.chosen_markets import asked_crosses
from launch.sessions.entry_markets import has_own_names, has_stated_sizes, listed_entry_markets
from launch.sessions.paper import SETTLEMENT_CURRENCY
from market.instruments.comparisons import ComparedMarket, compared_markets
from market.instruments.markets import FxRoute, Market
from market.money import text_of

Echo = Callable[[str], None]

_TITLES = ("asset", "exchange", "symbol", "converted by", "fee", "price step", "amount step", "least", "compared with")
_HUNDRED = Decimal(100)
_ASKED = "asked"
"""Rules of the exchange, when a session starts."""


@dataclass(frozen=True, slots=True)
class MarketsOptions:
    """Without any: the markets of the session that the configuration describes."""

    asset: str | None = None
    exchange: str | None = None
    is_all: bool = False
    """All that the exchanges list."""

    @property
    def asks_for_listed(self) -> bool:
        return self.is_all or self.asset is not None or self.exchange is not None


def list_markets(options: MarketsOptions, config: Configuration, echo: Echo) -> int:
    """Print a table. Raises CannotStartError for an unknown asset or exchange."""
    listed = _listed(config)
    markets = listed if options.asks_for_listed else _configured(listed, config)
    bases = tuple(dict.fromkeys((*simulated_bases(), *(market.base for market in markets if not market.is_fx))))
    exchanges = dict.fromkeys(market.exchange for market in markets if not market.is_fx)
    _check_known("--asset", options.asset, bases)
    _check_known("--exchange", options.exchange, exchanges)
    rows = [
        row
        for row in compared_markets(listed_codes(), markets, SETTLEMENT_CURRENCY, session_codes(config))
        if options.asset in (None, row.market.base) and options.exchange in (None, row.market.exchange)
    ]
    rows.sort(key=lambda row: bases.index(row.market.base))
    fees = _fees(exchanges, config)
    echo("\n".join(_aligned([_TITLES, *(_cells(row, fees) for row in rows)])))
    shown = ShownCycles(options.asset, options.exchange)
    for line in cycle_lines(config, markets, SETTLEMENT_CURRENCY, fees, shown):
        echo(line)
    if len(markets) < len(listed):
        count = sum(1 for market in listed if not market.is_fx)
        echo(f"as configured; --all lists {count} markets, --asset and --exchange those of one")
    return 0


def _listed(config: Configuration) -> tuple[Market, ...]:
    """Return all markets of the exchanges; those of an exchange that is not simulated come from the configuration,
    because nobody knows them all."""
    names = config.session_exchanges
    if has_own_names(names, config):
        return listed_entry_markets(names, config)
    crosses = () if config.cycles is None else cross_markets(simulated_bases())
    markets = (*simulated_markets(simulated_bases()), *crosses)
    return tuple(market for market in markets if market.is_fx or not names or market.exchange in names)


def _configured(listed: tuple[Market, ...], config: Configuration) -> tuple[Market, ...]:
    """Return those that a session trades. Those of an exchange with a name of its own are configured, each."""
    names = config.session_exchanges
    if has_own_names(names, config):
        return listed
    exchanges = names or {one.exchange for one in paper_markets()}
    left_out = set(cross_markets(simulated_bases())) - set(asked_crosses(config))

    def is_configured(market: Market) -> bool:
        named = config.markets.get(market.exchange)
        is_named = named is None or market.symbol in named.symbols
        is_traded = market.base in config.known_assets and market.exchange in exchanges
        return is_traded and is_named and market not in left_out

    return tuple(market for market in listed if market.is_fx or is_configured(market))


def _fees(exchanges: Iterable[str], config: Configuration) -> Mapping[str, Decimal]:
    listed = simulated_taker_fees()
    usual = {name: listed[ccxt] for name in exchanges if (ccxt := ccxt_id(config, name)) in listed}
    return first_settings(config, {"enabled_exchanges": tuple(usual), "taker_fees": usual}).taker_fees


def _check_known(option: str, name: str | None, known: Iterable[str]) -> None:
    if name is not None and name not in tuple(known):
        raise CannotStartError(f"{option}: there is no {name!r}; known are {', '.join(known)}.")


def _cells(row: ComparedMarket, fees: Mapping[str, Decimal]) -> tuple[str, ...]:
    market, fee = row.market, fees.get(row.market.exchange)
    return (
        market.base,
        market.exchange,
        market.symbol,
        _route(row.route),
        _ASKED if fee is None else f"{text_of(fee * _HUNDRED)} %",
        *(_sizes(market) if has_stated_sizes(market) else (_ASKED,) * 3),
        ", ".join(row.others) or f"nothing: {row.reason}",
    )


def _sizes(market: Market) -> tuple[str, str, str]:
    return (
        f"{text_of(market.tick_size)} {market.quote_currency}",
        text_of(market.lot_step),
        f"{text_of(market.minimum_amount)} and {text_of(market.minimum_notional)} {market.quote_currency}",
    )


def _route(route: FxRoute | None) -> str:
    return "–" if route is None else route.symbol


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(_TITLES))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
