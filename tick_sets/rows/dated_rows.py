"""Rows of a code that stood for another asset at their time, under that asset's symbol: LUNA of 2021 is LUNC."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from exchanges.dated_codes import dated_codes
from exchanges.ports.codes import DatedCode
from tick_sets.rows.arrow_columns import MarketKey, integers_of, places_of_markets, with_column, words_of
from tick_sets.rows.import_format import OTHER_MARKET


def as_of_then(rows: pa.Table) -> pa.Table:
    """Return `rows` of READ_SCHEMA with the symbols of their time. Those without a time, and those that were not asked
    for, stay as they are."""
    symbols = None
    for market, places in places_of_markets(rows):
        for row, symbol in _symbols_then(market):
            times = integers_of(rows, "received_time")
            is_then = (times > 0) & (times >= row.since) & (times < row.until)
            is_then &= words_of(rows, "fault").to_numpy(zero_copy_only=False) != OTHER_MARKET
            mine = np.arange(len(rows)) if places is None else places
            symbols = words_of(rows, "symbol").to_numpy(zero_copy_only=False).copy() if symbols is None else symbols
            symbols[mine[is_then[mine]]] = symbol
    return rows if symbols is None else with_column(rows, "symbol", pa.array(symbols, pa.string()))


def _symbols_then(market: MarketKey) -> Iterator[tuple[DatedCode, str]]:
    """Return each row of the table that concerns the market, with the market's symbol then."""
    exchange, symbol = market
    pair, mark, settlement = symbol.partition(":")
    currency, dash, delivery = settlement.partition("-")
    for code in dict.fromkeys(pair.split("/")):
        for row in dated_codes(exchange, code):
            words = [row.asset if word == code else word for word in (*pair.split("/"), currency)]
            yield row, f"{'/'.join(words[:-1])}{mark}{words[-1]}{dash}{delivery}"
