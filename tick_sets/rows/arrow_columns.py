"""Columns of Arrow tables as NumPy arrays and back, for code that computes with whole columns."""

from collections.abc import Callable, Collection, Iterator
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tick_sets.rows.text_bytes import Flags, only_word, whole

Integers: TypeAlias = npt.NDArray[np.int64]
Words: TypeAlias = "pa.ChunkedArray[Any]"
Coded: TypeAlias = "pa.DictionaryArray[Any, Any]"
MarketKey: TypeAlias = tuple[str, str]
"""(exchange, symbol)"""


def words_of(rows: pa.Table, name: str) -> "pa.StringArray":
    """Return the column's words, null as ""."""
    column: Any = whole(rows[name])
    return cast("pa.StringArray", column.fill_null("") if column.null_count else column)


def integers_of(rows: pa.Table, name: str) -> Integers:
    """Return the column's integers, null as 0."""
    numbers: Integers = rows[name].fill_null(pa.scalar(0, pa.int64())).to_numpy()
    return numbers


def coded(rows: pa.Table, name: str) -> tuple[Integers, list[str]]:
    """Return a number per row, and the words that the numbers stand for; null is the word ""."""
    words: Any = whole(rows[name])
    if not isinstance(words, pa.DictionaryArray):
        word = only_word(words)
        if word is not None:
            return np.zeros(len(words), dtype=np.int64), [word]
        words = words.dictionary_encode()
    names, indices = [str(word) for word in words.dictionary.to_pylist()], words.indices
    if indices.null_count:
        names += [] if "" in names else [""]
        indices = indices.fill_null(names.index(""))
    return indices.to_numpy().astype(np.int64), names


def is_of_kind(rows: pa.Table, kinds: Collection[str]) -> Flags:
    """Return which rows of a log are of one of these kinds."""
    codes, names = coded(rows, "kind")
    flags: Flags = np.array([name in kinds for name in names], dtype=np.bool_)[codes]
    return flags


def market_codes(rows: pa.Table) -> tuple[Integers, list[MarketKey]]:
    """Return a number per row for its market, and the markets that the numbers stand for; null names as ""."""
    (exchange_codes, exchanges), (symbol_codes, symbols) = coded(rows, "exchange"), coded(rows, "symbol")
    markets = [(exchange, symbol) for exchange in exchanges for symbol in symbols]
    return exchange_codes if len(symbols) == 1 else exchange_codes * len(symbols) + symbol_codes, markets


def places_of_markets(rows: pa.Table) -> Iterator[tuple[MarketKey, Integers | None]]:
    """Return the places of each market's rows; None if all rows are of one market."""
    codes, markets = market_codes(rows)
    present = np.flatnonzero(np.bincount(codes)).tolist()
    for code in present:
        yield markets[code], None if len(present) == 1 else np.flatnonzero(codes == code)


def renamed(words: "Words", name_of: Callable[[str], str]) -> "pa.StringArray":
    """Return `words` under other names; each distinct word is looked up once."""
    column: Any = whole(words)
    word = only_word(column)
    if word is not None:
        return pa.repeat(pa.scalar(name_of(word), pa.string()), len(column))
    coded: Any = column.dictionary_encode()
    names = pa.array([name_of(str(word)) for word in coded.dictionary.to_pylist()], pa.string())
    return names.take(coded.indices)


def nulls(rows: int, kind: pa.DataType) -> Any:
    """Return a column without any value; the stubs of Arrow know one function for each type."""
    make: Any = pa.nulls
    return make(rows, kind)


def repeated(word: str | None, rows: int) -> "Coded":
    """Return a column that has this one word in every row; None: that is null."""
    codes: Any = pa.nulls(rows, pa.int32()) if word is None else pa.array(np.zeros(rows, dtype=np.int32))
    return pa.DictionaryArray.from_arrays(codes, pa.array([] if word is None else [word], pa.string()))


def distinct(words: "Words | pa.StringArray") -> list[str]:
    """Return each word once, in the order in which they appear."""
    word = only_word(whole(words))
    return [str(each) for each in words.unique().to_pylist()] if word is None else [word]


def taken(rows: pa.Table, places: Integers) -> pa.Table:
    """Return the rows at these places."""
    return rows.take(cast("pa.Int64Array", pa.array(places)))


def kept(rows: pa.Table, flags: Flags) -> pa.Table:
    return rows if flags.all() else rows.filter(pa.array(flags))


def with_column(rows: pa.Table, name: str, values: Any) -> pa.Table:
    """Put the column in place of the one of that name, or behind all."""
    if name in rows.column_names:
        return rows.set_column(rows.column_names.index(name), name, values)
    return rows.append_column(name, values)
