"""How a local paper account fills an order: against the levels of one quote, price by price. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal

from exchanges.paper.paper_depth import Taken, TakenDepth, levels_for
from market.instruments.fees import charged, fee_currency
from market.instruments.markets import Market
from market.instruments.orders import Fill, LimitOrder, OrderReport
from market.money import Amount, Price, floor_to_step, total
from market.prices.quotes import Quote
from market.trade.leg_planning import Markets

FEE_STEP = Decimal("0.00000001")


@dataclass(frozen=True, slots=True)
class Execution:
    """What one level gives, out of the amount that it shows."""

    price: Price
    amount: Amount
    shown: Decimal


def executions(order: LimitOrder, quote: Quote, depth: TakenDepth, market: Market) -> tuple[Execution, ...]:
    """Best level first, in whole lots, as far as limit price and what is left of each level allow."""
    done: list[Execution] = []
    wanted: Decimal = order.amount
    for level in levels_for(order.side, quote):
        is_beyond = level.price > order.price if order.side == "buy" else level.price < order.price
        if is_beyond or wanted == 0:
            break
        left = floor_to_step(depth.left(order.symbol, order.side, level), market.lot_step)
        amount = min(wanted, left)
        if amount > 0:
            done.append(Execution(level.price, Amount(amount), level.amount))
            wanted -= amount
    return tuple(done)


def taken_by(found: Iterable[Execution]) -> tuple[Taken, ...]:
    """What is gone from the levels after these."""
    return tuple(Taken(one.price, one.shown, one.amount) for one in found)


def fill_of(order: LimitOrder, execution: Execution, market: Market, fee_rate: Decimal, fill_id: str, now: int) -> Fill:
    """The fee is rounded up to 8 digits; cost is exact."""
    cost = execution.price * execution.amount
    return Fill(
        fill_id=fill_id,
        exchange=order.exchange,
        symbol=order.symbol,
        side=order.side,
        price=execution.price,
        amount=execution.amount,
        cost=cost,
        fee=(charged(market, order.side, cost, execution.amount) * fee_rate).quantize(FEE_STEP, rounding=ROUND_UP),
        fee_currency=fee_currency(market, order.side),
        filled_at=now,
    )


def report_of(
    order: LimitOrder, order_id: str, found: tuple[Execution, ...], markets: Markets, fee_rate: Decimal, now: int
) -> OrderReport:
    """Of an order that ended with these, filled at `now`; the exchange numbers its fills by the order's id.

    One that found nothing may be of a market that is not among `markets` any more.
    """
    fills = tuple(
        fill_of(order, one, markets[order.exchange, order.symbol], fee_rate, f"{order_id}-{number}", now)
        for number, one in enumerate(found, start=1)
    )
    return OrderReport(order_id, is_final=True, filled=Amount(total(fill.amount for fill in fills)), fills=fills)
