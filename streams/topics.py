"""The topics and who partitions them how."""

import zlib

TICKS = "ticks"
"""The log: quotes, feed marks, FX and settings rows, in one total order per base (its partition's offset)."""
OPPORTUNITIES = "opportunities"
"""Opportunities and the markers (`probe`, `end`) that came out of CEP; key: base."""
SPREADS = "spreads"
"""Spread windows; key: base."""
REJECTS = "rejects"
"""Quotes that the feeders rejected, with the reason; key: exchange."""

HEALTH = "health"
"""What Spark's queries tell of themselves (`streams.query_progress`); key: query. Nothing is decided by it."""

ALL_TOPICS = (TICKS, OPPORTUNITIES, SPREADS, REJECTS, HEALTH)
UNORDERED_TOPICS = (REJECTS, HEALTH)
"""Of one partition each, whatever the log has."""


def partition_of(base: str, partitions: int) -> int:
    """The partition where all rows of a base live; stable over processes and versions."""
    return zlib.crc32(base.encode()) % partitions


def bases_by_partition(bases: tuple[str, ...], partitions: int) -> dict[int, tuple[str, ...]]:
    """Which bases live in which partition; partitions without any are left out."""
    grouped: dict[int, tuple[str, ...]] = {}
    for base in bases:
        partition = partition_of(base, partitions)
        grouped[partition] = (*grouped.get(partition, ()), base)
    return grouped
