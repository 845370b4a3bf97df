"""Finds the cycles of a recorded session again, and compares them with what its detection wrote."""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from backtest.detect.merged_rows import By, merged_rows
from cep.detection.cycle_detection import CycleDetection
from tick_sets.sets.tick_set import TickSet

DOCUMENT = "document"
COLUMNS = (
    *("exchange", "symbol", "sequence", "exchange_time"),
    *("bid", "bid_amount", "bids", "ask", "ask_amount", "asks"),
    DOCUMENT,
)


def cycle_messages(tick_set: TickSet, detection: CycleDetection, by: By = "offset") -> Iterator[tuple[int, bytes]]:
    """Return offset and message of all that its rows lead to, in order, markers too; `by` time if no session wrote the
    set. Raises ImportRejectedError if a file cannot be read."""
    for offset, row in log_rows(tick_set, by):
        for _, message in detection.take(offset, row):
            yield offset, message


def log_rows(tick_set: TickSet, by: By) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Return each row as the log had it, as far as detection reads it."""
    currencies = {(one.exchange, one.symbol): one.quote_currency for one in tick_set.manifest.markets}
    for rows in merged_rows(tick_set, COLUMNS, by):
        for row in rows.to_pylist():
            if row[DOCUMENT] is not None:
                yield row["offset"], orjson.loads(row[DOCUMENT])
            else:
                yield row["offset"], row | {"quote_currency": currencies.get((row["exchange"], row["symbol"]))}
