"""Prints and bars have a price and no bid and ask: both are assumed, half a spread below and above it."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from market.money import BPS, decimal_of, text_of
from tick_sets.errors import reject
from tick_sets.mapped.columns import Column
from tick_sets.rows.import_format import FileOptions


def half_spread_of(path: Path, options: FileOptions) -> Decimal:
    """Return the assumed half-spread in bps. Raises ImportRejectedError if the user did not name one."""
    if options.half_spread_bps is None:
        reject(path, None, "holds prices without bid and ask; say how far these lie apart, as in --half-spread-bps 2")
    if not 0 < options.half_spread_bps < BPS:
        reject(path, None, f"a half-spread of {options.half_spread_bps} bps is outside 0 to 10000")
    return options.half_spread_bps


def sides_of(price: str, half_spread_bps: Decimal) -> tuple[str, str]:
    """Return (bid, ask), exact; both "" for what is no price."""
    try:
        number = decimal_of(price)
    except ValueError:
        return "", ""
    distance = number * half_spread_bps / BPS
    return text_of(number - distance), text_of(number + distance)


def print_columns(prices: "pa.ChunkedArray[Any]", amounts: Column, half_spread_bps: Decimal) -> dict[str, Column]:
    """Return bids and asks of READ_SCHEMA for a column of prices as strings; each distinct price is computed once. A
    null price becomes ""."""
    coded = prices.fill_null(pa.scalar("", pa.string())).combine_chunks().dictionary_encode()
    sides = [sides_of(str(price), half_spread_bps) for price in coded.dictionary.to_pylist()]
    bids = pa.array([bid for bid, _ in sides], pa.string())
    asks = pa.array([ask for _, ask in sides], pa.string())
    bids, asks = bids.take(coded.indices), asks.take(coded.indices)
    return {"bid": bids, "bid_amount": amounts, "ask": asks, "ask_amount": amounts}
