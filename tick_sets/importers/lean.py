"""Minute quote bars of QuantConnect LEAN: a zip with one headerless CSV, its day in the file's name.

Columns: milliseconds since midnight, bid open, high, low, close, last bid size, ask open, high, low, close, last ask
size. The stamp is the minute's beginning while the close is known at its end, which is when the quote is received here:
no price is known before it was there.
"""

import csv
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from market.instruments.markets import Market
from market.prices.quotes import Quote
from market.time_units import MICROSECONDS
from tick_sets.errors import reject
from tick_sets.rows.quote_rows import QuoteRows, Rejections, level_of

COLUMNS = 11
BAR_MICROSECONDS = 60 * MICROSECONDS
DAY_MILLISECONDS = 86_400_000


def quote_bars(path: Path, market: Market, utc_offset_hours: int, rejections: Rejections) -> Iterator[Quote]:
    """Quotes at the close of each bar, in file order, `sequence` 0: the format numbers nothing.

    `utc_offset_hours`: of the file's own clock (0 for crypto, -5 for FXCM, whose data keep it all year).
    Raises ImportRejectedError.
    """
    midnight = midnight_of(path, utc_offset_hours)
    rows = QuoteRows(market, rejections)
    for number, fields in _rows(path):
        if len(fields) != COLUMNS:
            reject(path, number, f"has {len(fields)} columns, not {COLUMNS} (time, bid o,h,l,c,size, ask o,h,l,c,size)")
        try:
            milliseconds = int(fields[0])
            bid, ask = level_of(fields[4], fields[5]), level_of(fields[9], fields[10])
        except ValueError:
            rows.count_unreadable()
            continue
        if not 0 <= milliseconds < DAY_MILLISECONDS:
            rows.count_unreadable()
            continue
        received_time = midnight + milliseconds * 1_000 + BAR_MICROSECONDS
        quote = rows.quote(bid, ask, received_time, None, sequence=0)
        if quote is not None:
            yield quote


def midnight_of(path: Path, utc_offset_hours: int) -> int:
    """Return when the file's day begins, microseconds UTC. Raises ImportRejectedError."""
    try:
        day = datetime.strptime(path.name[:8], "%Y%m%d").replace(tzinfo=UTC)
    except ValueError:
        reject(path, None, "its name does not begin with its day (YYYYMMDD)")
    return int((day - timedelta(hours=utc_offset_hours)).timestamp()) * MICROSECONDS


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    number = 0
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            if len(names) != 1 or not names[0].endswith(".csv"):
                reject(path, None, f"must hold one CSV file, not {', '.join(names) or 'nothing'}")
            with archive.open(names[0]) as member:
                for number, fields in enumerate(csv.reader(io.TextIOWrapper(member, "ascii")), start=1):
                    yield number, fields
    except (zipfile.BadZipFile, zlib.error, EOFError):
        reject(path, number + 1 if number else None, "is not a valid zip file")
    except (RuntimeError, lzma.LZMAError) as error:  # a password, or a version or compression that zipfile lacks
        reject(path, None, f"is a zip file that cannot be unpacked ({error})")
    except (UnicodeDecodeError, csv.Error):
        reject(path, number + 1, "is not plain CSV text")
    except OSError as error:
        reject(path, None, f"cannot be read ({error.strerror or error})")
    if number == 0:
        reject(path, None, "contains no rows")
