"""Realised P&L of a cycle and its parts, in the settlement currency: parts that sum to it, by exchange. Exact.

Everything is valued in the cycle's first currency at the best prices seen: a unit of a later currency at what it cost
to come to it. So a leg that fills at its best price neither gains nor loses, and the gain is where the last leg
brings more than that; currency that is left over carries no profit of its own, as the base of a pair.
"""

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

from market.money import EXACT
from market.trade.arbitrages import ProfitAndLoss
from market.trade.cycle_trades import CycleOrder, CycleTrade
from market.trade.profit import added_by_exchange, rounded_profit

ONE = Fraction(1)


def cycle_profit(trade: CycleTrade) -> ProfitAndLoss | None:
    """Return the parts as those of pairs. `gross`: what the last leg's proceeds hold beyond what they cost at the best
    prices; `fx` is 0, since FX legs are legs. None if a fee was taken in a currency that is not on the path."""
    values, last = _values(trade)
    flows = trade.flows
    if not flows.keys() <= values.keys():
        return None
    legs = [order for order in trade.orders if order.step == "leg"]
    thirds = [order for order in trade.orders if order.step != "leg" and order.fills]
    decays = [(order.market.exchange, _decay(order, trade, values, last)) for order in legs]
    moves = [(order.market.exchange, _moved(order, trade, values, last)) for order in legs]
    lacking = (trade.cycle.legs[-1].market.exchange, _lacking(trade, flows, values, last))
    unwinding = [(order.market.exchange, _moved(order, trade, values, last)) for order in thirds]
    if thirds:
        # what the others left is in what the last one cost
        unwinding.append((thirds[-1].market.exchange, lacking[1]))
    parts = {
        "gross": added_by_exchange((_gross(trade, last), *(() if thirds else (lacking,)))),
        "latency_decay": added_by_exchange(decays),
        "slippage": added_by_exchange([*moves, *((exchange, -decay) for exchange, decay in decays)]),
        "fees": added_by_exchange((order.market.exchange, -_fees(order, values)) for order in trade.orders),
        "fx": {},
        "unwinding": added_by_exchange(unwinding),
    }
    unit = Fraction(trade.unit)
    settled = {name: {exchange: part * unit for exchange, part in own.items()} for name, own in parts.items()}
    sums = {name: sum(own.values(), Fraction(0)) for name, own in settled.items()}
    return rounded_profit(trade.currency, settled, sums, sum(sums.values(), Fraction(0)))


def turnover_of(trade: CycleTrade) -> Fraction:
    """Return the cost of all fills, bought and sold, in the settlement currency, at the best prices seen."""
    values, _ = _values(trade)
    costs = (Fraction(order.cost) * values[order.market.quote_currency] for order in trade.orders)
    return sum(costs, Fraction(0)) * Fraction(trade.unit)


def value_in_settlement(trade: CycleTrade, currency: str, amount: Decimal) -> Fraction:
    """Return what an amount of a currency on the path is worth. Raises KeyError for another currency."""
    return Fraction(amount) * _values(trade)[0][currency] * Fraction(trade.unit)


def _values(trade: CycleTrade) -> tuple[dict[str, Fraction], Fraction]:
    """Return what a unit of each currency on the path cost at the best prices, in the first one; and what a unit that
    the last leg brings cost."""
    values, worth = {trade.cycle.currency: ONE}, ONE
    for leg, price in zip(trade.cycle.legs, trade.prices, strict=True):
        worth *= Fraction(price) if leg.side == "buy" else 1 / Fraction(price)
        values.setdefault(leg.brings, worth)
    return values, worth


def _gross(trade: CycleTrade, last: Fraction) -> tuple[str, Fraction]:
    """Return where the last leg is, and what it brings at the best price beyond what that cost."""
    leg, number = trade.cycle.legs[-1], len(trade.cycle.legs) - 1
    proceeds = Fraction(trade.net_of(number)) * (Fraction(trade.prices[number]) if leg.side == "sell" else 1)
    return leg.market.exchange, proceeds * (1 - last)


def _lacking(
    trade: CycleTrade, flows: Mapping[str, Decimal], values: Mapping[str, Fraction], last: Fraction
) -> Fraction:
    """Return by how much what lacks counts more than it cost: it was sold without having been bought, which is no
    gain."""
    lacking = (
        Fraction(flow) * values[currency]
        for currency, flow in flows.items()
        if flow < 0 and currency != trade.cycle.currency
    )
    return sum(lacking, Fraction(0)) * (1 / last - 1)


def _moved(order: CycleOrder, trade: CycleTrade, values: Mapping[str, Fraction], last: Fraction) -> Fraction:
    """Return what an order brings, less what it gives, fees apart."""
    return _at(order, trade, values, last, order.cost)


def _decay(order: CycleOrder, trade: CycleTrade, values: Mapping[str, Fraction], last: Fraction) -> Fraction:
    """Return the same as if all of it had filled at its best fill."""
    if not order.fills:
        return Fraction(0)
    prices = [fill.price for fill in order.fills]
    best = min(prices) if order.side == "buy" else max(prices)
    return _at(order, trade, values, last, EXACT.multiply(best, order.filled))


def _at(
    order: CycleOrder, trade: CycleTrade, values: Mapping[str, Fraction], last: Fraction, cost: Decimal
) -> Fraction:
    market, sign, filled = order.market, 1 if order.side == "buy" else -1, Fraction(order.filled)
    is_last, start = order.number == len(trade.cycle.legs) - 1, trade.cycle.currency
    if is_last and market.quote_currency == start:
        return sign * (filled * Fraction(trade.prices[order.number]) - Fraction(cost))
    base = filled * (last if is_last and market.base == start else values[market.base])
    return sign * (base - Fraction(cost) * values[market.quote_currency])


def _fees(order: CycleOrder, values: Mapping[str, Fraction]) -> Fraction:
    return sum((Fraction(fill.fee) * values[fill.fee_currency] for fill in order.fills), Fraction(0))
