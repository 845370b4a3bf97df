"""What an exchange takes as an order, and how far from a price one may stand."""

from decimal import Decimal

from market.instruments.markets import Market
from market.instruments.orders import LimitOrder, Side
from market.money import BPS, EXACT, Price, ceil_to_step, decimal_of_double, floor_to_step, steps_to_reach


def limit_price(market: Market, side: Side, price: Decimal, slack_bps: float) -> Price:
    """`price` widened by `slack_bps` in the order's favour of filling, on a tick and never past the widened price.

    At least one tick, however wide.
    """
    slack = decimal_of_double(slack_bps)
    if side == "buy":
        limit = floor_to_step(price * (BPS + slack) / BPS, market.tick_size)
    else:
        limit = ceil_to_step(price * (BPS - slack) / BPS, market.tick_size)
    return Price(max(limit, market.tick_size))


def minimum_order(market: Market, price: Decimal) -> Decimal:
    """Return the smallest amount, on lots, that the exchange takes as an order at `price`."""
    by_notional = steps_to_reach(market.minimum_notional, EXACT.multiply(price, market.lot_step))
    return max(by_notional, steps_to_reach(market.minimum_amount, market.lot_step), 1) * market.lot_step


def rule_broken(order: LimitOrder, market: Market) -> str | None:
    """Return the exchange's size rule that forbids the order, or None."""
    if order.amount <= 0 or order.amount % market.lot_step != 0:
        return f"amount {order.amount} is not a positive number of lots of {market.lot_step}"
    if order.price <= 0 or order.price % market.tick_size != 0:
        return f"price {order.price} is not a positive number of ticks of {market.tick_size}"
    if order.amount < market.minimum_amount:
        return f"amount {order.amount} is below the minimum of {market.minimum_amount}"
    if order.amount * order.price < market.minimum_notional:
        return f"notional {order.amount * order.price} is below the minimum of {market.minimum_notional}"
    return None
