"""Order validation of a simulated exchange: size and price rules, client ids, funds, and what a sum of money buys."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Literal

from market.instruments.fees import quote_rate
from market.instruments.markets import Market
from market.instruments.order_matching import filled_offers
from market.instruments.orders import Side, opposite
from market.money import ZERO
from simulators.matching.engine import MatchingBook
from simulators.matching.listings import Listing
from simulators.matching.order_records import OrderRequest, RequestRejectedError, SimulatedOrder

# Beyond any price that the books can hold, so that a market order crosses all of it.
ANY_PRICE = 10**15
LARGEST = Decimal(10**9)
"""The largest amount, and the largest price."""
_DEEPEST = 1_000


def check_size(listing: Listing, request: OrderRequest) -> None:
    """Raise RequestRejectedError if amount or price break the market's rules."""
    market, amount, price = listing.market, request.amount, request.price
    if not 0 < amount <= LARGEST:
        raise RequestRejectedError("amount_invalid", str(amount))
    prices = [price, None if request.trigger is None else request.trigger.price]
    for stated in (stated for stated in prices if stated is not None):
        if not 0 < stated <= LARGEST:
            raise RequestRejectedError("price_invalid", str(stated))
        if stated % market.tick_size:
            raise RequestRejectedError("too_precise", f"{amount} at {stated}")
    if amount < market.minimum_amount:
        raise RequestRejectedError("amount_too_small", str(market.minimum_amount), market.base)
    if amount % market.lot_step:
        raise RequestRejectedError("too_precise", f"{amount} at {price}")
    if price is not None and price * amount < market.minimum_notional:
        raise RequestRejectedError("amount_too_small", str(market.minimum_notional), market.quote_currency)


def number_off_step(request: OrderRequest, market: Market) -> tuple[Literal["amount", "price"], Decimal] | None:
    """Return the number that lies between two steps, and its step. Numbers beyond LARGEST are left to `check_size`,
    because their remainder has too many digits to compute."""
    if abs(request.amount) < LARGEST and request.amount % market.lot_step:
        return "amount", market.lot_step
    if request.price is not None and abs(request.price) < LARGEST and request.price % market.tick_size:
        return "price", market.tick_size
    return None


def check_client_id(client_order_id: str | None, used: Iterable[SimulatedOrder], reusable: bool) -> None:
    """Check the id; `reusable`: it may come again once its order has ended. Raises RequestRejectedError."""
    if client_order_id and any(not reusable or order.state == "open" for order in used):
        raise RequestRejectedError("client_id_used", client_order_id)


def ticks_of(listing: Listing, side: Side, price: Decimal | None) -> int:
    """Return the limit in ticks; a market order's is one that crosses everything."""
    if price is not None:
        return listing.ticks(price)
    return ANY_PRICE if side == "buy" else 0


def funds_needed(listing: Listing, side: Side, ticks: int, lots: int, book: MatchingBook) -> tuple[str, Decimal]:
    """Return currency and amount that cover the order; a market buy pays at worst the last ask that it reaches."""
    if ticks == ANY_PRICE:
        ticks = _worst_ask(book, lots)
    return listing.hold(side, ticks, lots)


def _worst_ask(book: MatchingBook, lots: int) -> int:
    asks = ((ticks, ticks, shown) for ticks, shown in book.levels("sell", 1_000))
    reached = [ticks for ticks, _ in filled_offers("buy", ANY_PRICE, lots, asks)]
    return reached[-1] if reached else 0


def lots_within(listing: Listing, book: MatchingBook, funds: Decimal, side: Side = "buy") -> int:
    """Return the lots that `funds` (quote currency) buy at once from the asks as they stand, the taker's fee included;
    or those to sell into the bids to bring that much before fees, and no more."""
    rate = quote_rate(listing.market, side, listing.taker_rate) if side == "buy" else ZERO
    bought = 0
    for ticks, lots in book.levels(opposite(side), _DEEPEST):
        per_lot = listing.price(ticks) * listing.market.lot_step * (1 + rate)
        affordable = min(lots, int(funds / per_lot))
        bought += affordable
        funds -= affordable * per_lot
        if affordable < lots:
            break
    return bought
