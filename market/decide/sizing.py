"""Sizing: walks both books and rounds the amount to what both exchanges accept. Exact.

All amounts are *matched* amounts, base bought; the sell side orders `factor` of them (see `market.instruments.fees`).
"""

from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil, lcm
from typing import Literal

from market.decide.book_walk import Walk, WalkLimits, WalkTerms, settlement_factors, walk_books
from market.decide.settings import Settings
from market.instruments.fees import hold_of, quote_rate, sell_factor
from market.instruments.markets import Market
from market.instruments.order_rules import limit_price, minimum_order
from market.instruments.orders import Side
from market.money import (
    EXACT,
    ZERO,
    Amount,
    Price,
    decimal_of_double,
    decimal_of_whole,
    floor_to_step,
    steps_to_reach,
    total,
)
from market.prices.opportunities import FxRate
from market.prices.quotes import Level

SizingRejection = Literal["too_small", "limit_reached", "insufficient_balance"]
"""`limit_reached`: `notional_cap` leaves too little; `insufficient_balance`: all else would do."""

NOTIONAL_DIGITS = 8


@dataclass(frozen=True, slots=True)
class SizingSide:
    """One side of the trade. `free` is what may still be spent: quote currency to buy, base to sell; None: unknown."""

    side: Side
    market: Market
    levels: tuple[Level, ...]
    fee_rate: Decimal
    rate: FxRate | None
    free: Decimal | None = None

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
    """The matched amount, the grid that both exchanges' lots fit on, both legs, and the walk that ends there.

    `walk.profit` is what the amount brings at the levels shown, base that no lot takes counted as sold with the rest.
    """

    amount: Amount
    amount_step: Decimal
    minimum_amount: Decimal
    factor: Decimal
    unit_notional: Decimal
    """What one unit counts if notional is limited, in settlement currency: the dearer leg, rounded up."""
    buy: SizedLeg
    sell: SizedLeg
    walk: Walk


def walk_terms(buy: SizingSide, sell: SizingSide, settings: Settings, least: float | None = None) -> WalkTerms:
    """Return the terms on which both are traded: a unit pays if it brings at least the threshold. `least`: in place of
    the settings' own."""
    if least is None:
        least = settings.threshold(buy.market.base, buy.market.exchange, sell.market.exchange)
    return _terms(buy, sell, decimal_of_double(least))


@lru_cache(maxsize=1_024)
def common_step(one: Decimal, other: Decimal) -> Decimal:
    """Return the least step that is a whole number of both."""
    (first, first_parts), (second, second_parts) = one.as_integer_ratio(), other.as_integer_ratio()
    parts = lcm(first_parts, second_parts)
    whole = lcm(first * (parts // first_parts), second * (parts // second_parts))
    return EXACT.divide(decimal_of_whole(whole), decimal_of_whole(parts))


def size(
    buy: SizingSide,
    sell: SizingSide,
    settings: Settings,
    notional_cap: Decimal | None = None,
    terms: WalkTerms | None = None,
) -> Sizing | SizingRejection:
    """Return the largest amount on both exchanges' lots all of whose units bring at least the threshold at the levels
    shown, within depth, free balances, `max_notional` and `notional_cap` (both in settlement currency).

    No amount that these rules allow brings more, as long as the threshold is not negative, since each unit adds to it.
    At 0 it is the greatest profit of all lots but for one case: if the units that pay end inside a lot, that whole
    lot may still gain, and is left, since a leg's limit price must not reach into a loss. `terms`: those of
    `walk_terms`, if they are known already.
    """
    terms = terms or walk_terms(buy, sell, settings)
    step = common_step(buy.market.lot_step, sell.market.lot_step)
    minimum = minimum_of(buy, sell, settings, terms.factor, step)
    if _shows_less(buy.levels, minimum) or _shows_less(sell.levels, EXACT.multiply(minimum, terms.factor)):
        return "too_small"
    if _lacks_balance_alone(buy, sell, settings, notional_cap, terms, minimum):
        return "insufficient_balance"
    walk = walk_books(buy.levels, sell.levels, terms, walk_limits(buy, sell, settings, notional_cap))
    amount = walk.floored(step)
    if amount < minimum:
        return _shortage(buy, sell, settings, notional_cap, terms, minimum)
    sell_amount = floor_to_step(amount * terms.factor, sell.market.lot_step)
    walk = walk.cut(amount)
    legs = (
        _sized(buy, amount, walk.steps[-1].ask.price, settings),
        _sized(sell, sell_amount, walk.bid_reached(sell_amount).price, settings),
    )
    unit = _unit_notional(buy, sell, legs[0].limit_price)
    return Sizing(Amount(amount), step, minimum, terms.factor, unit, *legs, walk)


def _shows_less(levels: tuple[Level, ...], least: Decimal) -> bool:
    """Return whether a book shows less in all, so that no walk reaches it and nothing else matters."""
    shown = ZERO
    for level in levels:
        shown = EXACT.add(shown, max(level.amount, ZERO))
        if shown >= least:
            return False
    return True


def _lacks_balance_alone(
    buy: SizingSide,
    sell: SizingSide,
    settings: Settings,
    notional_cap: Decimal | None,
    terms: WalkTerms,
    minimum: Decimal,
) -> bool:
    """Return whether it is certain without a walk that only what is free leaves less than the minimum: the best levels
    pay and show it, and notional allows it there. An account that has run dry rejects thousands in a row."""
    multiply, ask, bid = EXACT.multiply, buy.levels[0], sell.levels[0]
    limit = buy.limit(ask.price, settings.max_slippage_bps)
    sold = multiply(minimum, terms.factor)
    if not (is_below(buy, minimum, limit) or is_below(sell, sold, limit)):
        return False
    if multiply(ask.amount, terms.factor) < sold or bid.amount < sold or not terms.pays(ask.price, bid.price):
        return False
    notional = settings.max_notional if notional_cap is None else min(settings.max_notional, notional_cap)
    for side, price in ((buy, limit), (sell, bid.price)):
        times, over = settlement_factors(side.rate, side.side)
        if multiply(notional, over) < multiply(multiply(minimum, price), times):
            return False
    return True


def is_below(side: SizingSide, amount: Decimal, limit: Decimal) -> bool:
    """Return whether what is free cannot hold an order of `amount` at `limit`, the lowest that it may have to pay."""
    if side.free is None:
        return False
    _, per_unit = hold_of(side.market, side.side, side.fee_rate, Decimal(1))
    held = EXACT.multiply(amount, per_unit)
    return side.free < (EXACT.multiply(held, limit) if side.side == "buy" else held)


def _shortage(
    buy: SizingSide,
    sell: SizingSide,
    settings: Settings,
    notional_cap: Decimal | None,
    terms: WalkTerms,
    minimum: Decimal,
) -> SizingRejection:
    """Return what it is that leaves less than the minimum: depth and settings first, balances last."""
    rich_buy, rich_sell = replace(buy, free=None), replace(sell, free=None)
    bounds: dict[SizingRejection, Decimal | None] = {"too_small": None, "limit_reached": notional_cap}
    for reason, bound in bounds.items():
        if (
            walk_books(buy.levels, sell.levels, terms, walk_limits(rich_buy, rich_sell, settings, bound)).amount
            < minimum
        ):
            return reason
    return "insufficient_balance"


def _terms(buy: SizingSide, sell: SizingSide, min_bps: Decimal | None) -> WalkTerms:
    return WalkTerms(
        buy_fee=quote_rate(buy.market, "buy", buy.fee_rate),
        sell_fee=quote_rate(sell.market, "sell", sell.fee_rate),
        buy_rate=buy.rate,
        sell_rate=sell.rate,
        factor=sell_factor(buy.market, buy.fee_rate, sell.market, sell.fee_rate),
        min_bps=min_bps,
    )


def walk_limits(buy: SizingSide, sell: SizingSide, settings: Settings, notional_cap: Decimal | None) -> WalkLimits:
    """Notional counts for the dearer of both legs: the buy at its limit price, the sell at the best bid."""
    notional = settings.max_notional if notional_cap is None else min(settings.max_notional, notional_cap)
    times, over = settlement_factors(buy.rate, "buy")
    budget = _ratio(EXACT.multiply(notional, over), times)
    if buy.free is not None:
        _, per_paid = hold_of(buy.market, "buy", buy.fee_rate, Decimal(1))
        budget = min(budget, _ratio(buy.free, per_paid))
    times, over = settlement_factors(sell.rate, "sell")
    most = _ratio(EXACT.multiply(notional, over), EXACT.multiply(sell.levels[0].price, times))
    if sell.free is not None:
        _, per_sold = hold_of(sell.market, "sell", sell.fee_rate, sell.levels[0].price)
        factor = sell_factor(buy.market, buy.fee_rate, sell.market, sell.fee_rate)
        most = min(most, _ratio(sell.free, EXACT.multiply(per_sold, factor)))
    return WalkLimits(most, budget, lambda ask: buy.limit(ask, settings.max_slippage_bps))


def _ratio(number: Decimal, over: Decimal) -> Fraction:
    """0 if `number` is negative."""
    return Fraction(max(number, ZERO)) / Fraction(over)


def _unit_notional(buy: SizingSide, sell: SizingSide, buy_limit: Decimal) -> Decimal:
    """As `walk_limits` counts it."""
    values = []
    for book, price in ((buy, buy_limit), (sell, sell.levels[0].price)):
        times, over = settlement_factors(book.rate, book.side)
        values.append(Fraction(EXACT.multiply(price, times)) / Fraction(over))
    return decimal_of_whole(ceil(max(values) * 10**NOTIONAL_DIGITS)).scaleb(-NOTIONAL_DIGITS)


def minimum_of(buy: SizingSide, sell: SizingSide, settings: Settings, factor: Decimal, step: Decimal) -> Decimal:
    """Return the same for every amount of this opportunity: notionals count at the lowest price that an order may
    carry."""
    slack = settings.max_slippage_bps
    buy_least = minimum_order(buy.market, buy.limit(buy.levels[0].price, slack))
    sell_least = minimum_order(sell.market, sell.limit(sell.levels[-1].price, slack))
    lots = steps_to_reach(buy_least, step), steps_to_reach(sell_least, EXACT.multiply(factor, step))
    return max(*lots, 1) * step


def _sized(side: SizingSide, amount: Decimal, worst: Price, settings: Settings) -> SizedLeg:
    limit = side.limit(worst, settings.max_slippage_bps)
    currency, per_unit = hold_of(side.market, side.side, side.fee_rate, limit)
    return SizedLeg(Amount(amount), worst, limit, currency, per_unit, displayed_amount(side.side, side.levels, limit))


def displayed_amount(side: Side, levels: tuple[Level, ...], limit: Decimal) -> Decimal:
    """Return the base shown at `limit` or better."""
    return total(level.amount for level in levels if (level.price <= limit if side == "buy" else level.price >= limit))
