"""The rows of order books, with what one order of a size would get. Money as decimal strings."""

from collections.abc import Sequence
from decimal import Decimal

from typing_extensions import TypedDict

from market.money import ZERO
from market.prices.quotes import Level
from market.prices.size_walk import walked
from streams.message_format import WireError, levels_of
from ui.live.top_of_book import LatestRow, TopStatus
from ui.rows.attribute import row_from


class LevelRow(TypedDict):
    """`amount` in base; `taken`: how much of it the order takes."""

    price: str
    amount: str
    taken: str


class WalkRow(TypedDict):
    """An order of `amount` (base) through one side. `cost` in quote currency before fees, `slippage_bps` from the best
    price to the mean; null if nothing fills."""

    amount: str
    filled: str
    cost: str
    mean_price: str | None
    worst: str | None
    slippage_bps: str | None


class BookSideRow(TypedDict):
    """One side, best first. `walk`: null if no amount was asked for."""

    levels: list[LevelRow]
    walk: WalkRow | None


class BookRow(TypedDict):
    """Up to ten levels a side, as they stand in the log; `status` as of quotes."""

    exchange: str
    symbol: str
    base: str
    quote_currency: str
    received_time: int
    status: TopStatus
    bids: BookSideRow
    asks: BookSideRow


def book_row(latest: LatestRow, amount: Decimal | None, now: int, max_quote_age: int) -> BookRow:
    """Return the row; times in microseconds. Raises WireError."""
    top = latest.top()
    try:
        bids, asks = levels_of(latest.row["bids"]), levels_of(latest.row["asks"])
    except (KeyError, TypeError, ValueError) as error:
        raise WireError(f"not a book: {error!r}") from error
    return row_from(
        BookRow,
        top,
        status=top.status(now, max_quote_age),
        bids=book_side_row(bids, amount),
        asks=book_side_row(asks, amount),
    )


def book_side_row(levels: Sequence[Level], amount: Decimal | None) -> BookSideRow:
    """Return one side, best first, with an order of `amount` walked through it."""
    walk = None if amount is None else walked(levels, amount)
    left = ZERO if amount is None else amount
    rows: list[LevelRow] = []
    for level in levels:
        taken = min(left, level.amount)
        left -= taken
        rows.append(row_from(LevelRow, level, taken=taken))
    return BookSideRow(levels=rows, walk=None if walk is None else row_from(WalkRow, walk))
