"""Rows of the streams `trades`, `fills` and `rejections`, of what the store keeps of them. Pure: the same live and over
a recording."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from market.instruments.markets import Market, base_and_quote
from market.instruments.orders import Fill
from market.trade.arbitrages import FINAL_STATES, OPEN_STATES, Arbitrage, Rejection

STATES = frozenset((*OPEN_STATES, *FINAL_STATES))


def trade_rows(arbitrage: Arbitrage, numbers: Iterable[int]) -> Iterator[Mapping[str, Any]]:
    """Return a row for each of these steps of its history that led to a state. Its profit is known with the last one
    alone, and only if that ended it."""
    opportunity = arbitrage.opportunity
    reached = [number for number, step in enumerate(arbitrage.history) if step.what in STATES]
    for number in numbers:
        step = arbitrage.history[number]
        if number not in reached:
            continue
        is_end = number == reached[-1] and step.what in FINAL_STATES
        profit = arbitrage.profit if is_end else None
        yield {
            "kind": "trades",
            "arbitrage_id": arbitrage.arbitrage_id,
            "base": arbitrage.base,
            "buy_exchange": opportunity.buy.exchange,
            "buy_symbol": opportunity.buy.symbol,
            "sell_exchange": opportunity.sell.exchange,
            "sell_symbol": opportunity.sell.symbol,
            "strategy": arbitrage.strategy,
            "state": step.what,
            "reason": step.reason,
            "amount": arbitrage.amount,
            "net": None if profit is None else profit.net,
            "currency": None if profit is None else profit.currency,
            "at": step.at,
        }


def base_of(fill: Fill, markets: Iterable[Market]) -> str:
    """Return the asset that was bought or sold."""
    return base_and_quote(fill.exchange, fill.symbol, markets)[0]


def fill_row(fill: Fill, arbitrage_id: str, base: str) -> Mapping[str, Any]:
    return {
        "kind": "fills",
        "fill_id": fill.fill_id,
        "arbitrage_id": arbitrage_id,
        "exchange": fill.exchange,
        "symbol": fill.symbol,
        "base": base,
        "side": fill.side,
        "price": fill.price,
        "amount": fill.amount,
        "cost": fill.cost,
        "fee": fill.fee,
        "fee_currency": fill.fee_currency,
        "filled_at": fill.filled_at,
    }


def rejection_row(rejection: Rejection, number: int) -> Mapping[str, Any]:
    """Return the row; `number`: how often rejections of this pair, reason and second were counted before."""
    return {
        "kind": "rejections",
        "rejection_id": rejection.rejection_id,
        "opportunity_id": rejection.opportunity_id,
        "base": rejection.base,
        "buy_exchange": rejection.buy_exchange,
        "sell_exchange": rejection.sell_exchange,
        "exchange": rejection.exchange,
        "reason": rejection.reason,
        "net_bps": rejection.net_bps,
        "expected_profit": rejection.expected_profit,
        "count": rejection.count,
        "number": number,
        "rejected_at": rejection.rejected_at,
    }
