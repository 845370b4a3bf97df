"""What stands at the end of the log: how a restarted feeder learns where it was."""

from streams.reader import TopicReader
from streams.records import Newest
from streams.topics import TICKS
from streams.wire import WireError, row_of

TAIL_ROWS = 5_000


async def last_sequences(address: str, exchange: str) -> dict[str, int]:
    """Symbol → highest sequence among the newest 5,000 rows of each partition of `ticks` that are of this exchange.

    A symbol that has been silent for longer is not in it: its next sequence, at least the time of receipt, is above
    all that it ever had. Raises StreamUnavailableError, StreamRefusedError.
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
