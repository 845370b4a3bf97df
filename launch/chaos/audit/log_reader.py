"""Reads each region's log for the audit."""

from collections.abc import Mapping

from launch.chaos.audit.copied_logs import LoggedRow, RegionLog
from streams.message_format import WireError, row_of
from streams.records import Record
from streams.topic_reader import TopicReader
from streams.topics import QUOTES, TICKS


async def read_logs(addresses: Mapping[str, str]) -> dict[str, RegionLog]:
    """Return the logs by region, from region → its Kafka. Rows that the mirrors have not copied yet are missing, so an
    audit reads again. Raises StreamUnavailableError, StreamRejectedError."""
    # before any `ticks`: what is written meanwhile is then newer than all `quotes`, and nobody misses it
    quotes = {region: await logged_rows(address, QUOTES) for region, address in addresses.items()}
    return {
        region: RegionLog(quotes[region], await logged_rows(address, TICKS)) for region, address in addresses.items()
    }


async def logged_rows(address: str, topic: str) -> list[LoggedRow]:
    """Return all rows of a topic that have a sequence, each partition in its order. Raises as `read_logs`."""
    async with TopicReader(address, (topic,), "earliest") as reader:
        rows = [logged_row(record) async for record in reader.records_to_end()]
    return [row for row in rows if row is not None]


def logged_row(record: Record) -> LoggedRow | None:
    """Return the row; None for settings, markers and invalid rows."""
    try:
        row = row_of(record.value)
    except WireError:
        return None
    exchange, symbol, sequence = row.get("exchange"), row.get("symbol"), row.get("sequence")
    if not (isinstance(exchange, str) and isinstance(symbol, str) and isinstance(sequence, int)):
        return None
    return LoggedRow(record.partition, exchange, symbol, sequence)
