"""Matches an order of a paper account against the levels of one quote. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal

from exchanges.paper.depth import Taken, TakenDepth, levels_for
from market.instruments.fees import charged, fee_currency
from market.instruments.markets import Market
from market.instruments.order_matching import filled_offers
from market.instruments.orders import Fill, LimitOrder, OrderReport
from market.money import Amount, Price, floor_to_step, total
from market.prices.quotes import Quote
from market.trade.unwinding import Markets

FEE_STEP = Decimal("0.00000001")


@dataclass(frozen=True, slots=True)
class Execution:
    """A fill at one level, and the amount that the level shows."""

    price: Price
    amount: Amount
    shown: Decimal


def executions(order: LimitOrder, quote: Quote, depth: TakenDepth, market: Market) -> tuple[Execution, ...]:
    """Best level first, in whole lots, within the limit price and the remaining amount of each level."""
    offers = (
        (level, level.price, floor_to_step(depth.left(order.symbol, order.side, level), market.lot_step))
        for level in levels_for(order.side, quote)
    )
    found = filled_offers(order.side, order.price, order.amount, offers)
    return tuple(Execution(level.price, Amount(amount), level.amount) for level, amount in found)


def taken_by(found: Iterable[Execution]) -> tuple[Taken, ...]:
    """Return the depth that these executions take."""
    return tuple(Taken(one.price, one.shown, one.amount) for one in found)


def fill_of(order: LimitOrder, execution: Execution, market: Market, fee_rate: Decimal, fill_id: str, now: int) -> Fill:
    """Round the fee up to 8 digits, a rebate (a fee below 0) down; cost is exact."""
    cost = execution.price * execution.amount
    return Fill(
        fill_id=fill_id,
        exchange=order.exchange,
        symbol=order.symbol,
        side=order.side,
        price=execution.price,
        amount=execution.amount,
        cost=cost,
        fee=(charged(market, order.side, cost, execution.amount) * fee_rate).quantize(FEE_STEP, rounding=ROUND_CEILING),
        fee_currency=fee_currency(market, order.side),
        filled_at=now,
    )


def report_of(
    order: LimitOrder, order_id: str, found: tuple[Execution, ...], markets: Markets, fee_rate: Decimal, now: int
) -> OrderReport:
    """Return the final report with these executions, filled at `now`; fill ids derive from the order's id.

    An order without executions may be in a market that is no longer in `markets`.
    """
    fills = tuple(
        fill_of(order, one, markets[order.exchange, order.symbol], fee_rate, f"{order_id}-{number}", now)
        for number, one in enumerate(found, start=1)
    )
    return OrderReport(order_id, is_final=True, filled=Amount(total(fill.amount for fill in fills)), fills=fills)
