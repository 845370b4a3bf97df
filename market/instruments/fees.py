"""Taker fees: which currency an exchange takes them in, and what follows for the amounts of an order."""

from decimal import ROUND_DOWN, Decimal

from market.instruments.markets import Market
from market.instruments.orders import Side
from market.money import ZERO

_FACTOR_DIGITS = Decimal("1E-12")


def fee_currency(market: Market, side: Side) -> str:
    """Which of its two currencies the market takes the fee of such an order in."""
    is_base = market.fee_side == "base" or (market.fee_side == "received" and side == "buy")
    return market.base if is_base else market.quote_currency


def base_rate(market: Market, side: Side, fee_rate: Decimal) -> Decimal:
    """Return the fee as a fraction of the amount, 0 if it is taken in quote currency."""
    return fee_rate if fee_currency(market, side) == market.base else ZERO


def quote_rate(market: Market, side: Side, fee_rate: Decimal) -> Decimal:
    """Return the fee as a fraction of the notional, 0 if it is taken in base."""
    return fee_rate - base_rate(market, side, fee_rate)


def charged(market: Market, side: Side, cost: Decimal, amount: Decimal) -> Decimal:
    """Return what the fee is a fraction of, in `fee_currency`."""
    return amount if fee_currency(market, side) == market.base else cost


def sell_factor(buy_market: Market, buy_fee: Decimal, sell_market: Market, sell_fee: Decimal) -> Decimal:
    """How much to sell per unit bought, so that no base is left over: at most 1, cut after 12 digits. What a rebate in
    base brings stays, since it comes with the fill and not before."""
    factor = (1 - base_rate(buy_market, "buy", buy_fee)) / (1 + base_rate(sell_market, "sell", sell_fee))
    return Decimal(1) if factor >= 1 else factor.quantize(_FACTOR_DIGITS, rounding=ROUND_DOWN)


def hold_of(market: Market, side: Side, fee_rate: Decimal, limit_price: Decimal) -> tuple[str, Decimal]:
    """Return the currency that an order needs, and how much of it per unit of its amount at worst; a rebate comes too
    late."""
    charged_rate = max(fee_rate, ZERO)
    if side == "buy":
        return market.quote_currency, limit_price * (1 + quote_rate(market, side, charged_rate))
    return market.base, 1 + base_rate(market, side, charged_rate)
