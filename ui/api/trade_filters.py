"""Query parameters that select trades, shared by lists and downloads."""

from typing import Annotated

from fastapi import Depends, Query

from market.trade.arbitrages import ArbitrageState, Strategy
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


def wanted_trades(
    exchange: Exchange = None,
    base: Base = None,
    state: State = None,
    strategy: StrategyName = None,
    since: Since = None,
    until: Until = None,
) -> TradeFilter:
    return TradeFilter(exchange, base, tuple(state or ()), strategy, since, until)


Wanted = Annotated[TradeFilter, Depends(wanted_trades)]
