"""How much a sum of money buys: what exchanges work out that take an order in quote currency."""

from decimal import Decimal

from market.instruments.fees import quote_rate
from market.instruments.orders import Side
from market.money import ZERO
from simulators.matching.listings import Listing
from simulators.matching.matching_engine import MatchingBook

_DEEPEST = 1_000


def lots_within(listing: Listing, book: MatchingBook, funds: Decimal, side: Side = "buy") -> int:
    """Lots that `funds` (quote currency) buy at once from the asks as they stand, the taker's fee included; or that
    must be sold into the bids to bring so much before fees, and no more."""
    rate = quote_rate(listing.market, side, listing.taker_rate) if side == "buy" else ZERO
    bought = 0
    for ticks, lots in book.levels("sell" if side == "buy" else "buy", _DEEPEST):
        per_lot = listing.price(ticks) * listing.market.lot_step * (1 + rate)
        affordable = min(lots, int(funds / per_lot))
        bought += affordable
        funds -= affordable * per_lot
        if affordable < lots:
            break
    return bought
