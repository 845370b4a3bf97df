"""How far from a price an order may stand."""

from decimal import Decimal

from market.markets import Market
from market.money import BPS, Price, ceil_to_step, floor_to_step
from market.orders import Side


def limit_price(market: Market, side: Side, price: Decimal, slack_bps: float) -> Price:
    """`price` widened by `slack_bps` in the order's favour of filling, on a tick and never past the widened price."""
    slack = Decimal(str(slack_bps))
    if side == "buy":
        return Price(floor_to_step(price * (BPS + slack) / BPS, market.tick_size))
    return Price(ceil_to_step(price * (BPS - slack) / BPS, market.tick_size))
