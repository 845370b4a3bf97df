"""How much of a book trades can use: what changes behind that changes no decision."""

from collections.abc import Iterable, Sequence
from decimal import ROUND_UP, Decimal

from market.decide.settings import Settings
from market.instruments.markets import Market
from market.money import ZERO
from market.prices.quotes import Level

ROUGHLY_WORTH = {
    "USD": Decimal(1),
    "USDT": Decimal(1),
    "USDC": Decimal(1),
    "EUR": Decimal("1.1"),
    "GBP": Decimal("1.3"),
    "JPY": Decimal("0.007"),
}
"""In dollars, to within a third either way: it only says how deep a book is looked at."""
MARGIN = Decimal("1.25")
"""For prices that move between a decision and its orders."""
ROUGH_MARGIN = Decimal(2)
"""The same if the worth of a currency is only roughly known."""
SHORT_AGE_MS = 1_500
"""Below this limit of age a quote needs its changes to stay fresh: what waits comes once a second."""
WHOLE_BOOK = Decimal(10) ** 18
"""More than any book offers, so every change counts."""


def usable_notional(
    settings: Settings, market: Market, settlement: str, *, is_in_cycle: bool = False
) -> Decimal | None:
    """Return the most that all that is open together can take out of one side of the market's book, in its quote
    currency, with a margin. Limits of `settings` are in `settlement`.

    0 for an FX rate that no cycle trades: of it only the prices count; WHOLE_BOOK if quotes must be younger than
    `SHORT_AGE_MS`. None if the worth of a currency is not known.
    """
    if settings.max_quote_age_ms < SHORT_AGE_MS:
        return WHOLE_BOOK
    if market.is_fx and not is_in_cycle:
        return ZERO
    own: Iterable[Decimal] = settings.cycle_notionals.values() if is_in_cycle else ()
    at_once = settings.max_open_arbitrages * max([settings.max_notional, *own])
    most = min(settings.exchange_limit(market.exchange), settings.max_total_notional, at_once) + settings.ma_notional
    if market.quote_currency == settlement:
        return (most * MARGIN).to_integral_value(ROUND_UP)
    worth, counted_in = ROUGHLY_WORTH.get(market.quote_currency), ROUGHLY_WORTH.get(settlement)
    if worth is None or counted_in is None:
        return None
    margin = MARGIN if worth == counted_in else ROUGH_MARGIN
    return (most * margin * counted_in / worth).to_integral_value(ROUND_UP)


def offer_the_same(one: Sequence[Level], other: Sequence[Level], notional: Decimal) -> bool:
    """Return whether two lists of levels, best first, offer the same amounts at the same prices up to that notional, in
    quote currency. Up to 0: whether the best price is the same."""
    left = notional
    for (price, amount), (other_price, other_amount) in zip(one, other, strict=False):
        if price != other_price:
            return False
        if amount != other_amount:
            return min(amount, other_amount) * price >= left
        left -= amount * price
        if left <= ZERO:
            return True
    return len(one) == len(other)
