"""Query parameters that select and sort trades, shared by lists and downloads."""

from typing import Annotated, Any

from fastapi import Depends, Query

from market.trade.arbitrages import ArbitrageState, Strategy
from store.queries.sorted_pages import Order
from store.queries.sorted_trades import ARBITRAGE_COLUMNS, FILL_COLUMNS
from store.queries.trade_history import TradeFilter
from ui.api.market_routes import Base, Exchange

LATEST = 2**53 - 1
"""The latest microsecond that a JSON number holds exactly: in the year 2255."""

State = Annotated[list[ArbitrageState] | None, Query(description="States of the arbitrage; default: all.")]
StrategyName = Annotated[Strategy | None, Query(description="`ma`: orders of the moving average.")]
Since = Annotated[
    int | None, Query(alias="from", ge=0, le=LATEST, description="Earliest time reserved or filled, microseconds UTC.")
]
Until = Annotated[
    int | None, Query(alias="to", ge=0, le=LATEST, description="Latest time, exclusive, microseconds UTC.")
]
ThirdOrder = Annotated[
    bool | None,
    Query(
        description="`true`: only if a third order completed, reversed or flattened a leg; `false`: only if none did."
    ),
]


def _sort(columns: tuple[str, ...]) -> Any:
    """Return the parameter; without it lists come newest first."""
    words = f"{', '.join(columns)}; with a minus the largest first. Rows without a value come last."
    return Query(pattern=f"^-?({'|'.join(columns)})$", description=words, examples=["-net"])


ArbitrageSort = Annotated[str | None, _sort(ARBITRAGE_COLUMNS)]
FillSort = Annotated[str | None, _sort(FILL_COLUMNS)]


def order_of(sort: str | None) -> Order | None:
    return None if sort is None else Order.of(sort)


def wanted_trades(
    exchange: Exchange = None,
    base: Base = None,
    state: State = None,
    strategy: StrategyName = None,
    since: Since = None,
    until: Until = None,
    third_order: ThirdOrder = None,
) -> TradeFilter:
    return TradeFilter(exchange, base, tuple(state or ()), strategy, since, until, third_order)


Wanted = Annotated[TradeFilter, Depends(wanted_trades)]
