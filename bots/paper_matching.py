"""How a local paper account fills an order: against the levels of one quote, price by price. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal

from market.fees import charged, fee_currency
from market.markets import Market
from market.money import ZERO, Amount, Price
from market.orders import Fill, LimitOrder
from market.quotes import Quote

FEE_STEP = Decimal("0.00000001")

Used = Mapping[Price, Decimal]
"""Price → base already taken from that level of the quote by earlier orders."""


@dataclass(frozen=True, slots=True)
class Execution:
    """What one level gives."""

    price: Price
    amount: Amount


def executions(order: LimitOrder, quote: Quote, used: Used) -> tuple[Execution, ...]:
    """Best level first, as far as limit price and what is left of each level allow."""
    levels = quote.asks if order.side == "buy" else quote.bids
    done: list[Execution] = []
    wanted: Decimal = order.amount
    for level in levels:
        is_beyond = level.price > order.price if order.side == "buy" else level.price < order.price
        if is_beyond or wanted == 0:
            break
        amount = min(wanted, level.amount - used.get(level.price, ZERO))
        if amount > 0:
            done.append(Execution(level.price, Amount(amount)))
            wanted -= amount
    return tuple(done)


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
