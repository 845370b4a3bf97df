"""How much of an opportunity to trade: both books walked together while each further unit still pays. Exact.

All amounts are *matched* amounts, base bought; the sell side orders `factor` of them (see `market.fees`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import floor, lcm
from typing import Literal

from market.fees import hold_of, sell_factor
from market.limits import limit_price
from market.markets import Market
from market.money import ZERO, Amount, Price, ceil_to_step, floor_to_step, total
from market.opportunities import FxRate
from market.orders import Side
from market.quotes import Level
from market.settings import Settings

SizingRefusal = Literal["too_small", "insufficient_balance"]


@dataclass(frozen=True, slots=True)
class BookSide:
    """One side of the trade. `free` is what may still be spent: quote currency to buy, base to sell; None: unknown."""

    side: Side
    market: Market
    levels: tuple[Level, ...]
    fee_rate: Decimal
    rate: FxRate | None
    free: Decimal | None = None

    def settled(self, price: Decimal) -> Fraction:
        """Settlement currency paid, or received, for one unit at `price`."""
        if self.rate is None:
            return Fraction(price)
        paid_side = self.rate.ask if (self.side == "buy") != self.rate.inverted else self.rate.bid
        return Fraction(price) / Fraction(paid_side) if self.rate.inverted else Fraction(price) * Fraction(paid_side)

    def limit(self, price: Decimal, slack_bps: float) -> Price:
        return limit_price(self.market, self.side, price, slack_bps)


@dataclass(frozen=True, slots=True)
class SizedLeg:
    """One leg's order and what it needs. `displayed`: base shown by the quote at the limit price or better."""

    amount: Amount
    worst_price: Price
    limit_price: Price
    hold_currency: str
    hold_per_unit: Decimal
    displayed: Decimal


@dataclass(frozen=True, slots=True)
class Sizing:
    """The matched amount, the grid that both exchanges' lots fit on, and both legs."""

    amount: Amount
    amount_step: Decimal
    minimum_amount: Decimal
    factor: Decimal
    buy: SizedLeg
    sell: SizedLeg


@dataclass(frozen=True, slots=True)
class _Stretch:
    """A stretch of the walk, (start, end] in matched units, at one buy level and one sell level."""

    start: Fraction
    end: Fraction
    buy: Level
    sell: Level


def net_bps(buy: BookSide, sell: BookSide, buy_price: Decimal, sell_price: Decimal) -> Fraction:
    """What one unit bought and sold at these prices brings after both fees and FX, in bps of the buy side. Exact."""
    cost, proceeds = buy.settled(buy_price), sell.settled(sell_price)
    fees = cost * Fraction(buy.fee_rate) + proceeds * Fraction(sell.fee_rate)
    return (proceeds - cost - fees) * 10_000 / cost


def common_step(one: Decimal, other: Decimal) -> Decimal:
    """The least step that is a whole number of both."""
    first, second = Fraction(one), Fraction(other)
    scale = lcm(first.denominator, second.denominator)
    return Decimal(lcm(int(first * scale), int(second * scale))) / Decimal(scale)


def size(buy: BookSide, sell: BookSide, settings: Settings) -> Sizing | SizingRefusal:
    """The largest amount on both lots within depth, `min_net_bps` at the margin, `max_notional` and free balances."""
    factor = sell_factor(buy.market, buy.fee_rate, sell.market, sell.fee_rate)
    step = common_step(buy.market.lot_step, sell.market.lot_step)
    minimum = _minimum(buy, sell, settings, factor, step)
    amount = _floored(_reach(buy, sell, settings, factor, with_balances=True), step)
    if amount < minimum:
        unlimited = _floored(_reach(buy, sell, settings, factor, with_balances=False), step)
        return "too_small" if unlimited < minimum else "insufficient_balance"
    sell_amount = floor_to_step(amount * factor, sell.market.lot_step)
    slack = settings.max_slippage_bps
    return Sizing(Amount(amount), step, minimum, factor, _sized(buy, amount, slack), _sized(sell, sell_amount, slack))


def _reach(buy: BookSide, sell: BookSide, settings: Settings, factor: Decimal, with_balances: bool) -> Fraction:
    """How far the walk goes before something forbids the next unit. What is allowed shrinks with every stretch."""
    reached = Fraction(0)
    for stretch in _stretches(buy.levels, sell.levels, Fraction(factor)):
        if net_bps(buy, sell, stretch.buy.price, stretch.sell.price) < Fraction(str(settings.min_net_bps)):
            break
        caps = [stretch.end, _notional_cap(buy, sell, stretch, settings)]
        if with_balances:
            caps += _balance_caps(buy, sell, stretch, settings, factor)
        reached = max(reached, min(caps))
        if reached < stretch.end:
            break
    return reached


def _stretches(asks: tuple[Level, ...], bids: tuple[Level, ...], factor: Fraction) -> Iterator[_Stretch]:
    at = Fraction(0)
    asks_left, bids_left = list(asks), list(bids)
    ask_end = bid_end = Fraction(0)
    while asks_left and bids_left:
        if ask_end <= at:
            ask_end += Fraction(asks_left[0].amount)
        if bid_end <= at:
            bid_end += Fraction(bids_left[0].amount) / factor
        end = min(ask_end, bid_end)
        yield _Stretch(at, end, asks_left[0], bids_left[0])
        at = end
        if ask_end == at:
            asks_left.pop(0)
        if bid_end == at:
            bids_left.pop(0)


def _notional_cap(buy: BookSide, sell: BookSide, stretch: _Stretch, settings: Settings) -> Fraction:
    """By the dearer of both legs: the buy at its limit price, the sell at the best bid."""
    buy_limit = buy.limit(stretch.buy.price, settings.max_slippage_bps)
    unit = max(buy.settled(buy_limit), sell.settled(sell.levels[0].price))
    return Fraction(settings.max_notional) / unit


def _balance_caps(
    buy: BookSide, sell: BookSide, stretch: _Stretch, settings: Settings, factor: Decimal
) -> list[Fraction]:
    caps = []
    for side, price, per_matched in ((buy, stretch.buy.price, Fraction(1)), (sell, stretch.sell.price, factor)):
        if side.free is not None:
            limit = side.limit(price, settings.max_slippage_bps)
            _, per_unit = hold_of(side.market, side.side, side.fee_rate, limit)
            caps.append(max(Fraction(0), Fraction(side.free)) / (Fraction(per_unit) * Fraction(per_matched)))
    return caps


def _minimum(buy: BookSide, sell: BookSide, settings: Settings, factor: Decimal, step: Decimal) -> Decimal:
    """The same for every amount of this opportunity: notionals count at the lowest price that an order may carry."""
    lowest_sell = sell.limit(sell.levels[-1].price, settings.max_slippage_bps)
    buy_least = _least_order(buy.market, buy.levels[0].price)
    sell_least = Fraction(ceil_to_step(_least_order(sell.market, lowest_sell), sell.market.lot_step)) / Fraction(factor)
    return max(ceil_to_step(buy_least, step), -floor(-sell_least / Fraction(step)) * step, step)


def _least_order(market: Market, price: Decimal) -> Decimal:
    return max(market.minimum_amount, ceil_to_step(market.minimum_notional / price, market.lot_step))


def _floored(number: Fraction, step: Decimal) -> Decimal:
    return floor(number / Fraction(step)) * step


def _sized(side: BookSide, amount: Decimal, slack_bps: float) -> SizedLeg:
    worst = worst_price(side.levels, amount)
    limit = side.limit(worst, slack_bps)
    currency, per_unit = hold_of(side.market, side.side, side.fee_rate, limit)
    return SizedLeg(Amount(amount), worst, limit, currency, per_unit, displayed_amount(side.side, side.levels, limit))


def worst_price(levels: tuple[Level, ...], amount: Decimal) -> Price:
    """Price of the last level that an order of `amount` reaches; the last one known where it reaches further."""
    reached = ZERO
    for level in levels:
        reached += level.amount
        if reached >= amount:
            return level.price
    return levels[-1].price


def displayed_amount(side: Side, levels: tuple[Level, ...], limit: Decimal) -> Decimal:
    """Base shown at `limit` or better."""
    return total(level.amount for level in levels if (level.price <= limit if side == "buy" else level.price >= limit))
