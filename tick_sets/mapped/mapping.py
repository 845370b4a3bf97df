"""Any CSV by its mapping file: quotes, books, prints or bars (docs/import.md has an example of each)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from market.money import text_of
from market.time_units import MICROSECONDS
from tick_sets.errors import reject
from tick_sets.mapped.bars import BAR_ASSUMPTION
from tick_sets.mapped.columns import Column, chunk_of_columns, headerless_parts
from tick_sets.mapped.conditions import rows_where
from tick_sets.mapped.file import ColumnName, Mapping, QuoteColumns, TimeMapping, read_mapping
from tick_sets.mapped.levels import level_columns
from tick_sets.mapped.numbers import number_columns, our_numbers
from tick_sets.mapped.order import oldest_first
from tick_sets.mapped.prints import half_spread_of, print_columns
from tick_sets.mapped.times import Cells, Lines, epoch_times, text_times, times_by_size
from tick_sets.rows.arrow_columns import renamed
from tick_sets.rows.csv_columns import FilePart, csv_parts, demand_columns, header_names
from tick_sets.rows.file_blocks import blocks_behind, start_of
from tick_sets.rows.import_format import OTHER_MARKET, Chunk, FileOptions, Format
from tick_sets.rows.number_cells import whole_numbers
from tick_sets.rows.parquet_columns import is_parquet
from tick_sets.rows.quote_rows import whole_number
from tick_sets.rows.symbol_names import chosen_symbol, our_exchange


@dataclass(frozen=True, slots=True)
class _MappedFile:
    path: Path
    mapping: Mapping
    options: FileOptions


def read_mapped(path: Path, options: FileOptions) -> Iterator[Chunk]:
    """Return quotes, books or prints. Raises ImportRejectedError for the mapping file and for the CSV."""
    file = _mapped_file(path, options)
    if file.mapping.bar is not None:
        reject(path, None, "holds bars by its mapping; import it as csv-bars")
    if file.mapping.print is None and options.half_spread_bps is not None:
        reject(path, None, "has bid and ask by its mapping; omit --half-spread-bps")
    yield from _chunks(file)


def read_mapped_bars(path: Path, options: FileOptions) -> Iterator[Chunk]:
    """Return the price of each bar at its end. Raises as `read_mapped`."""
    file = _mapped_file(path, options)
    if file.mapping.bar is None:
        reject(path, None, "contains no bars by its mapping; import it as csv")
    yield from _chunks(file)


def _mapped_file(path: Path, options: FileOptions) -> _MappedFile:
    if options.mapping is None:
        reject(path, None, "needs a mapping file that says which column is what, as in --mapping columns.toml")
    return _MappedFile(path, read_mapping(options.mapping), options)


def _chunks(file: _MappedFile) -> Iterator[Chunk]:
    return (_chunk(file, part, others) for part, others in _parts(file))


def _parts(file: _MappedFile) -> Iterator[tuple[FilePart, int]]:
    """Return the parts, each with the number of its rows that the mapping passes over."""
    return (rows_where(part, file.mapping.where) for part in _whole_parts(file))


def _whole_parts(file: _MappedFile) -> Iterator[FilePart]:
    parts = _parts_as_written(file)
    return oldest_first(file.path, parts) if file.mapping.newest_first else parts


def _parts_as_written(file: _MappedFile) -> Iterator[FilePart]:
    names, delimiter, skipped = named_columns(file.mapping), file.mapping.delimiter, file.mapping.skip_lines
    if file.mapping.header:
        for part in csv_parts(file.path, delimiter=delimiter, skip_lines=skipped):
            demand_columns(file.path, part.cells.column_names, names)
            yield part
        return
    if is_parquet(start_of(file.path)):
        reject(file.path, None, "is Parquet, whose columns have names; remove header = false from its mapping")
    numbers = [whole_number(name) or 0 for name in names]
    if min(numbers) < 1:
        reject(file.path, None, "has no header by its mapping; so call its columns by number, 1 the first")
    first = next(blocks_behind(file.path, skipped)).data.partition(b"\n")[0]
    count = len(header_names(first, delimiter))
    if max(numbers) > count:
        reject(file.path, 1, f"has {count} columns, while its mapping names number {max(numbers)}")
    yield from headerless_parts(file.path, tuple(str(number) for number in range(1, count + 1)), delimiter, skipped)


def named_columns(mapping: Mapping) -> tuple[str, ...]:
    """Return all columns that the mapping names."""
    names = [mapping.time.column]
    if mapping.exchange_time is not None:
        names.append(mapping.exchange_time.column)
    names += [one.column for one in (mapping.exchange, mapping.symbol) if isinstance(one, ColumnName)]
    if mapping.sequence is not None:
        names.append(mapping.sequence)
    prices, amounts = number_columns(mapping)
    return (*names, *prices, *amounts, *mapping.where)


def _chunk(file: _MappedFile, part: FilePart, other_rows: int) -> Chunk:
    mapping = file.mapping
    if not part.cells.num_rows:
        return chunk_of_columns(part, {}, other_rows)
    cells = our_numbers(part.cells, mapping)
    given = _market_columns(file, part) | _price_columns(file, cells)
    times, faults = _times(file, cells, part.lines, mapping.time)
    if mapping.bar_seconds is not None:
        times = pc.add(times, pa.scalar(mapping.bar_seconds * MICROSECONDS, pa.int64()))
    given["received_time"] = times
    if mapping.exchange_time is not None:
        given["exchange_time"], _ = _times(file, cells, part.lines, mapping.exchange_time)
    if mapping.sequence is not None:
        given["sequence"] = whole_numbers(part.cells[mapping.sequence])
    if faults is not None:
        given["fault"] = pc.coalesce(given["fault"], faults) if "fault" in given else faults
    return chunk_of_columns(part, given, other_rows)


def _times(file: _MappedFile, cells: pa.Table, lines: Lines, time: TimeMapping) -> tuple[Cells, Column]:
    """Return microseconds, and why a local time is invalid; None if times are numbers."""
    if time.unit == "text":
        return text_times(cells[time.column], time.zone_info, time.format, time.fold)
    if time.unit == "auto":
        return times_by_size(file.path, cells[time.column], lines), None
    return epoch_times(file.path, cells[time.column], lines, time.unit), None


def _price_columns(file: _MappedFile, cells: pa.Table) -> dict[str, Column]:
    mapping = file.mapping
    if mapping.levels is not None:
        return level_columns(cells, mapping.levels)
    if mapping.quote is not None:
        return _quote_columns(mapping.quote, cells)
    prices = mapping.print or mapping.bar
    if prices is None:
        raise ValueError("a mapping has one kind of prices")
    return print_columns(
        cells[prices.price],
        _amounts(cells, prices.amount, prices.constant_amount),
        half_spread_of(file.path, file.options),
    )


def _quote_columns(quote: QuoteColumns, cells: pa.Table) -> dict[str, Column]:
    return {
        "bid": cells[quote.bid],
        "bid_amount": _amounts(cells, quote.bid_amount, quote.constant_amount),
        "ask": cells[quote.ask],
        "ask_amount": _amounts(cells, quote.ask_amount, quote.constant_amount),
    }


def _amounts(cells: pa.Table, column: str | None, constant: Decimal | None) -> Column:
    if column is not None:
        return cells[column]
    return "" if constant is None else text_of(constant)


def _market_columns(file: _MappedFile, part: FilePart) -> dict[str, Column]:
    """Return exchange and symbol by our names, and a fault for rows of other markets than the named one."""
    exchanges = _words(file, part, "exchange", our_exchange)
    given: dict[str, Column] = {"exchange": exchanges, "symbol": _symbols(file, part, exchanges)}
    faults = np.zeros(part.cells.num_rows, dtype=bool)
    for name, wanted in (("exchange", file.options.exchange), ("symbol", file.options.symbol)):
        if wanted is not None and not isinstance(given[name], str):
            faults |= given[name].to_numpy(zero_copy_only=False) != wanted
            # rows that are left out are reported with the requested market, and make no market of their own
            given[name] = wanted
    if faults.any():
        words = np.where(faults, OTHER_MARKET, "")
        given["fault"] = pc.if_else(pa.array(faults), pa.array(words), pa.scalar(None, pa.string()))
    return given


def _symbols(file: _MappedFile, part: FilePart, exchanges: Column) -> Column:
    """Return symbols by our names, which depend on the exchange: each exchange's rows are renamed separately."""

    def of(exchange: str) -> Column:
        return _words(file, part, "symbol", lambda name: chosen_symbol(file.path, exchange, name, file.options.symbol))

    named = exchanges if isinstance(exchanges, str) else file.options.exchange
    if named is not None:
        return of(named)
    symbols: Any = pa.scalar(None, pa.string())
    for exchange in exchanges.unique().to_pylist():
        symbols = pc.if_else(pc.equal(exchanges, exchange), of(exchange), symbols)
    found: Column = symbols
    return found


def _words(file: _MappedFile, part: FilePart, name: str, rename: Callable[[str], str]) -> Column:
    """Return one word, or a column of them. Raises ImportRejectedError if it is not given."""
    named: str | None = getattr(file.options, name)
    mapped: str | ColumnName | None = getattr(file.mapping, name)
    if isinstance(mapped, ColumnName):
        return renamed(part.cells[mapped.column], rename)
    word = named or mapped
    if word is None:
        reject(file.path, None, f"does not say its {name}; set it with --{name}, or in the mapping")
    return word


CSV_FORMATS = (
    Format(
        name="csv",
        description="any CSV by a mapping file (--mapping FILE) that names its columns: quotes, books or prints",
        read=read_mapped,
        fits=lambda _, __: False,
        needs=("mapping",),
    ),
    Format(
        name="csv-bars",
        description="any CSV of bars by a mapping file (--mapping FILE)",
        read=read_mapped_bars,
        fits=lambda _, __: False,
        needs=("mapping", "half_spread_bps"),
        is_of_bars=True,
        assumptions=(BAR_ASSUMPTION,),
    ),
)
