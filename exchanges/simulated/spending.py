"""How much a sum of money buys: what exchanges work out that take an order in quote currency."""

from decimal import Decimal

from exchanges.simulated.engine import Book
from exchanges.simulated.listings import Listing
from market.money import ZERO

_DEEPEST = 1_000


def lots_within(listing: Listing, book: Book, funds: Decimal) -> int:
    """Lots that `funds` (quote currency) buy at once from the asks as they stand, the taker's fee included."""
    rate = listing.taker_rate if listing.market.fee_side == "quote" else ZERO
    bought = 0
    for ticks, lots in book.levels("sell", _DEEPEST):
        per_lot = listing.price(ticks) * listing.market.lot_step * (1 + rate)
        affordable = min(lots, int(funds / per_lot))
        bought += affordable
        funds -= affordable * per_lot
        if affordable < lots:
            break
    return bought
