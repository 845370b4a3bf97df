"""The columns of a tick set: rows of the log `ticks`, one row per base that a row of the log is for.

    <set>/manifest.json
    <set>/rejected.jsonl                                rows that are no usable quotes, each with its reason
    <set>/ticks/day=2026-11-21/base=BTC/ticks.parquet   in the order of the base's log;
                                                        days of few rows stand in the file of the first of them
    <set>/ticks/day=2026-11-21/base=BTC/opening.parquet per row group what was known at its start

`offset` is the position in the base's log: it grows from row to row, over days too. Whoever starts at a row group
first learns its rows of `opening.parquet` and so knows what a reader from the very first row would know.

A row of the kind `repeated` came again in the log of a region, and counts for nothing.
"""

from typing import Any

import pyarrow as pa

FORMAT = 1
ROW_GROUP_ROWS = 131_072
"""Enough to be read at full speed, few enough that one base's day splits over many readers."""

_WORD = pa.dictionary(pa.int32(), pa.string())

TICK_SCHEMA = pa.schema(
    [
        ("offset", pa.int64()),
        ("kind", _WORD),
        ("exchange", _WORD),
        ("symbol", _WORD),
        ("received_time", pa.int64()),
        ("exchange_time", pa.int64()),
        ("sequence", pa.int64()),
        # the doubles of the strings below: what detection computes with, read without parsing
        ("bid_price", pa.float64()),
        ("ask_price", pa.float64()),
        ("bid", pa.string()),
        ("bid_amount", pa.string()),
        ("ask", pa.string()),
        ("ask_amount", pa.string()),
        # the levels as text of the log; null: the best level is all there is
        ("bids", pa.string()),
        ("asks", pa.string()),
        # settings and marker rows, whole, as they stood in the log
        ("document", pa.string()),
    ]
)
"""Times in microseconds UTC; prices and amounts as decimal strings; null if a kind of row has no such field."""

TICK_FIELDS = (
    *("kind", "exchange", "symbol", "received_time", "exchange_time", "sequence"),
    *("bid", "bid_amount", "ask", "ask_amount", "bids", "asks"),
)
"""The fields of a tick in the log; `offset` is its position there."""

_SOURCE: list["pa.Field[Any]"] = [pa.field("base", _WORD), pa.field("rank", pa.int32())]
SOURCE_SCHEMA = pa.schema([*_SOURCE, *TICK_SCHEMA])
"""What a builder takes: `base` null for a row that is for every base (FX, settings); `rank` orders sources at one and
the same time (FX before what is converted with it); `offset` null if the builder is to number; `sequence` null or 0
if the source numbers nothing."""

OPENING_SCHEMA = pa.schema([pa.field("row_group", pa.int32()), *TICK_SCHEMA])
