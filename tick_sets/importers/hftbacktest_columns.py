"""Binance's best bids and asks as columns, of files that `hftbacktest.book_tickers` reads quote by quote.

A file is read so if all of it is as Binance writes it: then no number needs to be money before it is text again. What
comes out are the quotes of `book_tickers`; any file that may be of another form is left to it, and so is its error.
"""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from market.money import SHORT_TEXT
from tick_sets.importers.hftbacktest import TickerSource
from tick_sets.rows.quote_rows import Rejections

BLOCK_BYTES = 4_000_000
_SIDES = {"bid": "b", "bid_amount": "B", "ask": "a", "ask_amount": "A"}
"""Column → its key in a message."""
_WHOLE, _NUMBER = "(?:0|[1-9][0-9]*)", r"(?:0|[1-9][0-9]*)(?:\.[0-9]+)?"
_UNREADABLE = (OSError, EOFError, zlib.error)

Doubles = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


class _NotPlainError(Exception):
    """A line or a value is not as Binance writes it."""


def ticker_columns(path: Path, source: TickerSource, rejections: Rejections) -> pa.Table | None:
    """Return the quotes in file order, prices and amounts as they stand in a log, prices as doubles too; None if the
    file may not be plain, and then nothing is counted."""
    pattern = _pattern(source.symbol)
    try:
        tables = [_tickers(lines, pattern) for lines in _lines(path)]
        found = pa.concat_tables(tables).combine_chunks() if tables else None
        return _judged(found, rejections) if found else None
    except (_NotPlainError, pa.ArrowException, *_UNREADABLE):
        return None


def _pattern(symbol: str) -> str:
    """Return the pattern of a line with a bookTicker message of the symbol: of spot, then of futures."""
    sides = ",".join(f'"{key}":"(?P<{name}>{_NUMBER})"' for name, key in _SIDES.items())
    return (
        r'^(?P<received_time>[0-9]+) \{"stream":"[a-z0-9_]+@bookTicker","data":\{(?:"e":"bookTicker",)?'
        rf'"u":(?P<sequence>{_WHOLE}),"s":"{symbol}",{sides}'
        rf'(?:,"T":{_WHOLE})?(?:,"E":(?P<exchange_time>{_WHOLE}))?\}}\}}$'
    )


def _lines(path: Path) -> Iterator[list[bytes]]:
    """Return every line without its end, block by block. Raises OSError, EOFError, zlib.error."""
    rest = b""
    with gzip.open(path) as file:
        while data := file.read(BLOCK_BYTES):
            *lines, rest = (rest + data).split(b"\n")
            yield lines
    if rest:
        yield [rest]


def _tickers(lines: list[bytes], pattern: str) -> pa.Table:
    """Return the messages of the lines, the values as texts, "" for none. Raises _NotPlainError if another line may be
    one too."""
    found: Any = pc.extract_regex(pa.array(lines, pa.binary()), pattern)
    is_other = found.is_null()
    for place in np.flatnonzero(is_other.to_numpy(zero_copy_only=False)).tolist():
        _check_other(lines[place])
    columns = found.drop_null().flatten()
    names = [found.type.field(number).name for number in range(found.type.num_fields)]
    return pa.table({name: column.cast(pa.string()) for name, column in zip(names, columns, strict=True)})


def _check_other(line: bytes) -> None:
    """Raise _NotPlainError unless it certainly is a message of another stream."""
    stamp, _, text = line.partition(b" ")
    try:
        stream = orjson.loads(text).get("stream", "")
        if stamp.isdigit() and not stream.endswith("@bookTicker"):
            return
    except (orjson.JSONDecodeError, AttributeError) as error:
        raise _NotPlainError from error
    raise _NotPlainError


def _judged(texts: pa.Table, rejections: Rejections) -> pa.Table:
    """Return the usable quotes, by the rules of `market.prices.quotes.rejection_of`."""
    if any(pc.max(pc.binary_length(texts[name])).as_py() > SHORT_TEXT for name in _SIDES):
        raise _NotPlainError
    doubles: dict[str, Doubles] = {name: texts[name].cast(pa.float64()).to_numpy() for name in _SIDES}
    is_out, is_crossed = _faults(doubles)
    columns = {
        "received_time": pc.divide(_integers(texts["received_time"]), pa.scalar(1_000, pa.int64())),
        "sequence": _integers(texts["sequence"]),
        "exchange_time": pc.multiply_checked(_integers(texts["exchange_time"]), pa.scalar(1_000, pa.int64())),
        **{name: _as_money(texts[name]) for name in _SIDES},
        **{f"{side}_price": pa.array(doubles[side]) for side in ("bid", "ask")},
    }
    is_usable = ~(is_out | is_crossed)
    table = pa.table(columns)
    usable = table if is_usable.all() else table.filter(pa.array(is_usable))
    if not _is_in_order(usable):
        raise _NotPlainError
    counts = {"out_of_bounds": int(is_out.sum()), "crossed": int(is_crossed.sum())}
    rejections.update({reason: count for reason, count in counts.items() if count})
    return usable


def _integers(texts: Any) -> Any:
    """Return whole numbers, null for "". Raises ArrowInvalid for one of more than 63 bits."""
    return pc.if_else(pc.equal(texts, pa.scalar("", pa.string())), pa.scalar(None, pa.string()), texts).cast(pa.int64())


def _faults(doubles: dict[str, Doubles]) -> tuple[Flags, Flags]:
    """Return which rows have a number out of bounds, and which others are crossed."""
    is_out: Flags = np.logical_or.reduce([doubles[name] <= 0 for name in _SIDES])
    if (doubles["bid"] == doubles["ask"]).any():
        # their digits may differ all the same
        raise _NotPlainError
    return is_out, ~is_out & (doubles["bid"] > doubles["ask"])


def _is_in_order(rows: pa.Table) -> bool:
    """Return whether no row goes back in time, or repeats a number."""
    times, sequences = rows["received_time"].to_numpy(), rows["sequence"].to_numpy()
    is_numbered = len(rows) == 0 or sequences[0] > 0
    return bool(is_numbered and (np.diff(times) >= 0).all() and (np.diff(sequences) > 0).all())


def _as_money(texts: Any) -> Any:
    """Return the texts as `market.money.text_of` writes the same numbers."""
    trimmed = pc.ascii_rtrim(pc.ascii_rtrim(texts, "0"), ".")
    return pc.if_else(pc.match_substring(texts, "."), trimmed, texts)
