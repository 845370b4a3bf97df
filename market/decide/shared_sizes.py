"""Sizings that many runs over one recording share. A sweep sizes the same books under the same limits again and again;
what differs between its sets is mostly not what sizing looks at. Exact: what is shared is what `size` answers."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import ceil

from market.decide.book_walk import WalkTerms
from market.decide.settings import Settings
from market.decide.sizing import Sizing, SizingRejection, SizingSide, size, walk_limits
from market.instruments.fees import hold_of, sell_factor
from market.money import EXACT, decimal_of_whole

Size = Callable[[SizingSide, SizingSide, Settings, Decimal | None, WalkTerms], Sizing | SizingRejection]
"""`market.decide.sizing.size`, or something that answers the same."""

MOST = 50_000
"""Sizings that are kept: about 100 MB."""
DIGITS = 12


@dataclass(frozen=True, slots=True)
class _Sized:
    """What `size` answers if no balance limits it, and from what balances on none does."""

    answer: Sizing | SizingRejection
    quote: Decimal
    base: Decimal
    kept: tuple[object, ...]
    """What the key names by identity, which therefore is no other object's."""


class SharedSizes:
    """A `Size` that remembers. For books without FX rates, that are the same objects in each run."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], _Sized] = {}

    def __call__(
        self, buy: SizingSide, sell: SizingSide, settings: Settings, notional_cap: Decimal | None, terms: WalkTerms
    ) -> Sizing | SizingRejection:
        if buy.rate is not None or sell.rate is not None:
            return size(buy, sell, settings, notional_cap, terms)
        if notional_cap is not None and notional_cap >= settings.max_notional:
            # it limits nothing
            notional_cap = None
        kept = buy.levels, sell.levels, buy.market, sell.market
        key = (
            *map(id, kept),
            *(buy.fee_rate, sell.fee_rate, terms.min_bps, settings.max_slippage_bps),
            *(settings.max_notional, notional_cap),
        )
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= MOST:
                self._known.clear()
            known = self._known[key] = _sized(buy, sell, settings, notional_cap, terms, kept)
        if (buy.free is None or buy.free >= known.quote) and (sell.free is None or sell.free >= known.base):
            return known.answer
        return size(buy, sell, settings, notional_cap, terms)


def _sized(
    buy: SizingSide,
    sell: SizingSide,
    settings: Settings,
    notional_cap: Decimal | None,
    terms: WalkTerms,
    kept: tuple[object, ...],
) -> _Sized:
    rich = replace(buy, free=None), replace(sell, free=None)
    limits = walk_limits(*rich, settings, notional_cap)
    # with so much, `walk_limits` are the same, and so are the walk and all that follows from it
    _, per_paid = hold_of(buy.market, "buy", buy.fee_rate, Decimal(1))
    _, per_sold = hold_of(sell.market, "sell", sell.fee_rate, Decimal(1))
    factor = sell_factor(buy.market, buy.fee_rate, sell.market, sell.fee_rate)
    quote = _rounded_up(limits.budget, per_paid)
    base = _rounded_up(limits.max_amount, EXACT.multiply(per_sold, factor))
    return _Sized(size(*rich, settings, notional_cap, terms), quote, base, kept)


def _rounded_up(limit: Fraction | None, times: Decimal) -> Decimal:
    exact = (limit or Fraction(0)) * Fraction(times)
    return decimal_of_whole(ceil(exact * 10**DIGITS)).scaleb(-DIGITS)
