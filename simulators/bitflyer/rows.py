"""Rows of bitFlyer's answers and messages, with its own names for orders and its own ways to write times and
numbers.

Public numbers have a digit after the point, as recorded; the account's are written as short as possible. Both are
exact.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from decimal import Decimal

from market.instruments.orders import Side
from market.money import ZERO
from market.time_units import MICROSECONDS
from simulators.matching.engine import MatchingBook
from simulators.matching.funded_account import average_price, charged_fee
from simulators.matching.listings import Listing
from simulators.matching.order_records import PublicTrade, SimulatedFill, SimulatedOrder
from simulators.web.exchange_gateway import Change, iso_text
from simulators.web.json_digits import plain, with_point

FIRST_EXECUTION = 2_500_000_000
"""Offset of execution ids, the same in public and private data: this plus the trade's number."""
LIFETIME_MINUTES = 43_200
DEEPEST = 300
_AVERAGE_STEP = Decimal("0.00000001")

Row = dict[str, object]


def acceptance_id(number: int, micros: int) -> str:
    moment = datetime.fromtimestamp(micros // MICROSECONDS, UTC)
    return f"JRF{moment:%Y%m%d-%H%M%S}-{number % 1_000_000:06d}"


def order_id(accepted: str) -> str:
    """Return bitFlyer's id of the order, besides its acceptance id."""
    return accepted.replace("JRF", "JOR")


def rest_time(micros: int) -> str:
    """Return UTC without its zone, in milliseconds."""
    return iso_text(micros, zone="")[:23]


def stream_time(micros: int) -> str:
    """Return UTC, in tenths of microseconds."""
    return iso_text(micros, zone="0Z")


def state_of(order: SimulatedOrder) -> str:
    """Return the state: the remainder of an immediate order expires; a resting order was cancelled by its owner."""
    if order.state == "cancelled":
        return "EXPIRED" if order.immediate else "CANCELED"
    return "ACTIVE" if order.state == "open" else "COMPLETED"


def lifetime_of(order: SimulatedOrder) -> str:
    if order.price is None or not order.immediate:
        return "GTC"
    return "FOK" if order.whole else "IOC"


def board_row(listing: Listing, book: MatchingBook, changes: Iterable[Change]) -> Row:
    """Return levels as they stand, size 0 if one is gone."""
    rows: dict[Side, list[Row]] = {"buy": [], "sell": []}
    for side, ticks, lots in changes:
        rows[side].append({"price": with_point(listing.price(ticks)), "size": with_point(listing.amount(lots))})
    middle = (listing.price(book.best("buy") or 0) + listing.price(book.best("sell") or 0)) / 2
    return {"mid_price": with_point(middle), "bids": rows["buy"], "asks": rows["sell"]}


def whole_board(listing: Listing, book: MatchingBook) -> Row:
    sides: tuple[Side, ...] = ("buy", "sell")
    levels = [(side, ticks, lots) for side in sides for ticks, lots in book.levels(side, DEEPEST)]
    return board_row(listing, book, levels)


def execution_row(trade: PublicTrade, own: SimulatedFill | None, exec_date: str) -> Row:
    """Return the row; `own`: the test account's part in it. The other side's order has only an id."""
    names = {
        "buy": acceptance_id(trade.number, trade.traded_at),
        "sell": acceptance_id(trade.number + 1, trade.traded_at),
    }
    if own is not None:
        names[own.side] = own.order_id
    return {
        "id": FIRST_EXECUTION + trade.number,
        "side": trade.side.upper(),
        "price": with_point(trade.price),
        "size": with_point(trade.amount),
        "exec_date": exec_date,
        "buy_child_order_acceptance_id": names["buy"],
        "sell_child_order_acceptance_id": names["sell"],
    }


def balance_row(currency: str, owned: Decimal, held: Decimal) -> Row:
    return {"currency_code": currency, "amount": plain(owned), "available": plain(owned - held)}


def deposit_row(number: int, currency: str, amount: Decimal, micros: int) -> Row:
    name = f"CDP{acceptance_id(number, micros).removeprefix('JRF')}"
    return {
        "id": number,
        "order_id": name,
        "currency_code": currency,
        "amount": plain(amount),
        "address": "",
        "tx_hash": name,
        "status": "COMPLETED",
        "event_date": rest_time(micros),
    }


def order_row(order: SimulatedOrder, fills: Sequence[SimulatedFill], listing: Listing) -> Row:
    return {
        "id": order.number,
        "child_order_id": order_id(order.order_id),
        "product_code": listing.market_id,
        "side": order.side.upper(),
        "child_order_type": "MARKET" if order.price is None else "LIMIT",
        "price": plain(order.price or ZERO),
        "average_price": plain(average_price(fills).quantize(_AVERAGE_STEP)),
        "size": plain(order.amount),
        "child_order_state": state_of(order),
        "expire_date": rest_time(expiry_of(order))[:19],
        "child_order_date": rest_time(order.placed_at),
        "child_order_acceptance_id": order.order_id,
        "outstanding_size": plain(order.remaining if order.state == "open" else ZERO),
        "cancel_size": plain(order.remaining if order.state == "cancelled" else ZERO),
        "executed_size": plain(order.filled),
        "total_commission": plain(charged_fee(fills)),
        "time_in_force": lifetime_of(order),
    }


def expiry_of(order: SimulatedOrder) -> int:
    return order.placed_at + LIFETIME_MINUTES * 60 * MICROSECONDS


def own_execution_row(fill: SimulatedFill) -> Row:
    return {
        "id": int(fill.fill_id),
        "child_order_id": order_id(fill.order_id),
        "side": fill.side.upper(),
        "price": plain(fill.price),
        "size": plain(fill.amount),
        "commission": plain(fill.fee),
        "exec_date": rest_time(fill.filled_at),
        "child_order_acceptance_id": fill.order_id,
    }
