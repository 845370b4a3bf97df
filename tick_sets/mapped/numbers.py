"""Converts numbers of a mapped file to ours: with a point before the decimals, and in whole units."""

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from market.money import EXACT, decimal_of, text_of
from tick_sets.mapped.file import Mapping, PriceColumns
from tick_sets.mapped.levels import names_of_levels
from tick_sets.rows.arrow_columns import with_column
from tick_sets.rows.number_cells import plain_numbers

ONE = Decimal(1)


def number_columns(mapping: Mapping) -> tuple[list[str], list[str]]:
    """Return the names of the columns of prices, and of amounts."""
    prices: list[str] = []
    amounts: list[str] = []
    for one in (mapping.print, mapping.bar):
        if isinstance(one, PriceColumns):
            prices.append(one.price)
            amounts += [one.amount] if one.amount else []
    if mapping.quote is not None:
        prices += [mapping.quote.bid, mapping.quote.ask]
        amounts += filter(None, (mapping.quote.bid_amount, mapping.quote.ask_amount))
    if mapping.levels is not None:
        names = names_of_levels(mapping.levels)
        prices, amounts = [*prices, *names[::2]], [*amounts, *names[1::2]]
    return prices, amounts


def our_numbers(cells: pa.Table, mapping: Mapping) -> pa.Table:
    """Return `cells` with prices, amounts and times as our numbers; what is no number stays as it is."""
    prices, amounts = number_columns(mapping)
    if mapping.decimal == ",":
        times = (one.column for one in (mapping.time, mapping.exchange_time) if one is not None and one.unit != "text")
        for name in dict.fromkeys((*prices, *amounts, *times)):
            cells = with_column(cells, name, _with_points(cells[name]))
    for names, scale in ((prices, mapping.price_scale), (amounts, mapping.amount_scale)):
        for name in dict.fromkeys(names) if scale != ONE else ():
            cells = with_column(cells, name, _scaled(cells[name], scale))
    return cells


def _with_points(column: Any) -> Any:
    """Return 1234,5 as 1234.5. A cell with a point is no number: 50.000 is 50 to some and fifty thousand to others."""
    has_point: Any = pc.match_substring(column, ".")
    replaced: Any = pc.replace_substring(column, ",", ".")
    if not pc.any(has_point).as_py():
        return replaced
    doubtful: Any = pc.binary_join_element_wise(column, " with a point although decimals have a comma", "")
    return pc.if_else(has_point, doubtful, replaced)


def _scaled(column: "pa.ChunkedArray[Any]", scale: Decimal) -> "pa.ChunkedArray[Any]":
    """Return the column times `scale`, exactly; each distinct number is computed once."""
    coded: Any = plain_numbers(column).combine_chunks().dictionary_encode()
    texts = pa.array([_scaled_text(str(text), scale) for text in coded.dictionary.to_pylist()], pa.string())
    return pa.chunked_array([texts.take(coded.indices)])


def _scaled_text(text: str, scale: Decimal) -> str:
    try:
        return text_of(EXACT.multiply(decimal_of(text), scale))
    except ValueError:
        return text
