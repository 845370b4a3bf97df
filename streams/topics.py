"""The topics and their partitioning."""

import zlib

TICKS = "ticks"
"""The log: quotes, feed marks, FX and settings rows, in one total order per base (its partition's offset)."""
OPPORTUNITIES = "opportunities"
"""Opportunities, and the markers (`probe`, `end`) that passed CEP; key: base."""
CYCLE_OPPORTUNITIES = "cycle_opportunities"
"""Sessions with cycles alone: cycles that pay (`streams.cycle_messages`), and the markers that passed their detection;
key: base of the marker, or cycle. One partition, since `ticks` has one there."""
SPREADS = "spreads"
"""Spread windows; key: base."""
REJECTS = "rejects"
"""Quotes that the feeders rejected, with the reason; key: exchange."""

HEALTH = "health"
"""Progress of Spark's queries (`streams.query_progress`); key: query. Trading does not depend on it."""

APPS = "apps"
"""Rows of stream apps (`cep.apps.hosts.app_messages`); key: app. A partition has what came of that partition of
the topic that the app reads."""

APP_TOPICS = "app-"
"""What the names of topics begin with that apps may have in the session's Kafka: their input logs, and others that an
operator allows (`cep.apps.hosts.kafka_addresses`)."""

APP_INPUT = f"{APP_TOPICS}input-"
"""What the name of every app's own input log begins with (`cep.apps.hosts.input_log`); key: the app. As many
partitions as `ticks`, and a base is in the same one."""

APP_ROWS = f"{APP_TOPICS}rows-"
"""What the name of the topic begins with in which rows wait that users send into an app's plain streams
(`launch.apps.sent_rows`); behind it the app's name, since its versions read it one after the other."""

QUOTES = "quotes"
"""Sessions with regions alone: the rows that feeds of this region wrote, as they are in `ticks`, partition by
partition. Mirrors of other regions copy it into their own `ticks`, and nothing else: no row comes back."""

SHARED = "shared"
"""Sessions with regions alone: what apps of this region wrote to their GLOBAL streams and tables
(`cep.apps.hosts.shared_rows`); key: the app's label. Mirrors of other regions copy it into their own `shared-in`, and
nothing else: no row comes back."""
SHARED_IN = "shared-in"
"""Sessions with regions alone: rows of `shared` of all other regions, in the order in which they came here; a row has
the time at which it came."""

ALL_TOPICS = (TICKS, OPPORTUNITIES, SPREADS, REJECTS, HEALTH, APPS)
"""Topics of every session."""
REGION_TOPICS = (*ALL_TOPICS, QUOTES, SHARED, SHARED_IN)
"""Topics of each Kafka of a session with regions."""
UNORDERED_TOPICS = (REJECTS, HEALTH, CYCLE_OPPORTUNITIES)
"""Topics with one partition each, whatever the log has."""


def session_topics(*, has_regions: bool, has_cycles: bool) -> tuple[str, ...]:
    """Return the topics of each Kafka of a session."""
    return (*(REGION_TOPICS if has_regions else ALL_TOPICS), *((CYCLE_OPPORTUNITIES,) if has_cycles else ()))


def partition_of(base: str, partitions: int) -> int:
    """Return the partition of all rows of a base; stable across processes and versions."""
    return zlib.crc32(base.encode()) % partitions


def bases_by_partition(bases: tuple[str, ...], partitions: int) -> dict[int, tuple[str, ...]]:
    """Return the bases of each partition; partitions without any are left out."""
    grouped: dict[int, tuple[str, ...]] = {}
    for base in bases:
        partition = partition_of(base, partitions)
        grouped[partition] = (*grouped.get(partition, ()), base)
    return grouped
