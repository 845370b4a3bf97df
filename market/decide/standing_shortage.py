"""A shortage that lasts: for which prices and amounts `sizing.size` goes on to answer `insufficient_balance` while
balances, settings and limits stay as they are. Pure.

An account that has run dry refuses thousands of opportunities in a row. What makes each of them a shortage is monotone
in the prices, so proving it at the corners of a range proves it inside. The corners are computed by the functions of
sizing itself.
"""

from dataclasses import dataclass, replace
from decimal import Decimal

from market.decide.book_walk import WalkTerms
from market.decide.settings import Settings
from market.decide.sizing import SizingRejection, SizingSide, common_step, is_below, minimum_of
from market.money import EXACT, Price
from market.prices.quotes import Level
from market.prices.shown_sides import ShownSide

WIDTHS = (Decimal("0.01"), Decimal("0.001"))
"""How far prices may move, as a share of those that were seen; the first that is proved."""
MARGIN = 1 + 1e-12
"""Products of a few doubles are off by 1e-15 of themselves."""


@dataclass(frozen=True, slots=True)
class PriceRange:
    """Best prices strictly between `low` and `high`."""

    low: Decimal
    high: Decimal

    @classmethod
    def about(cls, price: Decimal, width: Decimal) -> "PriceRange":
        return cls(price * (1 - width), price * (1 + width))


@dataclass(frozen=True, slots=True)
class StandingShortage:
    """What must hold of the best levels, in doubles. A number whose double is strictly above the double of another one
    is above it, since rounding keeps the order."""

    asks: PriceRange
    bids: PriceRange
    """Of all bids, the last one too, from above `low`."""
    ask_low: float
    ask_high: float
    bid_low: float
    bid_high: float
    ask_amount: float
    bid_amount: float
    received: float
    required: float
    small_ask: float
    small_bid: float
    """A book that shows less in all is too small, whatever is free."""

    def reason(self, asks: ShownSide, bids: ShownSide) -> SizingRejection | None:
        """Return what sizing answers for certain for an opportunity whose books are sound and that uses no FX rate."""
        if self.holds(asks, bids):
            return "insufficient_balance"
        return "too_small" if self.is_small(asks, bids) else None

    def spans(self, asks: ShownSide, bids: ShownSide) -> bool:
        """Return whether prices are inside."""
        return self.ask_low < asks.price < self.ask_high and self.bid_low < bids.last and bids.price < self.bid_high

    def holds(self, asks: ShownSide, bids: ShownSide) -> bool:
        """Return whether a balance is short for certain, if the books are sound and use no FX rate."""
        return self._pays(asks, bids) and asks.amount > self.ask_amount and bids.amount > self.bid_amount

    def is_small(self, asks: ShownSide, bids: ShownSide) -> bool:
        """Return whether a book of one level is too small for certain, if the books are sound and use no FX rate."""
        is_small = (asks.last == asks.price and asks.amount < self.small_ask) or (
            bids.last == bids.price and bids.amount < self.small_bid
        )
        return is_small and self._pays(asks, bids)

    def _pays(self, asks: ShownSide, bids: ShownSide) -> bool:
        return self.spans(asks, bids) and bids.price * self.received > asks.price * self.required * MARGIN


def standing_shortage(
    buy: SizingSide, sell: SizingSide, settings: Settings, notional_cap: Decimal | None, terms: WalkTerms
) -> StandingShortage | None:
    """Return the range about these books in which only a balance is short of the minimum; None if none is proved.

    The arguments are those of `sizing.size`, by which opportunities of the same pair are sized.
    """
    if buy.rate is not None or sell.rate is not None:
        return None
    for width in WIDTHS:
        asks, bids = (PriceRange.about(side.levels[0].price, width) for side in (buy, sell))
        found = _proved(buy, sell, settings, notional_cap, terms, asks, bids)
        if found is not None:
            return found
    return None


def _proved(
    buy: SizingSide,
    sell: SizingSide,
    settings: Settings,
    notional_cap: Decimal | None,
    terms: WalkTerms,
    asks: PriceRange,
    bids: PriceRange,
) -> StandingShortage | None:
    step = common_step(buy.market.lot_step, sell.market.lot_step)
    # the lower the prices, the more an order has to be of
    most, least = (
        minimum_of(_at(buy, ask), _at(sell, bid), settings, terms.factor, step)
        for ask, bid in ((asks.low, bids.low), (asks.high, bids.high))
    )
    low, high = (buy.limit(price, settings.max_slippage_bps) for price in (asks.low, asks.high))
    least_sold, most_sold = (EXACT.multiply(amount, terms.factor) for amount in (least, most))
    if not (is_below(buy, least, low) or is_below(sell, least_sold, low)):
        return None
    notional = settings.max_notional if notional_cap is None else min(settings.max_notional, notional_cap)
    if any(notional < EXACT.multiply(most, price) for price in (high, bids.high)):
        return None
    received, required = terms.measures
    return StandingShortage(
        *(asks, bids, float(asks.low), float(asks.high), float(bids.low), float(bids.high)),
        *(float(most), float(most_sold), float(received), float(required), float(least), float(least_sold)),
    )


def _at(side: SizingSide, price: Decimal) -> SizingSide:
    return replace(side, levels=(Level(Price(price), side.levels[0].amount),))
