"""Reads the end of the log, so that a restarted process can resume."""

from collections import Counter

from streams.message_format import WireError, row_of
from streams.records import Newest, Record
from streams.topic_reader import TopicReader
from streams.topics import TICKS

TAIL_ROWS = 5_000
SETTINGS_ROWS = (1_000, 30_000, 1_000_000)
"""Rows to search for settings, step by step; the last step is two hours at 120 rows a second, 200 s at 5,000."""


async def last_sequences(address: str, exchange: str) -> dict[str, int]:
    """Symbol → highest sequence among the newest 5,000 rows of each partition of `ticks` that are of this exchange.

    A symbol without rows in there is missing: its next sequence, at least the time of receipt, is above all earlier
    ones. Raises StreamUnavailableError, StreamRejectedError.
    """
    sequences: dict[str, int] = {}
    async with TopicReader(address, (TICKS,), Newest(TAIL_ROWS)) as reader:
        async for record in reader.records_to_end():
            try:
                row = row_of(record.value)
            except WireError:
                continue
            symbol, sequence = row.get("symbol"), row.get("sequence")
            if row.get("exchange") == exchange and isinstance(symbol, str) and isinstance(sequence, int):
                sequences[symbol] = max(sequence, sequences.get(symbol, 0))
    return sequences


async def newest_settings_rows(address: str) -> list[Record]:
    """Return the newest settings rows of `ticks`, in the order of each partition.

    At least one per partition that has any among its newest million rows. Raises
    StreamUnavailableError, StreamRejectedError.
    """
    found: list[Record] = []
    for rows in SETTINGS_ROWS:
        found, read = [], Counter[int]()
        async with TopicReader(address, (TICKS,), Newest(rows)) as reader:
            async for record in reader.records_to_end():
                read[record.partition] += 1
                if _is_settings(record):
                    found.append(record)
        lacking = read.keys() - {record.partition for record in found}
        # fewer rows than asked for are the whole partition
        if all(read[partition] < rows for partition in lacking):
            break
    return found


def _is_settings(record: Record) -> bool:
    if b'"settings"' not in record.value:
        return False
    try:
        return row_of(record.value).get("kind") == "settings"
    except WireError:
        return False
