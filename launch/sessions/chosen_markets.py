"""Which markets a session trades, and the FX markets that convert them: by assets, exchanges and symbols."""

from collections.abc import Collection, Iterable, Sequence

from exchanges.simulated_markets import paper_markets, simulated_bases, simulated_markets
from launch.config.configuration import Configuration
from launch.errors import CannotStartError
from market.instruments.assets import identity_fault
from market.instruments.markets import Market


def chosen_markets(names: Sequence[str], config: Configuration) -> tuple[Market, ...]:
    """Of the named exchanges, or of those of paper mode if none is named; always with FX rates. Raises
    CannotStartError."""
    assets = dict.fromkeys(config.assets)
    listed = simulated_markets(assets)
    known = dict.fromkeys(market.exchange for market in simulated_markets())
    _check_known("exchange", names, known)
    if names and len(set(names)) < 2:
        raise CannotStartError("`exchanges` names only one exchange; an arbitrage needs at least two.")
    _check_assets(config)
    usual = paper_markets(assets)
    markets = usual if set(names) <= {market.exchange for market in usual} else listed
    chosen = [market for market in markets if not names or market.is_fx or market.exchange in names]
    chosen = _with_symbols(chosen, config)
    _check_pairs(chosen, assets)
    fault = identity_fault(chosen)
    if fault is not None:
        raise CannotStartError(f"{fault}.")
    return tuple(chosen)


def _check_assets(config: Configuration) -> None:
    if not config.assets:
        raise CannotStartError('`assets` is empty; name at least one, as in assets = ["BTC"].')
    _check_known("asset", config.assets, simulated_bases())


def _check_known(what: str, names: Iterable[str], known: Collection[str]) -> None:
    if unknown := [name for name in names if name not in known]:
        raise CannotStartError(f"unknown {what} {unknown[0]!r}; known are {', '.join(known)}.")


def _with_symbols(markets: list[Market], config: Configuration) -> list[Market]:
    """Without those that `[markets.NAME]` leaves out. Raises CannotStartError for a symbol that is not among them."""
    traded: dict[str, list[str]] = {}
    for market in markets:
        if not market.is_fx:
            traded.setdefault(market.exchange, []).append(market.symbol)
    for exchange, named in config.markets.items():
        place = f"[markets.{exchange}]"
        if exchange not in traded:
            raise CannotStartError(f"{place}: {exchange} takes no part; the exchanges are {', '.join(traded)}.")
        if unknown := [symbol for symbol in named.symbols if symbol not in traded[exchange]]:
            listed = ", ".join(traded[exchange])
            raise CannotStartError(f"{place} symbols: {unknown[0]!r} is not one of the assets there: {listed}.")
    left_out = {
        (exchange, symbol)
        for exchange, named in config.markets.items()
        for symbol in set(traded[exchange]) - set(named.symbols)
    }
    return [market for market in markets if market.is_fx or (market.exchange, market.symbol) not in left_out]


def _check_pairs(markets: Iterable[Market], assets: Iterable[str]) -> None:
    """Each asset needs two exchanges."""
    exchanges: dict[str, set[str]] = {}
    for market in markets:
        if not market.is_fx:
            exchanges.setdefault(market.base, set()).add(market.exchange)
    for asset in assets:
        if len(exchanges.get(asset, ())) < 2:
            where = ", ".join(exchanges.get(asset, ())) or "none"
            raise CannotStartError(
                f"asset {asset} has a market on {where} of the exchanges; an arbitrage needs it on at least two."
            )
