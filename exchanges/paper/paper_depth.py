"""What orders of a local paper account took out of the levels that others see, kept over the quotes that follow."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from market.instruments.orders import Side
from market.money import ZERO, Amount, BoundedDecimal, Price
from market.prices.quotes import Level, Quote
from market.trade.reservation_state import SIDES


@dataclass(frozen=True, slots=True)
class Taken:
    """`amount` of the `shown` amount of one level is ours."""

    price: Price
    shown: BoundedDecimal
    amount: BoundedDecimal


class TakenDepth:
    """The exchange does not know of our fills, so it goes on showing what we took. A level is as we left it until the
    exchange shows another amount there, or none; one that is too deep to be shown is not known to have changed."""

    def __init__(self) -> None:
        self._taken: dict[tuple[str, Side], dict[Price, Taken]] = {}

    def see(self, quote: Quote) -> None:
        """The levels that changed are new ones, of which nothing was taken."""
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
        """The levels of `symbol` that are still as we left them, as they were shown; no side without any. A quote that
        shows each of them so changes nothing here."""
        levels = {side: self._taken.get((symbol, side), {}).values() for side in SIDES}
        return {
            side: tuple(Level(row.price, Amount(row.shown)) for row in rows) for side, rows in levels.items() if rows
        }

    def left(self, symbol: str, side: Side, level: Level) -> Decimal:
        """What an order on `side` finds there."""
        taken = self._taken.get((symbol, side), {}).get(level.price)
        return level.amount - taken.amount if taken is not None and taken.shown == level.amount else level.amount

    def take(self, symbol: str, side: Side, rows: Iterable[Taken]) -> None:
        """More from the same level adds up; from one that changed in between, it counts alone."""
        known = self._taken.setdefault((symbol, side), {})
        for row in rows:
            before = known.get(row.price)
            already = before.amount if before is not None and before.shown == row.shown else ZERO
            known[row.price] = Taken(row.price, row.shown, already + row.amount)


def levels_for(side: Side, quote: Quote) -> tuple[Level, ...]:
    """Those that an order on `side` meets, best first."""
    return quote.asks if side == "buy" else quote.bids
