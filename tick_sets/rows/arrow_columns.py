"""Columns of Arrow tables as NumPy arrays and back, for code that computes with whole columns."""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from market.money import decimal_of, text_of

Flags: TypeAlias = npt.NDArray[np.bool_]
Integers: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
Words: TypeAlias = "pa.ChunkedArray[Any]"
MarketKey: TypeAlias = tuple[str, str]
"""(exchange, symbol)"""


def words_of(rows: pa.Table, name: str) -> "pa.StringArray":
    """Return the column's words, null as ""."""
    column: Any = rows[name].combine_chunks()
    return cast("pa.StringArray", column.fill_null(""))


def integers_of(rows: pa.Table, name: str) -> Integers:
    """Return the column's integers, null as 0."""
    numbers: Integers = rows[name].fill_null(pa.scalar(0, pa.int64())).to_numpy()
    return numbers


def coded(rows: pa.Table, name: str) -> tuple[Integers, list[str]]:
    """Return a number per row, and the words that the numbers stand for; null is the word ""."""
    words: Any = rows[name].combine_chunks()
    if not isinstance(words, pa.DictionaryArray):
        words = words.dictionary_encode()
    names, indices = [str(word) for word in words.dictionary.to_pylist()], words.indices
    if indices.null_count:
        names += [] if "" in names else [""]
        indices = indices.fill_null(names.index(""))
    return indices.to_numpy().astype(np.int64), names


def market_codes(rows: pa.Table) -> tuple[Integers, list[MarketKey]]:
    """Return a number per row for its market, and the markets that the numbers stand for; null names as ""."""
    (exchange_codes, exchanges), (symbol_codes, symbols) = coded(rows, "exchange"), coded(rows, "symbol")
    markets = [(exchange, symbol) for exchange in exchanges for symbol in symbols]
    return exchange_codes * len(symbols) + symbol_codes, markets


def places_of_markets(rows: pa.Table) -> Iterator[tuple[MarketKey, Integers | None]]:
    """Return the places of each market's rows; None if all rows are of one market."""
    codes, markets = market_codes(rows)
    for code in np.unique(codes).tolist():
        places = np.flatnonzero(codes == code)
        yield markets[code], None if len(places) == len(codes) else places


def renamed(words: "Words", name_of: Callable[[str], str]) -> "pa.StringArray":
    """Return `words` under other names; each distinct word is looked up once."""
    coded: Any = words.combine_chunks().dictionary_encode()
    names = pa.array([name_of(str(word)) for word in coded.dictionary.to_pylist()], pa.string())
    return names.take(coded.indices)


def plain_numbers(cells: Any) -> Any:
    """Return numbers as people and spreadsheets write them, without blanks around them and a plus before them."""
    is_padded: Any = pc.match_substring_regex(cells, r"^[+\s]|\s$")
    if not pc.any(is_padded).as_py():
        return cells
    return pc.replace_substring_regex(pc.utf8_trim_whitespace(cells), pattern=r"^\+([0-9])", replacement=r"\1")


def without_exponents(cells: Any) -> Any:
    """Return 1e-7 as 0.0000001, each distinct cell once; what is no number of ours stays as it is."""
    has_one = pc.match_substring_regex(cells, r"^-?[0-9]+(\.[0-9]*)?[eE][+-]?[0-9]{1,3}$")
    if not pc.any(has_one).as_py():
        return cells
    whole = cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells
    coded = whole.dictionary_encode()
    plain = pa.array([_plain(text) for text in coded.dictionary.to_pylist()], pa.string()).take(coded.indices)
    return pa.chunked_array([plain]) if isinstance(cells, pa.ChunkedArray) else plain


def _plain(text: str | None) -> str | None:
    if text is None or "e" not in text.lower():
        return text
    try:
        return text_of(decimal_of(text))
    except ValueError:
        return text


def matching(words: "pa.StringArray", pattern: str) -> Flags:
    found: Any = pc.match_substring_regex(words, pattern)
    flags: Flags = found.to_numpy(zero_copy_only=False)
    return flags


def floats_of(words: "pa.StringArray", is_number: Flags) -> Floats:
    """Return each string's own double, NaN if it is no number."""
    cells: Any = words if is_number.all() else pc.if_else(pa.array(is_number), words, pa.scalar(None, pa.string()))
    numbers: Floats = cells.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return numbers


def taken(rows: pa.Table, places: Integers) -> pa.Table:
    return rows.take(cast("pa.Int64Array", pa.array(places)))


def kept(rows: pa.Table, flags: Flags) -> pa.Table:
    return rows if flags.all() else rows.filter(pa.array(flags))


def with_column(rows: pa.Table, name: str, values: Any) -> pa.Table:
    """Put the column in place of the one of that name, or behind all."""
    if name in rows.column_names:
        return rows.set_column(rows.column_names.index(name), name, values)
    return rows.append_column(name, values)
