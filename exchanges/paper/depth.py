"""Depth that a paper account's own fills took from the shown levels, kept across the following quotes."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from market.instruments.orders import Side
from market.money import ZERO, Amount, BoundedDecimal, Price
from market.prices.quotes import Level, Quote
from market.trade.reservation_state import SIDES


@dataclass(frozen=True, slots=True)
class Taken:
    """Our fills took `amount` of the `shown` amount of one level."""

    price: Price
    shown: BoundedDecimal
    amount: BoundedDecimal


class TakenDepth:
    """The exchange does not know of our paper fills, so it keeps showing the depth we took. A level counts as unchanged
    until the exchange shows another amount there, or none; so does a level too deep to be shown."""

    def __init__(self) -> None:
        self._taken: dict[tuple[str, Side], dict[Price, Taken]] = {}

    def update(self, quote: Quote) -> None:
        """Drop the taken amounts of levels that changed."""
        for side in SIDES:
            known = self._taken.get((quote.symbol, side))
            if known:
                levels = levels_for(side, quote)
                shown, deepest = dict(levels), levels[-1].price
                for price, taken in list(known.items()):
                    is_shown = price <= deepest if side == "buy" else price >= deepest
                    if is_shown and shown.get(price) != taken.shown:
                        del known[price]

    def taken(self, symbol: str) -> dict[Side, tuple[Level, ...]]:
        """Return the levels of `symbol` with taken depth, with the amounts shown; sides without any are left out. A
        quote that shows the same amounts changes nothing here."""
        levels = {side: self._taken.get((symbol, side), {}).values() for side in SIDES}
        return {
            side: tuple(Level(row.price, Amount(row.shown)) for row in rows) for side, rows in levels.items() if rows
        }

    def left(self, symbol: str, side: Side, level: Level) -> Decimal:
        """Return the amount that remains at the level for an order on `side`."""
        taken = self._taken.get((symbol, side), {}).get(level.price)
        return level.amount - taken.amount if taken is not None and taken.shown == level.amount else level.amount

    def take(self, symbol: str, side: Side, rows: Iterable[Taken]) -> None:
        """Add taken amounts; a level that changed in between starts from zero."""
        known = self._taken.setdefault((symbol, side), {})
        for row in rows:
            before = known.get(row.price)
            already = before.amount if before is not None and before.shown == row.shown else ZERO
            known[row.price] = Taken(row.price, row.shown, already + row.amount)


def levels_for(side: Side, quote: Quote) -> tuple[Level, ...]:
    """Return the levels that an order on `side` can fill against, best first."""
    return quote.asks if side == "buy" else quote.bids
