"""Order validation of a simulated exchange: size and price rules, client ids, funds. Pure checks."""

from collections.abc import Iterable
from decimal import Decimal

from market.instruments.orders import Side
from simulators.matching.listings import Listing
from simulators.matching.matching_engine import MatchingBook
from simulators.matching.order_records import OrderRequest, RequestRejectedError, SimulatedOrder

# Beyond any price that the books can hold, so that a market order crosses all of it.
ANY_PRICE = 10**15
LARGEST = Decimal(10**9)
"""Of amounts and of prices."""


def check_size(listing: Listing, request: OrderRequest) -> None:
    """Raises RequestRejectedError where amount or price break the market's rules."""
    market, amount, price = listing.market, request.amount, request.price
    if not 0 < amount <= LARGEST:
        raise RequestRejectedError("amount_invalid", str(amount))
    if price is not None and not 0 < price <= LARGEST:
        raise RequestRejectedError("price_invalid", str(price))
    if amount < market.minimum_amount:
        raise RequestRejectedError("amount_too_small", str(market.minimum_amount))
    if amount % market.lot_step or (price is not None and price % market.tick_size):
        raise RequestRejectedError("too_precise", f"{amount} at {price}")
    if price is not None and price * amount < market.minimum_notional:
        raise RequestRejectedError("amount_too_small", str(market.minimum_notional))


def check_client_id(client_order_id: str | None, used: Iterable[SimulatedOrder], reusable: bool) -> None:
    """`reusable`: an id may come again once its order has ended. Raises RequestRejectedError."""
    if client_order_id and any(not reusable or order.state == "open" for order in used):
        raise RequestRejectedError("client_id_used", client_order_id)


def units_of(listing: Listing, request: OrderRequest) -> tuple[int, int]:
    """Ticks and lots; a market order's price is one that crosses everything."""
    if request.price is not None:
        return listing.ticks(request.price), listing.lots(request.amount)
    return (ANY_PRICE if request.side == "buy" else 0), listing.lots(request.amount)


def funds_needed(listing: Listing, side: Side, ticks: int, lots: int, book: MatchingBook) -> tuple[str, Decimal]:
    """Currency and amount that cover the order; a market buy pays at worst the last ask that it reaches."""
    if ticks == ANY_PRICE:
        ticks = _worst_ask(book, lots)
    return listing.hold(side, ticks, lots)


def _worst_ask(book: MatchingBook, lots: int) -> int:
    worst = 0
    for ticks, level_lots in book.levels("sell", 1_000):
        worst = ticks
        lots -= level_lots
        if lots <= 0:
            break
    return worst
