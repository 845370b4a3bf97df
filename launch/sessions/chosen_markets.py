"""Which markets a session trades, and the FX markets that convert them: by assets, exchanges and symbols."""

from collections.abc import Collection, Iterable, Sequence

from exchanges.listed_codes import listed_codes
from exchanges.simulated_markets import cross_markets, paper_markets, simulated_bases, simulated_markets
from launch.config.configuration import Configuration
from launch.errors import CannotStartError
from market.instruments.assets import SessionCodes
from market.instruments.comparisons import compared_markets
from market.instruments.markets import Market, crosses_of


def chosen_markets(names: Sequence[str], config: Configuration, settlement: str) -> tuple[Market, ...]:
    """Return the markets of the named exchanges, or of those of paper mode if none is named; always with FX rates.
    Raises CannotStartError."""
    assets = config.known_assets
    listed = simulated_markets(assets)
    known = dict.fromkeys(market.exchange for market in simulated_markets())
    _check_known("exchange", names, known)
    if names and len(set(names)) < 2:
        raise CannotStartError("`exchanges` names only one exchange; an arbitrage needs at least two.")
    _check_assets(config)
    usual = paper_markets(assets)
    markets = usual if set(names) <= {market.exchange for market in usual} else listed
    taking_part = {market.exchange for market in markets}
    markets += tuple(market for market in asked_crosses(config) if market.exchange in taking_part)
    chosen = [market for market in markets if not names or market.is_fx or market.exchange in names]
    chosen = _with_symbols(chosen, config)
    check_compared(chosen, assets, settlement, has_cycles=config.cycles is not None)
    return tuple(chosen)


def asked_crosses(config: Configuration) -> tuple[Market, ...]:
    """Return what simulated exchanges list beside their other markets, which only a session with cycles asks for."""
    return () if config.cycles is None else cross_markets(config.known_assets)


def _check_assets(config: Configuration) -> None:
    if not config.assets:
        raise CannotStartError('`assets` is empty; name at least one, as in assets = ["BTC"].')
    _check_known("asset", config.known_assets, simulated_bases())
    check_standby(config)


def check_standby(config: Configuration) -> None:
    """Raise CannotStartError for an asset that is both traded and on standby."""
    if both := [name for name in config.standby_assets if name in config.assets]:
        raise CannotStartError(
            f"asset {both[0]} is in `assets` and in `standby_assets`; leave it in `assets` to trade it from the start, "
            "or in `standby_assets` to add it later."
        )


def _check_known(what: str, names: Iterable[str], known: Collection[str]) -> None:
    if unknown := [name for name in names if name not in known]:
        raise CannotStartError(f"unknown {what} {unknown[0]!r}; known are {', '.join(known)}.")


def _with_symbols(markets: list[Market], config: Configuration) -> list[Market]:
    """Return the markets without those that `[markets.NAME]` leaves out. Raises CannotStartError for a symbol that is
    not among them."""
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


def check_compared(
    markets: Sequence[Market],
    assets: Iterable[str],
    settlement: str,
    codes: SessionCodes | None = None,
    *,
    has_cycles: bool = False,
) -> None:
    """Raise CannotStartError for a market that cannot be compared with any, and for an asset that has no market. With
    cycles there may be crosses, which are for those alone."""
    crosses = crosses_of(markets, settlement) if has_cycles else ()
    compared = [market for market in markets if market not in crosses]
    rows = compared_markets(listed_codes(), compared, settlement, codes)
    for row in rows:
        if row.reason is not None:
            raise CannotStartError(f"{row.market.exchange} {row.market.symbol}: {row.reason}.")
    bases = {row.market.base for row in rows}
    if lacking := [asset for asset in assets if asset not in bases]:
        raise CannotStartError(f"asset {lacking[0]}: none of the exchanges trades it.")
