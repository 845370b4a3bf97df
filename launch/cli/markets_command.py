"""`arbitrage markets`: what can be compared with what, under which rules and fees, and why something is not."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from exchanges.simulated_markets import simulated_bases, simulated_markets, simulated_taker_fees
from launch.config.configuration import Configuration
from launch.errors import CannotStartError
from launch.sessions.paper import SETTLEMENT_CURRENCY, paper_settings
from market.instruments.comparisons import ComparedMarket, compared_markets
from market.instruments.markets import FxRoute
from market.money import text_of

Echo = Callable[[str], None]

_TITLES = ("asset", "exchange", "symbol", "converted by", "fee", "price step", "amount step", "least", "compared with")
_HUNDRED = Decimal(100)


@dataclass(frozen=True, slots=True)
class MarketsOptions:
    """None: all of them."""

    asset: str | None
    exchange: str | None


def list_markets(options: MarketsOptions, config: Configuration, echo: Echo) -> int:
    """Prints a table. Raises CannotStartError for an unknown asset or exchange."""
    bases = simulated_bases()
    markets = simulated_markets(bases)
    exchanges = tuple(dict.fromkeys(market.exchange for market in markets))
    _check_known("--asset", options.asset, bases)
    _check_known("--exchange", options.exchange, exchanges)
    named = config.exchanges or exchanges
    rows = [
        row
        for row in compared_markets([one for one in markets if one.is_fx or one.exchange in named], SETTLEMENT_CURRENCY)
        if options.asset in (None, row.market.base) and options.exchange in (None, row.market.exchange)
    ]
    rows.sort(key=lambda row: bases.index(row.market.base))
    fees = simulated_taker_fees() | paper_settings(config).taker_fees
    echo("\n".join(_aligned([_TITLES, *(_cells(row, fees) for row in rows)])))
    return 0


def _check_known(option: str, name: str | None, known: Iterable[str]) -> None:
    if name is not None and name not in tuple(known):
        raise CannotStartError(f"{option}: there is no {name!r}; known are {', '.join(known)}.")


def _cells(row: ComparedMarket, fees: Mapping[str, Decimal]) -> tuple[str, ...]:
    market = row.market
    return (
        market.base,
        market.exchange,
        market.symbol,
        _route(row.route),
        f"{text_of(fees[market.exchange] * _HUNDRED)} %",
        f"{text_of(market.tick_size)} {market.quote_currency}",
        text_of(market.lot_step),
        f"{text_of(market.minimum_amount)} and {text_of(market.minimum_notional)} {market.quote_currency}",
        ", ".join(row.others) or f"nothing: {row.reason}",
    )


def _route(route: FxRoute | None) -> str:
    return "–" if route is None else route.symbol


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(_TITLES))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
